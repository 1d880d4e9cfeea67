"""Secrets with a form of their own: armoured keys and certificates, credentials in headers and command lines, password hashes, e-mail
addresses, and passwords in URLs, database addresses and .pgpass.

Each rule searches for a literal first, so that a text without it costs next to nothing.
"""

import base64
import binascii
import re
import string
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import unquote

from tarsy.tools.masking.text_views import LONG_WORD, Alphabet, Rule, TaggedText
from tarsy.tools.masking.values import Span, is_placeholder, label

_BEGIN_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
_BEGIN_CERTIFICATE = re.compile(r"-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE(?: REQUEST)?-----")
_END = re.compile(r"-----END [A-Z0-9 ]{1,60}-----|Private-MAC: ?[0-9a-f]{0,64}")
# The rest of a key whose end is missing.
_ARMOUR = re.compile(r"[A-Za-z0-9+/=\s\\:,-]*+")

_BREAKS = re.compile(r"\\+[nr]|\s")

_SSH_KEY = re.compile(r"(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-nistp\d{3}|sk-ssh-ed25519@openssh\.com) AAAA[A-Za-z0-9+/]{16,}={0,3}")
# Each begins with a literal, so that the matcher can skip ahead. `Bearer`, `Basic` and `Cookie` lack their first letter, which may be small.
_BEARER = re.compile(r"earer[ \t]{1,4}(?P<value>[A-Za-z0-9._~+/-]{16,}=*)")
_BASIC = re.compile(r"asic (?P<value>[A-Za-z0-9+/]{8,}={0,2})(?![\w+/])")
_JWT = re.compile(r"(?P<value>eyJ(?<![\w-]eyJ)[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4,}+(?:\.[A-Za-z0-9_-]*)?)")
_COOKIE = re.compile(r"ookie:[ \t]*(?P<value>[^\n\"']{4,4096})")
_CURL_USER = re.compile(r"(?P<head>(?:-u|--user)[ =]['\"]?[\w.@-]{1,64}:)(?P<value>[^\s'\"]{1,256})")
# `docker login -p x`, `sshpass -p x`, `redis-cli -a x`.
_SHORT_OPTION = re.compile(
    r"(?:sshpass|(?:docker|podman|oc|helm registry) login|redis-cli)\b[^\n|;&]{0,120}?[ \t]-[pa][ \t]?(?P<value>[^\s'\"-][^\s'\"]{0,255})"
)
# `mysql -uroot -px`, also as a list of words. With a space, `-p` asks for the password.
_GLUED_OPTION = re.compile(
    r"""(?:mysql|mariadb)(?:-?(?:admin|dump|check|import))?(?![\w-])[^\n|;&]{0,120}?[ \t"']-p["']?(?P<value>[^\s"',\]-][^\s"',\]]{0,255})"""
)
# `CREATE USER x IDENTIFIED BY 'x'` of MySQL and Oracle.
_IDENTIFIED = re.compile(r"""identified[ \t](?:with[ \t]\S{1,64}[ \t])?by[ \t](?:password[ \t])?'(?P<value>[^'\n]{1,256})""", re.IGNORECASE)
# As in a Docker configuration: user and password in base64.
_AUTH_ENTRY = re.compile(r"""auth\\{0,3}"\s{0,4}:\s{0,4}\\{0,3}"(?P<value>[A-Za-z0-9+/]{8,4096}={0,2})""")
# As crypt(3), htpasswd and Argon2 write them.
_HASH = re.compile(
    r"\$(?:2[abxy]\$\d\d\$[./A-Za-z0-9]{53}|(?:1|5|6|apr1)\$(?:rounds=\d{1,9}\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{22,86}"
    r"|y\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{1,86}\$[./A-Za-z0-9]{43}|argon2(?:id|i|d)\$v=\d{1,3}\$[\w=,]{5,60}\$[\w+/]{8,128}\$[\w+/]{16,256})"
)
# Literals of which one is in every text that `mask_<name>` masks.
PRIVATE_KEYS = ("PRIVATE", "PuTTY-User")
CERTIFICATES = ("-----BEGIN",)
SSH_KEYS = ("AAAA",)
PASSWORD_HASHES = ("$",)
EMAILS = ("@",)
# The same for `_IDENTIFIED`.
IDENTIFIED = ("IDENTIFIED", "identified", "Identified")
# From its `@` on.
_DOMAIN = re.compile(r"@(?=([A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,8}([A-Za-z]{2,24}))(?![\w-]))")
_LOCAL_PART = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-")
# Last parts after an `@` in names that are no addresses: units, hosts inside the cluster, files.
_NO_ADDRESS_WORDS = """
    service socket slice mount timer target scope local internal localdomain svc lan yaml yml json js ts py go sh txt log
"""
_NO_ADDRESS = frozenset(_NO_ADDRESS_WORDS.split())
_BASE64_CHARACTERS = Alphabet(string.ascii_letters + string.digits + "+/")
_BASE64_RUN = re.compile(rf"([A-Za-z0-9+/]{{{LONG_WORD},}}+)={{0,2}}")


