"""Masks a text that comes in pieces, whatever the pieces: a model's words, a server's stderr, what a tool says while it runs.

What no later piece can make a part of a secret is passed on at once; the rest is held back until its line, or the block of lines it opens, is
complete. The result does not depend on where the pieces end, and each character is looked at a fixed number of times.
"""

import re
from collections.abc import Callable

from tarsy.config.schema.mcp_servers import PATTERNS
from tarsy.tools.masking.assignments import AssignmentMasker
from tarsy.tools.masking.text_views import FirstLook

# Words of a line that might hold something are passed on so many characters at a time: a dozen tokens, a fraction of a second of a
# model's speech. Each time, what is around them is looked at again.
_BATCH = 48
# As far back as any rule looks from where a secret begins.
_CONTEXT = 256
# More is not held back for a block that never ends: longer than a model's longest answer.
_LONGEST_BLOCK = 256 * 1024

_KEY_BEGINS, _KEY_ENDS = re.compile(r"-----BEGIN [A-Z0-9 ]{1,60}-----|PuTTY-User-Key-File-\d"), re.compile(r"-----END |Private-MAC:")
# What a secret may follow after a space or on a later line, besides the names that announce one.
_OPENING = re.compile(
    r"""-----BEGIN\ |PuTTY-User-Key-File|apiVersion|kind["'\\]*:|data["'\\]*:|Opaque|kubernetes\.io/|earer[ ]|asic[ ]|ookie:
    |(?:^|\s)-u|--user|sshpass|login|redis-cli|mysql|mariadb|auth["'\\]|ssh-|ecdsa-|machine\s|default\s|:\d{4,5}:|:\*:""",
    re.VERBOSE,
)
# One of them is in whatever that finds.
OPENERS = (
    *("-----BEGIN", "PuTTY-User", "apiVersion", "kind", "data", "Opaque", "kubernetes.io/", "earer", "asic", "ookie:", "-u", "sshpass"),
    *("login", "redis-cli", "mysql", "mariadb", "auth", "ssh-", "ecdsa-", "machine", "default", ":*:"),
    *(f":{digit}" for digit in range(10)),
)
# Lines of an object that may turn out to be a Secret, and of a .netrc: what they are is said on other lines.
_OBJECT = re.compile(r"""apiVersion|kind["'\\]*:|data["'\\]*:|Opaque|kubernetes\.io/|\b(?:machine\s+\S+|default)(?:\s+login\s+\S+)?\s*$""")
# How a line looks after which a value may follow on the next one; whether it does is tried out.
_MAY_LEAD_ON = re.compile(r"""[:|>\[,\\"'{(=]\s*\Z|:\s*\#|(?:name|key)["'\\]*\s*[:=]|-\S+\s*\Z""")
_PROBE = "Zq9x7Wv3probe"
_PROBES = tuple(form.format(_PROBE) for form in ("{}", '"{}"', "- {}", "value: {}", '"value": "{}"'))
# How a line begins that belongs to the one before it: deeper, an item, a quotation, a bracket, a further key.
_CONTINUING = re.compile(r"""[ \t\-"'\[\]{}]|\s*\Z|[\w.]{1,64}[ \t]?[:=]""")
# How a line ends that goes on below.
_UNFINISHED = frozenset(":=,[{(|>\\")
# Enough of a line to tell whether it goes on: two words.
_BEGUN = re.compile(r"\S+\s+\S+\s")

_names = AssignmentMasker(frozenset(PATTERNS))


