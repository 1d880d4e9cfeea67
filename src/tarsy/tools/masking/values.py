"""Which values count as secrets, given the name they stand under. Pure module."""

import re
from enum import StrEnum

from tarsy.domain.tool import MASK_PREFIX


def label(pattern: str) -> str:
    """What stands in a text instead of a secret."""
    return f"{MASK_PREFIX}{pattern.upper()}]"


class Sort(StrEnum):
    """How much a name says about its value."""

    # Nothing but a secret is ever called so: any value counts.
    CERTAIN = "certain"
    # Tokens: often something else (a type, a count, a state), so the value must look the part.
    LIKELY = "likely"
    # Secrets: often the name of an object that holds one.
    NAMED = "named"
    # Base64, or it is not what we look for.
    ENCODED = "encoded"


_PLACEHOLDER = re.compile(
    r"(?:null|none|nil|<nil>|~|true|false|yes|no|undefined|n/?a|empty|unset|redacted|hidden|masked|"
    r"\[?redacted\]?|\[?hidden\]?|<[^<>\n]{1,60}>|\*{2,}|x{3,}|\.{3,}|-+|[\[\](){}<>]+|%[svqdr]|\?+|"
    r"\$\{[^}\n]{0,120}\}|\$\([^)\n]{0,120}\)|\$[A-Z_][A-Z0-9_]*|\{\{.{0,120}|\$\{\{.{0,120}|%\([\w]+\)s|%[A-Z_]+%)",
    re.IGNORECASE,
)
# Looks like code that fetches the value, not like the value.
_CODE = re.compile(
    r"[A-Za-z_][\w.]*[(\[]|(?:self|this|config|cfg|conf|settings|os|process|env|secrets?|vars?|local|module|data|req|request|ctx|args|opts|options|values)\."
)
# An error message that mentions the name before its colon goes on with one of these.
_PROSE_WORDS = """
    a an the is are was not no must should can could cannot failed failure fail invalid incorrect wrong missing required expired
    unable unknown error file key cipher connection context permission access denied x509 unexpected authentication unauthorized
    forbidden rpc json yaml illegal bad open read does did has have will would expected please see for to of in on at with from and or
    if it this that your my too value length decode decrypt crypto parse parsing lookup timeout dial secret secrets user username
    policy rotation reset changed updated created deleted
"""
_PROSE = frozenset(_PROSE_WORDS.split())
# What a password may be instead of known, in quotes.
_STATES_WORDS = """
    set unset empty blank valid ok weak strong short long simple default optional masked hidden used unused present
"""
_STATES = frozenset(_STATES_WORDS.split())
# Algorithms, encodings, versions, numbers with a unit: said of a secret, not the secret.
_TECHNICAL = re.compile(
    r"(?:sha|md|base|aes|rsa?|hs|es|ps|ed|utf|argon|bcrypt|pbkdf|scrypt|oauth|oidc|ip|tls|ssl|http|x|v|p|k|s|ec)-?\d{1,4}(?:[-/.][a-z0-9]{1,20}){0,4}\Z|\d+[a-z%]{0,12}\Z",
    re.IGNORECASE,
)
_PERCENT_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_OBJECT_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-./][a-z0-9]{1,20})*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{4,}={0,2}")
_SYMBOL = re.compile(r"[^\w\s.,:;/-]")


def is_placeholder(value: str) -> bool:
    """Whether something is to be filled in here, or was hidden before: told by how it begins."""
    return value.startswith((MASK_PREFIX, "$", "{{", "<", "%", "***")) and not _PERCENT_ENCODED.match(value)


def is_secret(value: str, sort: Sort, *, prose: bool, quoted: bool) -> bool:
    """Whether `value` is worth hiding; `prose` when it may be the middle of a sentence, `quoted` when it is certainly a value."""
    bare = value.strip().strip("\"'`,;")
    if not bare or bare.startswith(MASK_PREFIX) or _PLACEHOLDER.fullmatch(bare):
        return False
    if (prose and bare.split(maxsplit=1)[0].rstrip(":,.").lower() in _PROSE) or (not quoted and _CODE.match(bare)):
        return False
    match sort:
        case Sort.CERTAIN:
            return True
        case Sort.LIKELY:
            return _is_machine_made(bare)
        case Sort.NAMED:
            named = _OBJECT_NAME.fullmatch(bare) and (len(bare) < 16 or "-" in bare or "/" in bare or "." in bare)
            return not named and _is_machine_made(bare)
        case Sort.ENCODED:
            return _BASE64.fullmatch(bare) is not None


def is_told_secret(value: str, sort: Sort, *, quoted: bool) -> bool:
    """Whether what follows "the password is" is the password: people say far more often what is the matter with it."""
    bare = value.strip(".,;:!?()")
    if quoted and sort is Sort.CERTAIN:
        return bare.lower() not in _STATES and is_secret(bare, sort, prose=True, quoted=True)
    has_digit, has_letter = any(map(str.isdigit, bare)), any(map(str.isalpha, bare))
    if not has_letter or not (has_digit or _SYMBOL.search(bare)) or "://" in bare or _TECHNICAL.match(bare):
        return False
    return is_secret(bare, Sort.LIKELY if sort is Sort.CERTAIN else sort, prose=True, quoted=quoted)


def _is_machine_made(value: str) -> bool:
    return len(value) >= 6 and not value.startswith(("/", "./", "~/")) and _looks_random(value)


def _looks_random(value: str) -> bool:
    """Digits among letters, both cases, symbols, or simply long. A count or a word is not."""
    has_digit, has_lower, has_upper = (any(map(kind, value)) for kind in (str.isdigit, str.islower, str.isupper))
    if has_digit and not (has_lower or has_upper):
        return len(value) >= 12
    words = value.replace("-", " ").replace("_", " ").split()
    if not has_digit and (value.istitle() or value.islower() or value.isupper()) and len(words) <= 4:
        return len(max(words, key=len, default="")) >= 16 or _SYMBOL.search(value) is not None
    return has_digit or (has_lower and has_upper) or len(value) >= 16
