"""Which names announce a secret. Pure module.

A name is found by its last word (a stem, searched for as a literal, which is fast) and judged as a whole.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from tarsy.tools.masking.text_views import Reading
from tarsy.tools.masking.values import Sort


@dataclass(frozen=True, slots=True)
class Announcement:
    """Names that end like this announce a secret of this sort."""

    pattern: str
    sort: Sort
    stems: tuple[str, ...]
    # Of the whole name, in lower case.
    name: re.Pattern[str]


def _of(pattern: str, sort: Sort, stems: str, name: str) -> Announcement:
    return Announcement(
        pattern, sort, tuple(stems.split()), re.compile(rf"(?:.*[_./?&$-]|)(?:{name})" if sort is Sort.NAMED else rf".*(?:{name})")
    )


# The special before the general: the first that fits a name has it.
ANNOUNCEMENTS = (
    _of(
        "aws_secret_key",
        Sort.NAMED,
        "key token",
        r"aws[_.-]?secret(?:[_.-]?access)?[_.-]?key|secret[_.-]?access[_.-]?key|aws[_.-]?session[_.-]?token",
    ),
    _of("password", Sort.CERTAIN, "password passwd passphrase passcode passwort", r"password|passwd|passphrase|passcode|passwort"),
    _of("password", Sort.CERTAIN, "requirepass masterauth", r"requirepass|masterauth"),
    _of("password", Sort.LIKELY, "pass pwd", r"(?:^|[_.-]|db|user|root|admin)(?:pass|pwd)"),
    _of(
        "api_key",
        Sort.LIKELY,
        "key",
        r"(?:api|app|auth|account|service|subscription|licen[sc]e|sas|ingest(?:ion)?|integration|routing|admin|write|deploy|storage|consumer)[_.-]?key",
    ),
    _of("token", Sort.LIKELY, "token tokens", r"token|auth_tokens"),
    _of("token", Sort.LIKELY, "authorization bearer", r"authorization|bearer"),
    _of("token", Sort.LIKELY, "sessionid sessid sig signature", r"sessionid|phpsessid|[?&]sig|x-amz-signature|x-goog-signature"),
    _of("token", Sort.LIKELY, "credential credentials", r"credentials?"),
    _of("secret_key", Sort.LIKELY, "key", r"(?:secret|signing|encryption|master|private|access|hmac|shared|session|cookie)[_.-]?key"),
    _of("secret_key", Sort.NAMED, "secret base salt", r"\w*secret|secret[_.-]?key[_.-]?base|hash[_.-]?salt"),
    _of(
        "certificate_authority_data",
        Sort.ENCODED,
        "data cabundle",
        r"(?:certificate-authority|client-certificate|client-key)-data|cabundle",
    ),
    _of(
        "base64_short",
        Sort.ENCODED,
        "dockerconfigjson dockercfg htpasswd kubeconfig",
        r"\.?dockerconfigjson|\.dockercfg|htpasswd|kubeconfig",
    ),
    _of(
        "base64_short",
        Sort.ENCODED,
        "jks p12 pfx pem rsa ed25519 key privatekey",
        r"\.(?:jks|p12|pfx|pem|key)|id_(?:rsa|ed25519)|ssh-privatekey",
    ),
)


# The stems whose plural announces a list of secrets, and a list only: what follows a plural otherwise is mostly a count.
_LISTED_STEMS = ("password", "passwd", "passphrase", "token", "secret", "key", "credential")


@dataclass(frozen=True, slots=True)
class Known:
    """What a name says about its value; about each of its values, if it is a plural."""

    pattern: str
    sort: Sort
    plural: bool = False


class NameTable:
    """The announcements of some patterns."""

    def __init__(self, patterns: frozenset[str]) -> None:
        self._announcements = tuple(each for each in ANNOUNCEMENTS if each.pattern in patterns)
        stems = {stem for each in self._announcements for stem in each.stems}
        plurals = {f"{stem}s" for stem in _LISTED_STEMS if stem in stems}
        # By the shortest of each family: a text without `key` holds no `privatekey` either.
        self._families: dict[str, list[str]] = {}
        for stem in sorted(stems | plurals, key=len):
            self._families.setdefault(next((root for root in self._families if root in stem), stem), []).append(stem)
        self.roots = tuple(self._families)
        self.classify = lru_cache(maxsize=4096)(self._classify)

    def stems(self, words: Reading) -> list[str]:
        """With which of them a name in these words (in lower case) may end."""
        return [stem for root in words.held(self._families) for stem in self._families[root] if stem in words.words]

    def _classify(self, name: str) -> Known | None:
        """What a value under `name` (in lower case) is, if it is a secret."""
        # In prose, some names are two words.
        name = name.replace(" ", "_")
        known = self._announced(name)
        if known is None and name.endswith("s"):
            known = self._announced(name[:-1])
            return replace(known, plural=True) if known else None
        return known

    def _announced(self, name: str) -> Known | None:
        return next((Known(each.pattern, each.sort) for each in self._announcements if each.name.fullmatch(name)), None)
