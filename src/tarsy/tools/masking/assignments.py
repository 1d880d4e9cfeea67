"""Secrets that stand beside their name: `password: x`, `"token":"x"`, `API_KEY=x`, `--password x`, `<secret>x</secret>`, env entries.

A cheap regular expression finds the names; what follows is looked at by bounded code, so no text can make it slow. Pure module.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tarsy.tools.masking.values import Sort, is_secret, label


@dataclass(frozen=True, slots=True)
class Keyword:
    """The end of a name that announces a secret."""

    pattern: str
    sort: Sort
    names: tuple[str, ...]


KEYWORDS: Mapping[str, tuple[Keyword, ...]] = {
    "password": (
        Keyword(
            "password", Sort.CERTAIN, ("password", "passwd", "passphrase", "passwort", "passcode", "userpass", "requirepass", "masterauth")
        ),
        Keyword("password", Sort.LIKELY, ("_pass", "-pass", ".pass", "_pwd", "-pwd", "db_pw", "sshpass -p", "identified by")),
    ),
    "api_key": (
        Keyword(
            "api_key",
            Sort.LIKELY,
            (
                "api_key",
                "api-key",
                "apikey",
                "app_key",
                "app-key",
                "appkey",
                "auth_key",
                "auth-key",
                "authkey",
                "account_key",
                "accountkey",
                "service_key",
                "subscription-key",
                "subscription_key",
                "license_key",
                "licensekey",
            ),
        ),
    ),
    "token": (
        Keyword(
            "token",
            Sort.LIKELY,
            (
                "token",
                "authorization",
                "bearer",
                "sessionid",
                "session_id_cookie",
                "phpsessid",
                "jsessionid",
                "x-amz-signature",
                "?sig",
                "&sig",
                "credential",
                "credentials",
            ),
        ),
    ),
    "secret_key": (
        Keyword(
            "secret_key",
            Sort.NAMED,
            (
                "secret",
                "secret_key",
                "secret-key",
                "secretkey",
                "signing_key",
                "signing-key",
                "signingkey",
                "encryption_key",
                "encryption-key",
                "encryptionkey",
                "master_key",
                "master-key",
                "masterkey",
                "private_key",
                "private-key",
                "privatekey",
                "access_key",
                "access-key",
                "accesskey",
                "secret_access_key",
                "secretaccesskey",
                "secret_key_base",
            ),
        ),
    ),
    "aws_secret_key": (
        Keyword(
            "aws_secret_key",
            Sort.NAMED,
            ("aws_secret_access_key", "aws_secret_key", "secretaccesskey", "secret_access_key", "aws_session_token"),
        ),
    ),
    "certificate_authority_data": (
        Keyword(
            "certificate_authority_data",
            Sort.ENCODED,
            ("certificate-authority-data", "client-certificate-data", "client-key-data", "cabundle"),
        ),
    ),
    "base64_short": (
        Keyword(
            "base64_short",
            Sort.ENCODED,
            (
                ".dockerconfigjson",
                ".dockercfg",
                "tls.key",
                "ssh-privatekey",
                "keystore.jks",
                "keystore.p12",
                ".pem",
                ".pfx",
                ".p12",
                "htpasswd",
                "kubeconfig",
                "id_rsa",
                "id_ed25519",
            ),
        ),
    ),
}

# A name may be numbered or say how its value is written.
_SUFFIX = r"(?:[_-]?(?:value|b64|base64|encoded|\d{1,2}))?"
_SEPARATOR = r"""(?P<quote>\\{0,3}["'])?\]?(?P<sep>[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,8}|(?<=-p)[ \t]+|(?<=by)[ \t]+(?=['"]))"""

_QUOTED = re.compile(r"""(?P<open>\\{0,3}(?P<mark>["'`]))(?P<body>(?:(?!(?P=open))[^\n]){0,8192})(?P=open)""")
_UNTIL_BREAK = re.compile(r"""(?:[^\s&;"'<>,`]|,(?!\s|[\w.-]{1,40}\s?[=:])|&(?![\w.-]{1,40}=)){1,8192}""")
_UNTIL_SPACE = re.compile(r"\S{1,8192}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Digest|Token|ApiKey|Negotiate|AWS4-HMAC-SHA256)[ \t]+", re.IGNORECASE)
_BLOCK = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(?:#[^\n]*)?(?=\n)")
_NAME_ONLY = re.compile(r"""[ \t]*(?:- )?\\{0,3}["']?[\w.$/@-]*\Z""")
# How far back the beginning of a name is looked for.
_NAME_WINDOW = 120


Span = tuple[int, int, str]


def any_case(text: str) -> str:
    """A pattern for `text` in any case. Sets instead of a flag: with the flag the matcher cannot skip ahead."""
    return "".join(f"[{char.upper()}{char.lower()}]" if char.isalpha() else re.escape(char) for char in text)


class AssignmentMasker:
    """Masks the values of the given keywords in one pass."""

    def __init__(self, keywords: Iterable[Keyword]) -> None:
        self._sorts: dict[str, tuple[str, Sort]] = {}
        for keyword in keywords:
            for name in keyword.names:
                # The first to claim a name keeps it.
                self._sorts.setdefault(name, (label(keyword.pattern), keyword.sort))
        # Longer names first: the regular expression takes the first that fits.
        names = sorted(self._sorts, key=len, reverse=True)
        alternatives = "|".join(any_case(name) for name in names)
        self._names = re.compile(f"(?P<name>{alternatives}){_SUFFIX}(?:{_SEPARATOR})")
        self._flags = re.compile(rf"--?[\w-]{{0,40}}?(?P<name>{alternatives})[ \t]+(?=[^\s-])")
        self._tags = re.compile(rf"<(?P<tag>[\w:.-]{{0,60}}?(?P<name>{alternatives}))>(?P<value>[^<\n]{{1,4096}})</(?P=tag)>")
        self._entries = re.compile(
            rf"""name\\{{0,3}}["']?\s{{0,4}}:\s{{0,4}}\\{{0,3}}["']?[\w.-]{{0,80}}?(?P<name>{alternatives})\\{{0,3}}["']?"""
            rf"""(?:\s{{0,4}},\s{{0,200}}|\s{{1,200}})\\{{0,3}}["']?value\\{{0,3}}["']?\s{{0,4}}:[ \t]{{0,4}}"""
        )

    def mask(self, text: str) -> str:
        text = _replaced(text, self._assigned(text))
        if "value" in text:
            text = _replaced(text, self._listed(text))
        if "--" in text or "sshpass" in text:
            text = _replaced(text, self._flagged(text))
        if "</" in text:
            text = _replaced(text, self._tagged(text))
        return text

    def _assigned(self, text: str) -> Iterator[Span]:
        for found in self._names.finditer(text):
            alone = _NAME_ONLY.match(text[_line_start(text, found.start()) : found.start()]) is not None
            separator = found.group("sep")
            span = _value_span(text, found.end(), yaml_line=alone and ":" in separator)
            yield from self._judged(text, found, span, prose=not alone and ": " in separator)

    def _listed(self, text: str) -> Iterator[Span]:
        for found in self._entries.finditer(text):
            yield from self._judged(text, found, _value_span(text, found.end(), yaml_line=True), prose=False)

    def _flagged(self, text: str) -> Iterator[Span]:
        for found in self._flags.finditer(text):
            yield from self._judged(text, found, _value_span(text, found.end(), yaml_line=False), prose=True)

    def _tagged(self, text: str) -> Iterator[Span]:
        for found in self._tags.finditer(text):
            yield from self._judged(text, found, found.span("value"), prose=False)

    def _judged(self, text: str, found: re.Match[str], span: tuple[int, int] | None, *, prose: bool) -> Iterator[Span]:
        """The span with its mark, if what stands there is a secret."""
        if span is None:
            return
        start, end = span
        mark, sort = self._sorts[found.group("name").lower()]
        quoted = text[start - 1 : start] in {'"', "'", "`"}
        if is_secret(text[start:end], sort, prose=prose and not quoted, quoted=quoted):
            yield start, end, mark


def _line_start(text: str, at: int) -> int:
    """Where the line begins, or how far back a name can reach."""
    earliest = max(0, at - _NAME_WINDOW)
    return max(text.rfind("\n", earliest, at) + 1, earliest)


def _value_span(text: str, start: int, *, yaml_line: bool) -> tuple[int, int] | None:
    """Where the value that begins at `start` lies, without its quotes."""
    quoted = _QUOTED.match(text, start)
    if quoted is not None:
        scheme = _SCHEME.match(text, quoted.start("body"), quoted.end("body"))
        return (scheme.end() if scheme else quoted.start("body")), quoted.end("body")
    scheme = _SCHEME.match(text, start)
    if scheme is not None:
        start = scheme.end()
    if yaml_line and scheme is None:
        return _yaml_span(text, start)
    found = _UNTIL_BREAK.match(text, start)
    return _trimmed(text, found) if found is not None else None


def _yaml_span(text: str, start: int) -> tuple[int, int] | None:
    """A YAML value: the rest of the line, or the block of deeper lines below it."""
    block = _BLOCK.match(text, start)
    if block is not None:
        return _block_span(text, start, block.end() + 1)
    end = text.find("\n", start)
    end = len(text) if end == -1 else end
    value = text[start:end]
    comment = value.find(" #")
    value = (value if comment == -1 else value[:comment]).rstrip()
    if value[:1] in {"{", "[", "&", "*"} or not value:
        found = _UNTIL_BREAK.match(text, start)
        return _trimmed(text, found) if found is not None and value[:1] not in {"{", "["} else None
    # JSON without quotes, or a list of pairs on one line.
    if value[-1:] in {",", "}"} or "," in value:
        found = _UNTIL_BREAK.match(text, start)
        return _trimmed(text, found) if found is not None else None
    return start, start + len(value)


def _block_span(text: str, key_at: int, start: int) -> tuple[int, int] | None:
    line_start = text.rfind("\n", 0, key_at) + 1
    indent = len(text[line_start:key_at]) - len(text[line_start:key_at].lstrip(" -"))
    end = start
    first: int | None = None
    while end < len(text):
        stop = text.find("\n", end)
        stop = len(text) if stop == -1 else stop
        line = text[end:stop]
        if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
            break
        if first is None and line.strip():
            first = end + len(line) - len(line.lstrip(" "))
        end = stop + 1
    return None if first is None else (first, min(end - 1, len(text)))


def _trimmed(text: str, found: re.Match[str]) -> tuple[int, int]:
    """Without the punctuation that closes the surrounding text."""
    start, end = found.span()
    while end > start + 1 and text[end - 1] in ").,:;]}\\":
        end -= 1
    return start, end


def _replaced(text: str, spans: Iterable[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, end, mark in spans:
        if start < done:
            continue
        parts += [text[done:start], mark]
        done = end
    return "".join((*parts, text[done:])) if parts else text
