"""Secrets next to their name.

A name is found by its suffix (`password` in `DB_PASSWORD`), which is searched as a literal, and judged as a whole by the name patterns. Between
the name and its value is a separator of one of these kinds:

- assign: `password: x`, `"token":"x"`, `API_KEY=x`, `passwords: [x, y]`
- entry: `name: DB_PASSWORD` and then `value: x`, as in an environment; the value may also come first
- item: `--password` and `x` as items of a list
- tag: `<secret>x</secret>`
- stated: "the password is x"; set: "set the password to x"
- cell: the next cell of a table, or the second of two columns
- gap: `--password x`, `PASSWORD 'x'`

The code that reads what follows a name is bounded, so that no text can make it slow.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from tarsy.tools.masking.text_views import PlainView, TaggedText
from tarsy.tools.masking.values import (
    MASK_PREFIX,
    Kind,
    Span,
    is_command,
    is_description,
    is_secret,
    is_stated_secret,
    listed_spans,
    spans_below,
    value_span,
)


@dataclass(frozen=True, slots=True)
class NamePattern:
    """Names of secrets, and what they reveal about the value."""

    pattern: str
    kind: Kind
    suffixes: tuple[str, ...]
    # Matches the whole name, in lower case.
    name: re.Pattern[str]


def _names(pattern: str, kind: Kind, suffixes: str, name: str) -> NamePattern:
    return NamePattern(
        pattern, kind, tuple(suffixes.split()), re.compile(rf"(?:.*[_./?&$-]|)(?:{name})" if kind is Kind.REFERENCE else rf".*(?:{name})")
    )


# The end of an escape is like the beginning of the name behind it: of a tab, and of a character in a URL or in JSON.
_ESCAPE_ENDS = "t|[0-9a-f]{2}|u00[0-9a-f]{2}"
# The special before the general: the first that matches a name counts.
NAME_PATTERNS = (
    _names(
        "aws_secret_key",
        Kind.REFERENCE,
        "key token",
        r"aws[_.-]?secret(?:[_.-]?access)?[_.-]?key|secret[_.-]?access[_.-]?key|aws[_.-]?session[_.-]?token",
    ),
    _names("password", Kind.CERTAIN, "password passwd passphrase passcode passwort", r"password|passwd|passphrase|passcode|passwort"),
    _names("password", Kind.CERTAIN, "requirepass masterauth", r"requirepass|masterauth"),
    _names("password", Kind.LIKELY, "pass pwd pw", rf"(?:^(?:{_ESCAPE_ENDS})?|[_./?&$-]|db|user|root|admin|bind)(?:pass|pwd|pw)"),
    # Of PagerDuty; those of a message broker are like names of objects.
    _names("api_key", Kind.REFERENCE, "key", r"\w*routing[_.-]?key"),
    _names(
        "api_key",
        Kind.LIKELY,
        "key",
        r"(?:api|app|auth|account|service|subscription|licen[sc]e|sas|ingest(?:ion)?|integration|admin|write|deploy|storage|consumer)[_.-]?key",
    ),
    _names("token", Kind.LIKELY, "token tokens", r"token|auth_tokens"),
    _names("token", Kind.LIKELY, "authorization bearer", r"authorization|bearer"),
    _names("token", Kind.LIKELY, "sessionid sessid sig signature", r"sessionid|phpsessid|[?&]sig|x-amz-signature|x-goog-signature"),
    _names("token", Kind.LIKELY, "credential credentials", r"credentials?"),
    _names("secret_key", Kind.LIKELY, "key", r"(?:secret|signing|encryption|master|private|access|hmac|shared|session|cookie)[_.-]?key"),
    _names("secret_key", Kind.REFERENCE, "secret base salt", r"\w*secret|secret[_.-]?key[_.-]?base|hash[_.-]?salt"),
    _names(
        "certificate_authority_data",
        Kind.ENCODED,
        "data cabundle",
        r"(?:certificate-authority|client-certificate|client-key)-data|cabundle",
    ),
    _names(
        "base64_short",
        Kind.ENCODED,
        "dockerconfigjson dockercfg htpasswd kubeconfig",
        r"\.?dockerconfigjson|\.dockercfg|htpasswd|kubeconfig",
    ),
    _names(
        "base64_short",
        Kind.ENCODED,
        "jks p12 pfx pem rsa ed25519 key privatekey",
        r"\.(?:jks|p12|pfx|pem|key)|id_(?:rsa|ed25519)|ssh-privatekey",
    ),
)


# The suffixes whose plural names a list of secrets, and only a list: a plain value of a plural is mostly a count.
_LISTED_SUFFIXES = ("password", "passwd", "passphrase", "token", "secret", "key", "credential")


@dataclass(frozen=True, slots=True)
class NameMeaning:
    """The meaning of a name for its value, or for each of its values if it is a plural."""

    pattern: str
    kind: Kind
    plural: bool = False


class NameTable:
    """The names of some patterns."""

    def __init__(self, patterns: frozenset[str]) -> None:
        self._patterns = tuple(each for each in NAME_PATTERNS if each.pattern in patterns)
        suffixes = {suffix for each in self._patterns for suffix in each.suffixes}
        # One of them ends each name.
        self.suffixes = tuple(sorted(suffixes | {f"{suffix}s" for suffix in _LISTED_SUFFIXES if suffix in suffixes}))
        self.classify = lru_cache(maxsize=4096)(self._classify)

    def _classify(self, name: str) -> NameMeaning | None:
        """Return the meaning of `name` (in lower case), or None if it is not that of a secret."""
        # In prose, some names are two words.
        name = name.replace(" ", "_")
        known = self._meaning(name)
        if known is None and name.endswith("s"):
            known = self._meaning(name[:-1])
            return replace(known, plural=True) if known else None
        return known

    def _meaning(self, name: str) -> NameMeaning | None:
        return next((NameMeaning(each.pattern, each.kind) for each in self._patterns if each.name.fullmatch(name)), None)


_QUOTES = r"""\\{0,3}["'`]"""
# After a suffix: the end of the name, and the separator. The text is in lower case here.
_SEPARATOR = re.compile(
    rf"""
    (?:[_-]?(?:value|b64|base64|encoded|\d{{1,2}}))?
    (?:
        (?P<assign>(?:{_QUOTES}|[*_]{{1,3}})?\]?[ \t]{{0,4}}(?:=>|:=|[:=](?:[*_]{{1,3}}(?=[ \t]))?)[ \t]{{0,8}})
      | (?P<entry>(?:{_QUOTES})?\s{{0,4}},?\s{{0,200}}(?:{_QUOTES})?value(?:{_QUOTES})?\s{{0,4}}[:=][ \t]{{0,4}})
      | (?P<item>(?:{_QUOTES})?(?:,\s{{0,40}}(?={_QUOTES})|\r?\n[ \t]{{0,64}}-[ \t]{{1,8}})(?!(?:{_QUOTES})?-))
      | (?P<tag>>|\\{{1,7}}u003e)
      | (?P<stated>[ \t]{{1,2}}(?:(?:for|of|on)[ \t][^\n.;:,]{{1,60}}?[ \t])?(?:is|was|has[ \t]been|will[ \t]be)
            (?:[ \t](?:now|(?:(?:re)?set|changed|updated|rotated)[ \t]to))?:?[ \t]{{1,2}}(?=[^\s-]))
      | (?P<set>[ \t]{{1,2}}(?:(?:for|of|on)[ \t][^\n.;:,]{{1,60}}?[ \t])?to:?[ \t]{{1,2}}(?=[^\s-]))
      | (?P<cell>(?:[ \t]{{0,64}}\||[ ]{{2}}|\t)[ \t]{{0,64}}(?=[^\s|-]))
      | (?P<gap>[ \t]{{1,4}}(?=[^\s-]))
    )""",
    re.VERBOSE,
)
# In an entry whose value comes first: the key of the value, and what follows the value up to the end of the name.
_VALUE_KEY = re.compile(rf"value(?:{_QUOTES})?\s{{0,4}}[:=][ \t]{{0,4}}")
_NAME_AFTER_VALUE = re.compile(
    rf"""
    (?:{_QUOTES})?\s{{0,4}},?\s{{0,200}}(?:{_QUOTES})?(?:name|key)(?:{_QUOTES})?\s{{0,4}}[:=]\s{{0,4}}(?:{_QUOTES})?
    (?P<name>[\w./$&?-]{{1,100}}?)(?:[_-]?(?:value|b64|base64|encoded|\d{{1,2}}))?(?:{_QUOTES}|[ \t]{{0,8}}(?:[,}}\]\r\n]|\Z))""",
    re.VERBOSE,
)
# The characters with which a separator can begin, checked before the expression is tried.
_SEPARATOR_CHARS = frozenset("\\ \t\r\n:=>,*|vbe0123456789")
_SEPARATOR_PAIRS = frozenset(
    first + second
    for firsts, seconds in (("_-", "vbe0123456789_:"), ("\"'`", "] \t\r\n:=,\\\"'`v"), ("]", " \t:="))
    for first in firsts
    for second in seconds
)
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyz0123456789_.-/$&?"
_NAMES = frozenset(_NAME_CHARS)
# The greatest length of a name, and of the word before `key` with the space before it.
_NAME_WINDOW = 100
_WORD_WINDOW = 24
_BEFORE_KEY = ("api ", "access ", "secret ", "signing ", "encryption ", "license ", "auth ")
_LABEL = MASK_PREFIX.lower()
_BEFORE_ENTRY = re.compile(rf"(?:name|key)(?:{_QUOTES})?\s{{0,4}}[:=]\s{{0,4}}(?:{_QUOTES})?\Z")
# Also as Go writes it in JSON; before the name of a tag may be its namespace.
_TAG_BEGINS = re.compile(r"<|\\{1,7}u003[cC]")
_BEFORE_TAG = re.compile(r"(?:<|\\u003c)(?:[\w.-]{1,64}:)?\Z")
# Before "the password to x".
_BEFORE_SET = re.compile(r"(?:set|chang|updat|rotat|switch)\w{0,8}[ \t](?:[^\n.;:]{0,60}[ \t])?\Z")
# Before the word `password` in a .netrc.
_BEFORE_NETRC = re.compile(r"(?:\bmachine\s{1,8}\S{1,255}|\bdefault)\s{1,80}login\s{1,8}\S{1,64}\s{1,80}\Z")
_HOST = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\.?")
_CELL = re.compile(r"""["'`*]{0,3}(?P<value>[^\s|]{1,256}?)["'`*]{0,3}(?=[\s|]|\Z)[ \t]{0,64}""")
_BEFORE_LINE = re.compile(rf"[ \t]*(?:- )?(?:{_QUOTES})?\Z")


@dataclass(frozen=True, slots=True)
class FoundValues:
    """The spans of a name's values, and whether they may be words of a sentence instead."""

    spans: list[Span]
    prose: bool = False
    stated: bool = False

    def secrets(self, text: str, kind: Kind) -> list[Span]:
        """Return the spans whose values are secrets."""
        found: list[Span] = []
        for start, stop in self.spans:
            value, quoted = text[start:stop], text[start - 1] in "\"'`"
            if text[start - 1] == "`" and is_command(value):
                continue
            if (
                is_stated_secret(value, kind, quoted=quoted)
                if self.stated
                else is_secret(value, kind, prose=self.prose and not quoted, quoted=quoted)
            ):
                found.append((start, stop))
        return found


class AssignmentMasker:
    """Masks the values next to the names of some patterns."""

    def __init__(self, patterns: frozenset[str]) -> None:
        self._table = NameTable(patterns)

    @property
    def literals(self) -> tuple[str, ...]:
        """Literals, in lower case, of which one is in every text without escapes that has something to mask."""
        return self._table.suffixes

    def mask(self, tagged: TaggedText) -> str:
        text, view = tagged.text, PlainView.of(tagged.text)
        plain, lowered = view.text, _lowered(view.text)
        if not any(suffix in lowered for suffix in self._table.suffixes):
            return text
        parts: list[str] = []
        # How far secrets were replaced: in the view, and in the text.
        done = copied = 0
        before = _values_before_names(plain, lowered)
        for end in sorted({*self._ends(lowered), *before}):
            name = self._name(lowered, end) if end > done else None
            separator = _SEPARATOR.match(lowered, end) if name else None
            if name is None or (separator is None and end not in before):
                continue
            name_at, known = name
            values = _values_after(plain, lowered, name_at, separator, known) if separator else None
            # A name between two values has the second one.
            if values is None and end in before and not (separator and separator.lastgroup == "entry"):
                values = _value_before(plain, before[end], known)
            for start, stop in values.secrets(plain, known.kind) if values else ():
                if start >= done:
                    parts += [text[copied : view.place(start)], tagged.label(known.pattern, plain[start:stop])]
                    copied = view.place(stop - 1) + 1
                    done = stop
        return "".join((*parts, text[copied:])) if parts else text

    def has_name(self, text: str) -> bool:
        """Return whether `text` has a name that may be followed by its value."""
        lowered = _lowered(PlainView.of(text).text)
        return any(self._name(lowered, end) for end in self._ends(lowered))

    def _ends(self, lowered: str) -> list[int]:
        """Return the offsets where a name may end that is followed by a separator."""
        ends: set[int] = set()
        for suffix in self._table.suffixes:
            size, at = len(suffix), 0
            for before in lowered.split(suffix)[:-1]:
                at += len(before) + size
                ends.add(at)
        return [end for end in ends if lowered[end : end + 1] in _SEPARATOR_CHARS or lowered[end : end + 2] in _SEPARATOR_PAIRS]

    def _name(self, lowered: str, end: int) -> tuple[int, NameMeaning] | None:
        """Return where the name that ends here begins, and its meaning, or None if it is not that of a secret."""
        earliest = max(0, end - _NAME_WINDOW)
        name_at = earliest + len(lowered[earliest:end].rstrip(_NAME_CHARS))
        # In prose, an API key is written in two words.
        if name_at > earliest and lowered.startswith("key", name_at) and lowered.endswith(_BEFORE_KEY, 0, name_at):
            word = lowered[max(earliest, name_at - _WORD_WINDOW) : name_at - 1]
            name_at += len(word.rstrip(_NAME_CHARS)) - len(word) - 1
        known = self._table.classify(lowered[name_at:end])
        # The replacement of a secret is no name, though it ends like one.
        if known is None or (lowered[end : end + 1] in "] " and lowered.startswith(_LABEL, name_at - 1)):
            return None
        return name_at, known


def _lowered(text: str) -> str:
    """Return the text in lower case, with the same offsets: this letter would become two."""
    return text.replace("İ", "I").lower()


def _values_before_names(text: str, lowered: str) -> dict[int, Span]:
    """Return the values of the entries in which the name follows, by the end of the name."""
    found: dict[int, Span] = {}
    # Where the last value without quotes ends, and the last block of lines: in neither is everything read again for each key inside.
    line_ends = block_ends = 0
    for key in _VALUE_KEY.finditer(lowered):
        at, is_block = key.end(), text[key.end() : key.end() + 1] in {"|", ">"}
        if key.start() < (block_ends if is_block else line_ends) or lowered[key.start() - 1 : key.start()] in _NAMES:
            continue
        span = value_span(text, at, yaml_line=True, spaces=True)
        if span is None:
            continue
        if is_block:
            block_ends = span[1]
        elif span[0] == at:
            line_ends = span[1]
        # The first counts: a value may contain this key itself.
        if name := _NAME_AFTER_VALUE.match(lowered, span[1]):
            found.setdefault(name.end("name"), span)
    return found


def _value_before(text: str, span: Span, known: NameMeaning) -> FoundValues | None:
    start, stop = span
    is_sentence = known.kind is not Kind.CERTAIN and text[start - 1] not in "\"'`" and " " in text[start:stop]
    return None if known.plural or is_sentence else FoundValues([span])


def _values_after(text: str, lowered: str, name_at: int, separator: re.Match[str], known: NameMeaning) -> FoundValues | None:
    """Return the values after a name, or None if there are none."""
    at, kind = separator.end(), separator.lastgroup
    # A value, perhaps in quotes, that an earlier rule has masked.
    opens = text[at : at + 2].find("[")
    if opens != -1 and text.startswith(MASK_PREFIX, at + opens):
        return None
    if kind == "assign":
        return _assigned(text, name_at, separator, known)
    certain = known.kind is Kind.CERTAIN
    if known.plural or not _separator_confirmed(text, lowered, name_at, separator, certain=certain):
        return _in_cell(text, name_at, separator) if kind == "cell" and certain and not known.plural else None
    if kind == "tag":
        closing = _TAG_BEGINS.search(text, at, at + 4096)
        return FoundValues([(at, closing.start())]) if closing and closing.start() > at else None
    span = value_span(text, at, yaml_line=kind == "entry", spaces=certain)
    if span is None or (kind == "set" and _HOST.fullmatch(text, *span)):
        return None
    return FoundValues([span], prose=kind in {"gap", "cell"}, stated=kind in {"stated", "set"})


def _separator_confirmed(text: str, lowered: str, name_at: int, separator: re.Match[str], *, certain: bool) -> bool:
    """Return whether the text before the name confirms that the match after it is a separator."""
    match separator.lastgroup:
        case "entry":
            return _BEFORE_ENTRY.search(lowered, max(0, name_at - 20), name_at) is not None
        case "tag":
            return lowered.startswith("\\u003c", name_at - 1) or _BEFORE_TAG.search(lowered, max(0, name_at - 80), name_at) is not None
        case "item":
            return lowered.startswith("-", name_at)
        case "set":
            return certain and _BEFORE_SET.search(lowered, max(0, name_at - 80), name_at) is not None
        case "gap" | "cell":
            return _takes_next_word(text, lowered, name_at, separator.end(), certain=certain)
        case _:
            return True


def _assigned(text: str, name_at: int, separator: re.Match[str], known: NameMeaning) -> FoundValues | None:
    """Return the values after a sign: a list, one value, or values on the lines below."""
    at, sign = separator.end(), separator.group()
    if text[at : at + 1] == "[":
        return FoundValues(listed_spans(text, at + 1))
    earliest = max(0, name_at - _NAME_WINDOW)
    alone = _BEFORE_LINE.match(text, max(text.rfind("\n", earliest, name_at) + 1, earliest), name_at) is not None
    yaml_line = alone and ":" in sign
    if yaml_line and text[at : at + 1] in {"\r", "\n", "#", " "}:
        return FoundValues(spans_below(text, at))
    span = None if known.plural else value_span(text, at, yaml_line=yaml_line, spaces=known.kind is Kind.CERTAIN)
    if span is None or (":" in sign and is_description(text, at, until=span[1])):
        return None
    return FoundValues([span], prose=not alone and ": " in sign)


def _in_cell(text: str, name_at: int, separator: re.Match[str]) -> FoundValues | None:
    """Return the value in the next cell of a table, or in the second of two columns; far more often a cell describes it."""
    found = _CELL.match(text, separator.end())
    if found is None or not is_stated_secret(found["value"], Kind.REFERENCE, quoted=False):
        return None
    earliest = max(0, name_at - _NAME_WINDOW)
    before = text[max(text.rfind("\n", earliest, name_at) + 1, earliest) : name_at]
    if "|" not in separator.group() and (before.strip() or text[found.end() : found.end() + 1] not in {"", "\r", "\n"}):
        return None
    return FoundValues([found.span("value")])


def _takes_next_word(text: str, lowered: str, name_at: int, at: int, *, certain: bool) -> bool:
    """Return whether the next word is the value: in options, SQL's PASSWORD 'x', Redis' and Docker's directives, and .netrc."""
    if lowered.startswith("--", name_at):
        return True
    if not certain:
        return False
    directive = lowered.startswith(("requirepass", "masterauth"), name_at) or lowered.endswith("env ", 0, name_at)
    if directive or text[at] in "\"'":
        return True
    # In a .netrc. The literal first, because the expression is slow at each name of a text that repeats one.
    earliest = max(0, name_at - 500)
    return lowered.find("login", earliest, name_at) != -1 and _BEFORE_NETRC.search(lowered, earliest, name_at) is not None