class StreamMasker:
    """Feed it a text in pieces; it gives back each piece masked, as soon as that is certain. `by_words`: also parts of lines.

    What passes the `first_look` holds no secret and announces none.
    """

    def __init__(self, mask: Callable[[str], str], *, by_words: bool = False, first_look: FirstLook | None = None) -> None:
        self._mask = mask
        self._by_words = by_words
        self._first_look = first_look
        # Whether all of the current line has passed it so far.
        self._harmless = True
        # Of the current line: what is passed on already (its end, masked), and what is not.
        self._passed = ""
        self._rest: list[str] = []
        self._size = 0
        self._opens = False
        # The lines held back, the first perhaps without its beginning, and what was passed on of it.
        self._block: list[str] = []
        self._before_block = ""
        self._block_size = 0
        self._in_fence = False
        self._in_key = False
        self._unfinished = False

    def feed(self, piece: str) -> str:
        """Take the next characters; get what can be shown by now."""
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
            elif self._by_words and not self._opens and (self._harmless or self._size >= _BATCH):
                self._pass_words(out)
        return "".join(out)

    def finish(self) -> str:
        """Say that the text is over, and get what was held back."""
        out: list[str] = []
        if self._rest:
            self._end_line(out)
        self._release(out)
        self._in_fence = self._in_key = self._unfinished = False
        return "".join(out)

    def _pass_words(self, out: list[str]) -> None:
        text = "".join(self._rest)
        words = text[: len(text) - len(text.split()[-1])] if not text[-1].isspace() else text
        self._rest = [text]
        if self._block:
            if not _BEGUN.match(text) or self._goes_on(text):
                return
            self._release(out)
        harmless = self._stays_harmless(words)
        if not harmless and self._size < _BATCH:
            return
        if self._in_key or not words or (not harmless and self._opening(_last_word(self._passed) + words)):
            # Nothing more of this line is looked at until it is complete.
            self._opens = bool(words)
            return
        out.append(words if harmless else self._masked_after(self._passed, words))
        self._passed = (self._passed + out[-1])[-_CONTEXT:]
        self._rest = [text[len(words) :]]
        self._size = len(text) - len(words)

    def _end_line(self, out: list[str]) -> None:
        line, passed = "".join(self._rest), self._passed
        self._rest, self._size, self._passed, self._opens = [], 0, "", False
        whole = passed + line
        if self._block and not self._goes_on(whole):
            self._release(out)
        was_in_key, harmless = self._in_key, self._stays_harmless(line)
        self._harmless = True
        opening = not (was_in_key or harmless) and self._opening(whole)
        self._note(whole)
        if self._block or (opening and self._leads_on(whole)):
            self._hold(line, passed, out)
        elif not was_in_key:
            out.append(line if harmless else self._masked_after(passed, line))

    def _stays_harmless(self, text: str) -> bool:
        """Take the first look at the next words of the line."""
        self._harmless = self._harmless and self._first_look is not None and self._first_look.passes(text)
        return self._harmless

    def _hold(self, line: str, passed: str, out: list[str]) -> None:
        if not self._block:
            self._before_block = passed
        self._block.append(line)
        self._block_size += len(line)
        if self._block_size > _LONGEST_BLOCK:
            self._release(out)

    def _release(self, out: list[str]) -> None:
        if self._block:
            out.append(self._masked_after(self._before_block, "".join(self._block)))
            self._block, self._block_size, self._before_block = [], 0, ""

    def _goes_on(self, line: str) -> bool:
        """Whether a line belongs to the block before it."""
        return self._in_fence or self._in_key or self._unfinished or _CONTINUING.match(line) is not None

    def _note(self, line: str) -> None:
        """Remember what a complete line leaves open."""
        if line.count("```") % 2:
            self._in_fence = not self._in_fence
        begun = max((found.start() for found in _KEY_BEGINS.finditer(line)), default=-1)
        if begun != -1 or self._in_key:
            self._in_key = _KEY_ENDS.search(line, max(begun, 0)) is None
        bare = line.rstrip()
        if bare:
            self._unfinished = bare[-1] in _UNFINISHED

    def _opening(self, text: str) -> bool:
        """Whether a secret may follow what is said here."""
        return _OPENING.search(text) is not None or _names.announces(text)

    def _leads_on(self, line: str) -> bool:
        """Whether a secret may follow on the lines after this one."""
        if self._in_key:
            return True
        if _OBJECT.search(line) and not _is_whole_object(line):
            return True
        if not (_MAY_LEAD_ON.search(line) or line.count('"') % 2 or line.count("'") % 2):
            return False
        begun = line if line.endswith("\n") else f"{line}\n"
        margin = " " * (len(line) - len(line.lstrip(" ")) + 2)
        return any(_PROBE not in self._mask(f"{begun}{margin}{probe}\n") for probe in _PROBES)

    def _masked_after(self, before: str, text: str) -> str:
        masked = self._mask(before + text)
        # What was passed on is masked already, so it stays as it is; were it not so, the new text would count for itself.
        return masked[len(before) :] if masked.startswith(before) else self._mask(text)


def _last_word(passed: str) -> str:
    """What an announcement may begin with and end after: an `api ` before a `key`. All of what was passed on has been judged before."""
    return passed[passed.rstrip().rfind(" ") + 1 :]


def _is_whole_object(line: str) -> bool:
    """Whether a line is a JSON object and nothing else: it says all there is to know."""
    bare = line.strip()
    return bare[:1] == "{" and bare[-1:] == "}" and bare.count("{") == bare.count("}")
