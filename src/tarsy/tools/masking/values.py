"""Values: where one lies, given where it begins, and whether it counts as a secret, given the name before it. All code is bounded."""

import re
from collections.abc import Iterator
from enum import StrEnum

from tarsy.domain.tool import MASK_PREFIX


def label(pattern: str, tag: str = "") -> str:
    """Return the replacement of a secret, with its tag if it has one."""
    return f"{MASK_PREFIX}{pattern.upper()}{f' ~{tag}' if tag else ''}]"


class Kind(StrEnum):
    """How much a name reveals about its value."""

    # Only secrets have such names: any value counts.
    CERTAIN = "certain"
    # Tokens: often something else (a type, a count, a state), so the value must look like one.
    LIKELY = "likely"
    # The value is often the name of a Secret object (`secretName: db`), so it must look random.
    REFERENCE = "reference"
    # The value counts only if it is base64.
    ENCODED = "encoded"


_PLACEHOLDER = re.compile(
    r"(?:null|none|nil|<nil>|~|true|false|yes|no|undefined|n/?a|empty|unset|redacted|hidden|masked|"
    r"\[?redacted\]?|\[?hidden\]?|<[^<>\n]{1,60}>|\*{2,}|x{3,}|\.{3,}|-+|[\[\](){}<>]+|%[svqdr]|\?+|"
    r"\$\{[^}\n]{0,120}\}|\$\([^)\n]{0,120}\)|\$[A-Z_][A-Z0-9_]*|\{\{.{0,120}|\$\{\{.{0,120}|%\([\w]+\)s|%[A-Z_]+%)",
    re.IGNORECASE,
)
# Code that fetches the value, or the name of a resource of AWS.
_CODE = re.compile(
    r"arn:aws|[A-Za-z_][\w.]*[(\[]|(?:self|this|config|cfg|conf|settings|os|process|env|secrets?|vars?|local|module|data|req|request|ctx|args|opts|options|values)\."
)
# Words with which an error message goes on after a name and a colon.
_PROSE_WORDS = """
    a an the is are was not no must should can could cannot failed failure fail invalid incorrect wrong missing required expired
    unable unknown error file key cipher connection context permission access denied x509 unexpected authentication unauthorized
    forbidden rpc json yaml illegal bad open read does did has have will would expected please see for to of in on at with from and or
    if it this that your my too value length decode decrypt crypto parse parsing lookup timeout dial secret secrets user username
    policy rotation reset changed updated created deleted
"""
_PROSE = frozenset(_PROSE_WORDS.split())
# States of a password, in quotes.
_STATES_WORDS = """
    set unset empty blank valid ok weak strong short long simple default optional masked hidden used unused present
"""
_STATES = frozenset(_STATES_WORDS.split())
# Words with which an analysis describes a secret (`password: rotated at 09:41`). None of them is a likely password.
_DESCRIBING_WORDS = """
    absent accepted being blank both cached cannot changed checked comes compare compromised confirmed contains copied correct deactivated
    decoded deleted denied different differs disabled each empty enabled encoded encrypted expired expires exposed failed fetched fine
    generated had has hashed identical inaccessible incorrect injected invalid invalidated irrelevant is lacks last leaked likely loaded
    locked managed mismatch mismatched missing mistyped modified mounted moved must needs never no not now obsolete ok okay out outdated
    overridden overwritten pending possibly probably provided read recreated refreshed refused rejected reloaded removed renamed renewed
    replaced required reset restored revoked rotated ruled same see set should stale still stored synced too truncated unaffected
    unavailable unchanged unclear unknown unset untouched unused unverified updated valid validated verified was works wrong yes
"""
_DESCRIBING = frozenset(_DESCRIBING_WORDS.split())
# Words that may follow one of them. After `to` only those of a sentence: "changed to" announces the new secret.
_FOLLOWING_WORDS = """
    after again ago already also and as at automatically back be because been before between but by during every for from has have if in is
    it just last late long managed manually match of off old on once one only or out per pod pods rotation short since so than then through today
    twice until use uses via was weekly were when while with without wrongly yesterday two three four five new
"""
_ARTICLES = frozenset({"the", "a", "an", "its", "their", "this", "that", "all", "both"})
_FOLLOWING = _DESCRIBING | _ARTICLES.union(_FOLLOWING_WORDS.split())
# Only of several words: a single one could be a password that nobody listed.
_PARTICIPLE = re.compile(r"(?:[a-z]{2,8}-)?[a-z]{3,12}ed")
_MARKS = r"""[\\*_~"'`(]{0,5}"""
_DESCRIPTION = re.compile(
    rf"""{_MARKS}(?P<first>[a-z]{{2,16}}(?:-[a-z]{{3,12}})?){_MARKS.replace("(", ")")}
    (?:(?P<alone>[ \t]{{0,8}}\r?(?=\n|\Z)|[.,;:!?](?=[\s"'`*_)\\}}]|\Z)|,?[ \t]{{0,8}}[}}\]|)]|[ \t]{{1,8}}[(\[|\u2192\u2014\u2013-])
    |[ \t]{{1,8}}(?:\d{{1,2}}:\d\d|\d{{1,4}}[ ](?:min|hour|day|sec|week|month)|[A-Z]\d{{1,3}}(?:\.\d{{1,3}})?\b
    |(?P<second>[a-z]{{1,16}})(?:[ \t]{{1,8}}(?P<third>[a-z]{{1,16}}))?(?![\w@$%&+=/])))""",
    re.VERBOSE | re.IGNORECASE,
)
_COMMAND = re.compile(
    r"(?:sudo )?(?:argocd|aws|az|base64|cat|curl|docker|echo|flux|gcloud|gh|git|grep|helm|jq|kubectl|kubeadm|kustomize|oc|openssl|podman|psql"
    r"|redis-cli|systemctl|tarsy|terraform|vault) "
)
_AROUND = ".,;:!?()*_`\"'"
_EMPHASIS_ENDS = re.compile(r"(?:[*_]{2,3}|(?<=[.,;:!?])[*_]|[*_](?=[.,;:!?]))[.,;:!?)]{0,3}\Z")
# Times and numbers.
_FIGURE = re.compile(r"\d[\d:.,TZ+-]*")
# Algorithms, encodings, versions, numbers with a unit: properties of a secret, not the secret.
_TECHNICAL = re.compile(
    r"(?:sha|md|base|aes|rsa?|hs|es|ps|ed|utf|u?int|float|varchar|argon|bcrypt|pbkdf|scrypt|oauth|oidc|ip|tls|ssl|http|x|v|p|k|s|ec)-?\d{1,4}(?:[-/.][a-z0-9]{1,20}){0,4}\Z|\d+[a-z%]{0,12}\Z",
    re.IGNORECASE,
)
_PERCENT_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_OBJECT_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-./][a-z0-9]{1,20})*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")
_SYMBOL = re.compile(r"[^\w\s.,:;/-]")
# 24 random bytes or more; AWS has 30.
_LONG_BASE64 = re.compile(r"[A-Za-z0-9+/]{32,}={0,2}")
_LEAST_RANDOM = 10