def mask_private_keys(tagged: TaggedText) -> str:
    return _mask_armour(tagged, _BEGIN_KEY, "private_key") if any(word in tagged.text for word in PRIVATE_KEYS) else tagged.text


def mask_certificates(tagged: TaggedText) -> str:
    return _mask_armour(tagged, _BEGIN_CERTIFICATE, "certificate") if any(word in tagged.text for word in CERTIFICATES) else tagged.text


def _mask_armour(tagged: TaggedText, begin: re.Pattern[str], pattern: str) -> str:
    text = tagged.text
    parts: list[str] = []
    done = 0
    closed = True
    while found := begin.search(text, done):
        end = _END.search(text, found.end()) if closed else None
        if end is None:
            # Not searched again, because each search would scan the whole rest of the text.
            closed = False
            end = _ARMOUR.match(text, found.end())
        start, stop = found.start(), end.end() if end else found.end()
        # Without line breaks, which may be escaped; a key that is cut off cannot be compared.
        parts += [text[done:start], tagged.label(pattern, _BREAKS.sub("", text[start:stop])) if closed else label(pattern)]
        done = stop
    return "".join((*parts, text[done:]))


def mask_ssh_keys(tagged: TaggedText) -> str:
    text = tagged.text
    return _SSH_KEY.sub(lambda found: tagged.label("ssh_key", found.group()), text) if " AAAA" in text else text


def mask_password_hashes(tagged: TaggedText) -> str:
    return _HASH.sub(lambda found: tagged.label("password", found.group()), tagged.text) if "$" in tagged.text else tagged.text


def _is_jwt(text: str) -> bool:
    head = _decoded(text.partition(".")[0].replace("-", "+").replace("_", "/"))
    return head.startswith(b"{") and b'"' in head


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


@dataclass(frozen=True, slots=True)
class _Credential:
    """A form in which a credential is written: the group `value` of the pattern, if `is_secret` says so."""

    # One of them is in every match.
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    label: str
    is_secret: Callable[[str], bool] = bool


def _is_login(value: str) -> bool:
    """Return whether base64 encodes a user and a password."""
    return b":" in _decoded(value)


_CREDENTIAL_KINDS = (
    _Credential(("eyJ",), _JWT, "token", _is_jwt),
    _Credential(("earer",), _BEARER, "token", lambda value: any(map(str.isdigit, value))),
    _Credential(("asic",), _BASIC, "token", _is_login),
    _Credential(("ookie:",), _COOKIE, "token"),
    _Credential(('auth"', "auth\\"), _AUTH_ENTRY, "token", _is_login),
    _Credential(("sshpass", "redis-cli", " login"), _SHORT_OPTION, "password"),
    _Credential(("mysql", "mariadb"), _GLUED_OPTION, "password"),
    _Credential(IDENTIFIED, _IDENTIFIED, "password"),
    _Credential(("-u",), _CURL_USER, "password"),
)
CREDENTIALS = tuple(literal for each in _CREDENTIAL_KINDS for literal in each.literals)


def mask_credentials(tagged: TaggedText) -> str:
    """Mask credentials in headers, cookies and command lines, and JSON Web Tokens anywhere."""
    text = tagged.text
    for credential in _CREDENTIAL_KINDS:
        if any(literal in text for literal in credential.literals):
            text = credential.pattern.sub(partial(_with_masked_value, tagged, credential), text)
    return text


def _with_masked_value(tagged: TaggedText, credential: _Credential, found: re.Match[str]) -> str:
    """Return the text of a match with its value masked, unless that is a placeholder or no secret."""
    value = found["value"]
    if is_placeholder(value) or not credential.is_secret(value):
        return found.group()
    whole, start = found.group(), found.start()
    return whole[: found.start("value") - start] + tagged.label(credential.label, value) + whole[found.end("value") - start :]


def mask_emails(tagged: TaggedText) -> str:
    text = tagged.text
    if "@" not in text:
        return text
    parts: list[str] = []
    done = 0
    for domain in _DOMAIN.finditer(text):
        start = at = domain.start()
        if at < done or domain.group(2).lower() in _NO_ADDRESS:
            continue
        while start > max(0, at - 64) and text[start - 1] in _LOCAL_PART:
            start -= 1
        in_url = text[max(0, start - 3) : start] == "://" or text[max(0, start - 1) : start] in {"/", ":"}
        if start >= done and not in_url and text[start:at] not in {"", "git"}:
            parts += [text[done:start], tagged.label("email", text[start : domain.end(1)])]
            done = domain.end(1)
    return "".join((*parts, text[done:])) if parts else text


