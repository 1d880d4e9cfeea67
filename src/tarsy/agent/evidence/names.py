"""Names of objects in a text: pods, services, images, hosts, addresses; and whether they were seen."""

import re
from collections.abc import Iterator

_CODE_SPAN = re.compile(r"`([^`\n]{1,200})`")
_WORD = re.compile(r"(?<![\w./:@$%=-])[A-Za-z0-9][A-Za-z0-9._:/@-]{2,200}(?<![.:/@-])")
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?(?:/\d{1,2})?")
_IMAGE = re.compile(r"[a-z0-9.-]+(?:/[a-z0-9._-]+)+:[\w.-]+|[a-z][a-z0-9-]*:v?\d+(?:\.\d+)+[\w.-]*")
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9.-]*(?:/[a-z0-9][a-z0-9.-]*){1,3}")
_NUMBERED = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*-(?=[a-z0-9]*\d)[a-z0-9]+")
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+){2,}(?::\d{1,5})?")
_QUOTED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@=-]*[-._:/@=][A-Za-z0-9._:/@=-]*[A-Za-z0-9]")
# A kind before a word makes the word a name: `Service checkout`, `NetworkPolicy deny-all`.
_KINDS = (
    "pod|deployment|statefulset|daemonset|replicaset|job|cronjob|service|svc|ingress|configmap|secret|node|namespace|networkpolicy"
    "|persistentvolumeclaim|pvc|persistentvolume|pv|serviceaccount|certificate|container|host|hpa|horizontalpodautoscaler|storageclass|issuer"
    "|deploy|sts|ds|rs|cm|ns|hostservice|cluster|application|release|database|queue|topic|endpoint|endpoints|endpointslice"
)
_KIND = re.compile(rf"(?:{_KINDS})s?", re.IGNORECASE)
_AFTER_KIND = re.compile(rf"\b(?:{_KINDS})\s+(?P<name>[a-z0-9]+(?:-[a-z0-9]+)+)(?![\w.-]*\w)", re.IGNORECASE)
_VERSION = re.compile(r"v?\d+(?:\.\d+)+[\w.-]*")
# Names of one statement that are checked.
_MOST_NAMES = 100


def names(text: str) -> tuple[str, ...]:
    """Return the words of a text that have the form of a name, with or without back-ticks, each once."""
    return tuple(dict.fromkeys(_names(text)))[:_MOST_NAMES]


def _names(text: str) -> Iterator[str]:
    for found in _CODE_SPAN.finditer(text):
        words = found[1].strip()
        if _QUOTED_NAME.fullmatch(words) and not _VERSION.fullmatch(words):
            yield words
    prose = _CODE_SPAN.sub(" ", text)
    for found in _AFTER_KIND.finditer(prose):
        yield found["name"]
    for found in _WORD.finditer(prose):
        word = found[0]
        if (
            _ADDRESS.fullmatch(word)
            or _IMAGE.fullmatch(word)
            or _NUMBERED.fullmatch(word)
            or (_HOST.fullmatch(word) and not _VERSION.fullmatch(word))
        ) or (_PATH.fullmatch(word) and (_KIND.fullmatch(word.partition("/")[0]) or re.search(r"/[^/]*[-\d]", word))):
            yield word


def is_instance(name: str) -> bool:
    """Whether a name is that of one pod or node among several, such as `ledger-0`."""
    return _NUMBERED.fullmatch(name.rpartition("/")[2]) is not None


def is_seen(name: str, text: str) -> bool:
    """Whether a name occurs in a text (in lower case) as a whole, or each of its parts does: kind, namespace and name, image and version."""
    name = name.lower()
    if _occurs(name, text):
        return True
    parts = [part for part in name.split("/") if part and not _KIND.fullmatch(part)]
    if parts != [name]:
        return bool(parts) and all(is_seen(part, text) for part in parts)
    # The numbers of an address occur in other addresses.
    separator = next((mark for mark in ("=", ":", "@", ".") if mark in name and not (mark == "." and _ADDRESS.fullmatch(name))), "")
    return bool(separator) and all(_occurs(part, text) for part in name.split(separator) if part)


def _occurs(name: str, text: str) -> bool:
    """Whether a name occurs as a whole word."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = text.find(name, at + 1)
    return False