def is_placeholder(value: str) -> bool:
    """Return whether a value is to be filled in later, or was masked before, judged by its beginning."""
    return value.startswith((MASK_PREFIX, "$", "{{", "<", "%", "***")) and not _PERCENT_ENCODED.match(value)


def is_secret(value: str, kind: Kind, *, prose: bool, quoted: bool) -> bool:
    """Return whether to mask `value`. `prose`: it may be the middle of a sentence; `quoted`: it is certainly a value."""
    bare = value.strip().strip("\"'`,;")
    if not bare or bare.startswith(MASK_PREFIX) or _PLACEHOLDER.fullmatch(bare):
        return False
    if (prose and bare.split(maxsplit=1)[0].rstrip(":,.").lower() in _PROSE) or (not quoted and _CODE.match(bare)):
        return False
    match kind:
        case Kind.CERTAIN:
            return True
        case Kind.LIKELY:
            return _is_machine_made(bare)
        case Kind.REFERENCE:
            named = _OBJECT_NAME.fullmatch(bare) and (len(bare) < 16 or "-" in bare or "/" in bare or "." in bare)
            return not named and _is_machine_made(bare)
        case Kind.ENCODED:
            return _BASE64.fullmatch(bare) is not None


def is_command(value: str) -> bool:
    """Return whether a value in back-ticks is a command, which may have secrets of its own."""
    return _COMMAND.match(value) is not None


def is_description(text: str, start: int, *, until: int) -> bool:
    """Return whether the words at `start` describe a secret instead of being one. Words up to `until` that look like a secret speak against it."""
    found = _DESCRIPTION.match(text, start)
    if found is None:
        return False
    first, second, third = ((found[name] or "").lower() for name in ("first", "second", "third"))
    if first not in _DESCRIBING and (found["alone"] is not None or not (first in _PROSE or _PARTICIPLE.fullmatch(first))):
        return False
    if second and not (second in _FOLLOWING or _PARTICIPLE.fullmatch(second) or (second == "to" and third in _ARTICLES)):
        return False
    rest = text[found.end("first") : until].split()
    return not any(is_stated_secret(word, Kind.CERTAIN, quoted=False) for word in rest if not _FIGURE.fullmatch(word.strip(_AROUND)))