def encoded_secrets(inner: Callable[[str], str]) -> Rule:
    """Return a rule for base64 that contains a secret: `inner` changes the decoded text."""

    def mask(tagged: TaggedText) -> str:
        secret: set[str] = set()
        for run in _BASE64_CHARACTERS.runs(tagged.text, at_least=LONG_WORD):
            with suppress(UnicodeDecodeError):
                plain = _decoded(run).decode()
                if inner(plain) != plain:
                    secret.add(run)
        if not secret:
            return tagged.text
        return _BASE64_RUN.sub(
            lambda found: tagged.label("base64_secret", found.group(1)) if found.group(1) in secret else found.group(), tagged.text
        )

    return mask


# The longest user name, and the longest password, that are considered.
_LONGEST = 256
_URL_USER = re.compile(r"""://[^\s/:@"'`<>{}\[\]]{0,128}:""")
# The search for the `@` of a URL ends at characters that no URL has, and after its path.
_URL_END = re.compile(r"""[\s"'`<>?#]""")
# A port and a path: `https://host:8080/@scope`.
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_HOST = re.compile(r"[\w.\[-]")
# `user:password@tcp(host:3306)/db` and `user:password@/db`, as in Go's drivers.
_GO_ADDRESS = re.compile(r"@(?:[a-z0-9]{0,16}\([^\s()]{0,255}\))?/")
_ORACLE_ADDRESS = re.compile(r"oracle:(?:thin|oci8?):(?P<user>[\w.$#]{1,64})/(?P<value>[^\s@/]{1,256})@")
_PORT_FIELD = re.compile(r":(?:\d{4,5}|\*):")
# Host, port, database, user, password; the last may contain escaped colons.
_PGPASS = re.compile(
    r"^(?P<head>[ \t>-]{0,64}[^\s:#]{1,255}:(?:\d{4,5}|\*):(?:\*|[A-Za-z_][^\s:]{0,63}):[^\s:]{1,64}:)(?P<value>(?:\\{1,4}[:\\]|[^\s:\\]){1,256})\s*$",
    re.MULTILINE,
)
# The same anywhere in a text, with a usual port of PostgreSQL or of a pooler.
_PGPASS_PORT = re.compile(
    r"(?<=[\w.\]*]):(?:543\d|6432|6543):(?:\*|(?!\d+:)[\w$-]{1,63}):[^\s:\"'`]{1,64}:(?P<value>(?:\\{1,4}[:\\]|[^\s\"'`\\]){1,256})"
)
_WORD_END = re.compile(r"""[\s"'`<>]""")

# A line of .pgpass has one of them: the ports of PostgreSQL begin with a five, those of its poolers are these.
_PORTS = (":5", ":6432:", ":6543:", ":*:")
# Literals of which one is in every text with a connection string.
CONNECTION_STRINGS = ("@", *_PORTS)


def mask_connection_strings(tagged: TaggedText) -> str:
    text, masked = tagged.text, partial(_masked, partial(tagged.label, "password"))
    if "@" in text:
        text = masked(text, _url_passwords(text)) if "://" in text else text
        text = masked(text, _go_passwords(text)) if "@/" in text or ")/" in text else text
        text = masked(text, (found.span("value") for found in _ORACLE_ADDRESS.finditer(text))) if "oracle:" in text else text
    if any(port in text for port in _PORTS) and _PORT_FIELD.search(text):
        for line in (_PGPASS, _PGPASS_PORT):
            text = masked(text, (found.span("value") for found in line.finditer(text)))
    return text


def _masked(mask: Callable[[str], str], text: str, spans: Iterator[Span]) -> str:
    parts: list[str] = []
    done = 0
    for start, stop in spans:
        if start >= done and not is_placeholder(text[start:stop]):
            # Unescaped, so that its tag equals that of the same password in a Kubernetes Secret.
            parts += [text[done:start], mask(unquote(text[start:stop]))]
            done = stop
    return "".join((*parts, text[done:])) if parts else text


def _url_passwords(text: str) -> Iterator[Span]:
    for found in _URL_USER.finditer(text):
        start = found.end()
        end = _URL_END.search(text, start, start + _LONGEST)
        rest = text[start : end.start() if end else start + _LONGEST]
        if "@" in rest and not _PORT.match(rest):
            # Up to the last `@` before a host; an `@` of a path, as in `/@scope`, counts only if there is no other.
            ends = [at for at, character in enumerate(rest) if character == "@" and _HOST.match(rest, at + 1)]
            length = next((at for at in reversed(ends) if rest[at - 1 : at] != "/"), ends[0] if ends else rest.index("@"))
            yield start, start + length


def _go_passwords(text: str) -> Iterator[Span]:
    for found in _GO_ADDRESS.finditer(text):
        earliest = max(0, found.start() - _LONGEST)
        word = text[earliest : found.start()]
        user, _, password = _WORD_END.split(word)[-1].partition(":")
        if user and password and "//" not in password:
            yield found.start() - len(password), found.start()
