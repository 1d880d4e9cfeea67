"""Masks a text that arrives in pieces: a model's answer, a server's stderr, a tool's progress.

Text that no later piece can make part of a secret is passed on at once; the rest is held back until its line, or the block of lines it opens,
is complete. The result does not depend on where the pieces end, and each character is inspected a fixed number of times.
"""

import re
from collections.abc import Callable

from tarsy.config.schema.mcp_servers import PATTERNS
from tarsy.tools.masking.assignments import AssignmentMasker
from tarsy.tools.masking.patterns import IDENTIFIED
from tarsy.tools.masking.text_views import Prefilter

# The words of a suspicious line are passed on in batches of this size: a dozen tokens, a fraction of a second of a model's answer.
# Each time, their context is inspected again.
_BATCH = 48
# The farthest that any rule looks back from the beginning of a secret.
_CONTEXT = 256
# The most that is held back for a block that never ends: longer than a model's longest answer.
_LONGEST_BLOCK = 256 * 1024

_KEY_BEGINS, _KEY_ENDS = re.compile(r"-----BEGIN [A-Z0-9 ]{1,60}-----|PuTTY-User-Key-File-\d"), re.compile(r"-----END |Private-MAC:")
# Text that a secret may follow after a space or on a later line, besides the names of secrets.
_SECRET_MAY_FOLLOW = re.compile(
    r"""-----BEGIN\ |PuTTY-User-Key-File|apiVersion|kind["'\\]*:|data["'\\]*:|Opaque|kubernetes\.io/|earer[ ]|asic[ ]|ookie:
    |(?:^|\s)-u|--user|sshpass|login|redis-cli|mysql|mariadb|auth["'\\]|ssh-|ecdsa-|machine\s|default\s|:\d{4,5}:|:\*:|(?i:identified)|[Vv]alue["'`\\]*\s{0,4}[:=]""",
    re.VERBOSE,
)
# Literals of which one is in every match of it.
BEFORE_SECRETS = (
    *("-----BEGIN", "PuTTY-User", "apiVersion", "kind", "data", "Opaque", "kubernetes.io/", "earer", "asic", "ookie:", "-u", "sshpass"),
    *("login", "redis-cli", "mysql", "mariadb", "auth", "ssh-", "ecdsa-", "machine", "default", ":*:", "alue", *IDENTIFIED),
    *(f":{digit}" for digit in range(10)),
)
# Lines of an object that may turn out to be a Secret, of a .netrc, and of an entry whose name may follow: other lines tell what they are.
_DEPENDS_ON_OTHER_LINES = re.compile(
    r"""apiVersion|kind["'\\]*:|data["'\\]*:|Opaque|kubernetes\.io/|\b(?:machine\s+\S+|default)(?:\s+login\s+\S+)?\s*$
    |[Vv]alue["'`\\]*\s{0,4}:|^\s*[Vv]alue\s{0,4}=""",
    re.VERBOSE,
)
# Lines after which a value may follow on the next one; whether it would be masked there is tried out with a probe.
_MAY_CONTINUE_BELOW = re.compile(r"""[:|>\[,\\"'{(=]\s*\Z|:\s*\#|(?:name|key)["'\\]*\s*[:=]|-\S+\s*\Z""")
_PROBE = "Zq9x7Wv3probe"
_PROBES = tuple(form.format(_PROBE) for form in ("{}", '"{}"', "- {}", "value: {}", '"value": "{}"'))
# The beginning of a line that continues the one before it: indented, an item, a quotation, a bracket, a further key.
_CONTINUING = re.compile(r"""[ \t\-"'\[\]{}]|\s*\Z|[\w.]{1,64}[ \t]?[:=]""")
# The last characters of a line that is continued below.
_UNFINISHED = frozenset(":=,[{(|>\\")
# Enough of a line to decide whether it continues the block: two words.
_BEGUN = re.compile(r"\S+\s+\S+\s")
# The end of a word. Before it, there is nothing new to pass on.
_SPACE = re.compile(r"\s")

_names = AssignmentMasker(frozenset(PATTERNS))