def is_stated_secret(value: str, kind: Kind, *, quoted: bool) -> bool:
    """Return whether the word after "the password is" is the password: far more often a sentence describes it."""
    # In Markdown, the end of the sentence may be the end of the emphasis too.
    bare = _EMPHASIS_ENDS.sub("", value).strip(".,;:!?()")
    word = bare.strip("*_`").lower()
    if word in _DESCRIBING or _PARTICIPLE.fullmatch(word):
        return False
    if quoted and kind is Kind.CERTAIN:
        return bare.lower() not in _STATES and is_secret(bare, kind, prose=True, quoted=True)
    has_digit, has_letter = any(map(str.isdigit, bare)), any(map(str.isalpha, bare))
    if not has_letter or not (has_digit or _SYMBOL.search(bare)) or "://" in bare or _TECHNICAL.match(bare):
        return False
    return is_secret(bare, Kind.LIKELY if kind is Kind.CERTAIN else kind, prose=True, quoted=quoted)


def _is_machine_made(value: str) -> bool:
    """Return whether a value has digits among letters, both cases or symbols, or is simply long, unlike a count, a word or a path."""
    if len(value) < 6 or (value.startswith(("/", "./", "~/")) and not _is_base64_with_slashes(value)):
        return False
    has_digit, has_lower, has_upper = (any(map(kind, value)) for kind in (str.isdigit, str.islower, str.isupper))
    if has_digit and not (has_lower or has_upper):
        return len(value) >= 12
    words = value.replace("-", " ").replace("_", " ").split()
    if not has_digit and (value.istitle() or value.islower() or value.isupper()) and len(words) <= 4:
        return len(max(words, key=len, default="")) >= 16 or _SYMBOL.search(value) is not None
    return has_digit or (has_lower and has_upper) or len(value) >= 16


def _is_base64_with_slashes(value: str) -> bool:
    """Return whether a value that begins like a path is a key in base64 (one of 64 begins with a slash): a path has shorter, simpler parts."""
    return _LONG_BASE64.fullmatch(value) is not None and any(
        len(part) >= _LEAST_RANDOM and all(any(map(kind, part)) for kind in (str.isdigit, str.islower, str.isupper))
        for part in value.split("/")
    )


# Plain quotes may contain escaped ones, and doubled ones as in YAML and SQL; escaped quotes end at the next equal ones.
_QUOTED = re.compile(
    r"""[bru]?(?P<open>["'`])(?P<body>(?:\\[^\n]|''(?=[^\s,;:}\])])|(?!(?P=open))[^\\\n]){0,8192})(?P=open)""", re.IGNORECASE
)
_QUOTED_TWICE = re.compile(r"""(?P<open>\\{1,3}["'])(?P<body>(?:(?!(?P=open))[^\n]){0,8192})(?P=open)""")
# Over several lines, none of which begins another entry.
_QUOTED_LINES = re.compile(
    r"""(?P<open>["'])(?P<body>(?:\\[^\n]|\\?\r?\n(?![ \t]{0,64}(?:["']?[\w./-]{1,64}["']?[ \t]?:[\s]|- |---|[}\]#|<]))|''(?=[^\s,;:}\])])|(?!(?P=open))[^\\\n]){0,8192})(?P=open)"""
)
_UNTIL_BREAK = re.compile(r"""(?:[^\s&;"'<>,`\\]++|\\ ?|,(?!\s|[\w.-]{1,40}\s?[=:])|&(?![\w.-]{1,40}=))++""")
# How far a value without quotes, and the list of pairs that it may begin, is read.
_LONGEST = 8192
_SCHEME = re.compile(r"(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|AWS4-HMAC-SHA256)[ \t]+", re.IGNORECASE)
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(?:#[^\n]*)?(?=\n)")

_NOTHING_MORE = re.compile(r"[ \t]{0,64}(?:#[^\n]*)?\r?\n\s{0,1024}")
# A plain value in YAML contains no further pair.
_NEXT_PAIR = re.compile(r"\s[\w.-]{1,64}(?:: |=)")
# One word alone on its line: neither a key nor the beginning of something larger.
_LONE_WORD = re.compile(r"""(?![-#{\[|>&*!%@,])[^\s"'`]{1,8192}+(?<!:)[ \t]{0,64}\r?(?=\n|\Z)""")
_LONE_QUOTED = re.compile(r"""(?:"[^"\n]{0,8192}"|'[^'\n]{0,8192}'),?[ \t]{0,64}\r?(?=\n|\Z)""")
_BETWEEN_ITEMS = re.compile(r"[\s,]{0,1024}")
MASKED = re.compile(r"\[MASKED_[A-Z0-9_]{1,64}(?: ~\w{1,8})?\]")
_BARE_ITEM = re.compile(r"""[^\s,\[\]{}"'`]{1,8192}+(?!\s{0,8}:)""")

Span = tuple[int, int]


def value_span(text: str, start: int, *, yaml_line: bool, spaces: bool = False) -> Span | None:
    """Return the span of the value that begins at `start`, without its quotes."""
    quoted = _quoted(text, start)
    if quoted is not None:
        scheme = _SCHEME.match(text, quoted.start("body"), quoted.end("body"))
        return (scheme.end() if scheme else quoted.start("body")), quoted.end("body")
    scheme = _SCHEME.match(text, start)
    if scheme is None and yaml_line:
        return _yaml_span(text, start, spaces=spaces)
    return _bare_span(text, scheme.end() if scheme else start)


def listed_spans(text: str, start: int) -> list[Span]:
    """Return the items of a list in brackets whose first begins after `start`, up to the first that is not a plain value."""
    spans: list[Span] = []
    while True:
        between = _BETWEEN_ITEMS.match(text, start)
        start = between.end() if between else start
        item = MASKED.match(text, start) or _quoted(text, start) or _BARE_ITEM.match(text, start)
        if item is None:
            break
        spans.append(item.span("body") if "body" in item.re.groupindex else item.span())
        start = item.end()
    return spans


def spans_below(text: str, start: int) -> list[Span]:
    """Return the values on the lines below a key without a value of its own: one that is indented deeper, or the items of a list."""
    rest = _NOTHING_MORE.match(text, start)
    if rest is None:
        return []
    at = rest.end()
    indent, column = _indent(text, start), at - text.rfind("\n", 0, at) - 1
    if column < indent:
        return []
    if text.startswith("- ", at):
        spans: list[Span] = []
        while text.startswith("- ", at) and (item := _lone_value(text, at + 2)):
            spans.append(item)
            end = text.find("\n", item[1])
            at = end + 1 + column
            if end == -1 or text[end + 1 : at].strip(" "):
                break
        return spans
    if column == indent:
        return []
    if text[at : at + 1] == "[" and not MASKED.match(text, at):
        return listed_spans(text, at + 1)
    span = _lone_value(text, at)
    return [span] if span else []


def _lone_value(text: str, at: int) -> Span | None:
    """Return a value that is alone on its line. Several words count only in quotes: without them they are rather an explanation."""
    if _LONE_QUOTED.match(text, at) or _QUOTED_LINES.match(text, at):
        return value_span(text, at, yaml_line=False)
    word = MASKED.match(text, at) or _LONE_WORD.match(text, at)
    return (at, at + len(word.group().rstrip())) if word else None


def _quoted(text: str, start: int) -> re.Match[str] | None:
    return _QUOTED.match(text, start) or _QUOTED_TWICE.match(text, start) or _QUOTED_LINES.match(text, start)


def _bare_span(text: str, start: int) -> Span | None:
    """Return the span up to a space or a separator, without the punctuation that closes the surrounding text."""
    found = _UNTIL_BREAK.match(text, start, start + _LONGEST)
    if found is None:
        return None
    value = found.group()
    # A bracket that was opened inside belongs to the value, as in ${NAME}.
    closing = "".join(mark for mark, opening in ((")", "("), ("]", "["), ("}", "{")) if opening not in value)
    return start, start + max(1, len(value.rstrip(f".,:;\\{closing}")))


def _yaml_span(text: str, start: int, *, spaces: bool) -> Span | None:
    """Return the span of a YAML value: the rest of the line if it may contain spaces, or the block of deeper lines below it."""
    block = _BLOCK.match(text, start)
    if block is not None:
        lines = list(_deeper_lines(text, block.end() + 1, _indent(text, start)))
        first, stop = lines[0] if lines else (0, 0)
        return (first + len(text[first:stop]) - len(text[first:stop].lstrip(" ")), lines[-1][1]) if lines else None
    end = text.find("\n", start)
    end = len(text) if end == -1 else end
    # The beginning of a long line decides, so that the whole is not read again for each of its values.
    head, comment, _ = text[start : min(end, start + _LONGEST)].partition(" #")
    head = head.rstrip()
    if not head or head[0] in "{[":
        return None
    stop = start + len(head) if comment or end - start <= _LONGEST else end
    if head[0] in "\"'":
        # The quote is closed on a later line, or not at all.
        return start, max((below for _, below in _deeper_lines(text, end + 1, _indent(text, start))), default=stop)
    # Commas and braces belong to a list of pairs on one line, not to the value.
    if (
        "," in head
        or (" " in head and (not spaces or _NEXT_PAIR.search(head)))
        or (head[-1] in "}]" and "{" not in head and "[" not in head)
    ):
        return _bare_span(text, start)
    return start, stop


def _indent(text: str, at: int) -> int:
    """Return the indentation of the line's key."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return len(line) - len(line.lstrip(" -"))


def _deeper_lines(text: str, start: int, indent: int) -> Iterator[Span]:
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end == -1 else end
        line = text[start:end]
        if line.strip():
            if len(line) - len(line.lstrip(" ")) <= indent:
                return
            yield start, end
        start = end + 1