class StreamMasker:
    """Takes a text in pieces and returns it masked, each part as soon as it is certain; without `by_words`, whole lines only.

    Text that passes the `prefilter` contains no secret, and nothing that one may follow.
    """

    def __init__(self, mask: Callable[[str], str], *, by_words: bool, prefilter: Prefilter | None = None) -> None:
        self._mask = mask
        self._by_words = by_words
        self._prefilter = prefilter
        # Whether the current line has passed the prefilter so far.
        self._harmless = True
        # The current line: the end of what was passed on already (masked), and the rest.
        self._passed: str = ""
        self._rest: list[str] = []
        self._size = 0
        self._line_held = False
        # The lines held back, the first perhaps without its beginning, and the part of it that was passed on.
        self._block: list[str] = []
        self._before_block: str = ""
        self._block_size = 0
        self._in_fence = False
        self._in_key = False
        self._unfinished = False

    def feed(self, piece: str) -> str:
        """Take the next characters and return the text that can be shown now."""
        *lines, rest = piece.split("\n")
        out: list[str] = []
        for line in lines:
            self._rest.append(f"{line}\n")
            self._end_line(out)
        if rest:
            self._rest.append(rest)
            self._size += len(rest)
            if self._size > _LONGEST_BLOCK:
                self._end_line(out)
            elif self._by_words and not self._line_held and (self._harmless or self._size >= _BATCH) and _SPACE.search(rest):
                self._pass_words(out)
        return "".join(out)

    def finish(self) -> str:
        """End the text and return what was held back."""
        out: list[str] = []
        if self._rest:
            self._end_line(out)
        self._release(out)
        self._in_fence = self._in_key = self._unfinished = False
        return "".join(out)

    def _pass_words(self, out: list[str]) -> None:
        text = "".join(self._rest)
        words = text[: len(text) - len(text.rsplit(None, 1)[-1])] if not text[-1].isspace() else text
        self._rest = [text]
        if self._block:
            if not _BEGUN.match(text):
                return
            if self._goes_on(text):
                # The rest of this line waits until it is complete.
                self._line_held = True
                return
            self._release(out)
        harmless = self._stays_harmless(words)
        if not harmless and self._size < _BATCH:
            return
        # A name may begin with the last word that was passed on: `api ` before `key`.
        last_word = self._passed[self._passed.rstrip().rfind(" ") + 1 :]
        if self._in_key or not words or (not harmless and self._secret_may_follow(last_word + words)):
            # The rest of this line waits until it is complete.
            self._line_held = bool(words)
            return
        out.append(words if harmless else self._masked_after(self._passed, words))
        self._passed = (self._passed + out[-1])[-_CONTEXT:]
        self._rest = [text[len(words) :]]
        self._size = len(text) - len(words)

    def _end_line(self, out: list[str]) -> None:
        line: str = "".join(self._rest)
        passed: str = self._passed
        self._rest, self._size, self._passed, self._line_held = [], 0, "", False
        whole = passed + line
        if self._block and not self._goes_on(whole):
            self._release(out)
        was_in_key, harmless = self._in_key, self._stays_harmless(line)
        self._harmless = True
        secret_may_follow = not (was_in_key or harmless) and self._secret_may_follow(whole)
        self._track(whole)
        if self._block or (secret_may_follow and self._may_continue_below(whole)):
            if not self._block:
                self._before_block = passed
            self._block.append(line)
            self._block_size += len(line)
            if self._block_size > _LONGEST_BLOCK:
                self._release(out)
        elif not was_in_key:
            out.append(line if harmless else self._masked_after(passed, line))

    def _stays_harmless(self, text: str) -> bool:
        """Apply the prefilter to the next words of the line."""
        self._harmless = self._harmless and self._prefilter is not None and self._prefilter.passes(text)
        return self._harmless

    def _release(self, out: list[str]) -> None:
        if self._block:
            out.append(self._masked_after(self._before_block, "".join(self._block)))
            self._block, self._block_size, self._before_block = [], 0, ""

    def _goes_on(self, line: str) -> bool:
        """Return whether a line belongs to the block before it."""
        return self._in_fence or self._in_key or self._unfinished or _CONTINUING.match(line) is not None

    def _track(self, line: str) -> None:
        """Update the state by a complete line."""
        if line.count("```") % 2:
            self._in_fence = not self._in_fence
        begun = max((found.start() for found in _KEY_BEGINS.finditer(line)), default=-1)
        if begun != -1 or self._in_key:
            self._in_key = _KEY_ENDS.search(line, max(begun, 0)) is None
        bare = line.rstrip()
        if bare:
            self._unfinished = bare[-1] in _UNFINISHED

    def _secret_may_follow(self, text: str) -> bool:
        """Return whether a secret may follow this text."""
        return _SECRET_MAY_FOLLOW.search(text) is not None or _names.has_name(text)

    def _may_continue_below(self, line: str) -> bool:
        """Return whether a secret may follow on the lines after this one."""
        if self._in_key:
            return True
        bare = line.strip()
        # No other line can change the meaning of a whole JSON object.
        is_whole = bare[:1] == "{" and bare[-1:] == "}" and bare.count("{") == bare.count("}")
        if _DEPENDS_ON_OTHER_LINES.search(line) and not is_whole:
            return True
        if not (_MAY_CONTINUE_BELOW.search(line) or line.count('"') % 2 or line.count("'") % 2):
            return False
        begun = line if line.endswith("\n") else f"{line}\n"
        margin = " " * (len(line) - len(line.lstrip(" ")) + 2)
        return any(_PROBE not in self._mask(f"{begun}{margin}{probe}\n") for probe in _PROBES)

    def _masked_after(self, before: str, text: str) -> str:
        masked = self._mask(before + text)
        # The text that was passed on is masked already and stays as it is; if not, the new text is masked by itself.
        return masked[len(before) :] if masked.startswith(before) else self._mask(text)
