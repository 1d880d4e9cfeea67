"""Reading fields of a JSON body without trusting their types, sizes or characters."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, Self, cast
from urllib.parse import urlsplit

from tarsy.domain.alert import Severity
from tarsy.kit.json_limits import has_more_values
from tarsy.kit.text import clip, whole_characters

# One line of a list.
MAX_TITLE = 200
# Prometheus' own servers commonly allow some 30 labels; senders with tags have a few more.
MAX_LABELS = 64
# Kept before all others: severity, title and place of an alert come from these, and routes mostly use them.
READ_FIRST = (
    *("alertname", "severity", "priority", "level", "rulename", "cluster", "namespace", "exported_namespace", "pod", "deployment"),
    *("statefulset", "daemonset", "job_name", "persistentvolumeclaim", "service", "container", "instance", "node", "host", "hostname"),
    *("device", "region", "environment", "team"),
)
MAX_LABEL_NAME = 128
# Matchers test labels: short enough that no regular expression takes long.
MAX_LABEL = 1024
# Annotations are prose.
MAX_ANNOTATION = 8_192
# Longer than any address that a browser or a proxy takes.
MAX_LINK = 2_048
# The alerts of a body that are kept; the rest are counted. A real alert has some 900 bytes.
MAX_ALERTS = 4_000
# Reading more would take seconds, and the memory of the values is many times that of their text. 16 MiB of real alerts have half as many.
MAX_VALUES = 800_000
# An alert has some dozens. Every step after the parser takes an object whole, and others wait meanwhile.
MAX_FIELDS = 10_000
# Senders write the first moment of the calendar, or of the epoch, for "no time".
_EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
# The driver would send it as infinity, and return it without a zone.
_NEVER = datetime.max.replace(tzinfo=UTC)
# Reading so many takes some milliseconds; longer texts are read in a thread.
QUICK_CHARACTERS = 16_000
_TOO_MANY_FIELDS = f"An object in the body has more than {MAX_FIELDS} fields."
_SPACE = re.compile(r"[ \t\n\r]*")
# Larger epochs are in milliseconds or nanoseconds: in seconds, this is the year 5138.
_SECONDS_AT_MOST = 1e11


class TooManyValuesError(Exception):
    """A body has more values than can be read without making others wait; the sender can act."""


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(fields) > MAX_FIELDS:
        raise TooManyValuesError(_TOO_MANY_FIELDS)
    return dict(fields)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parse_json(text: str) -> Any:
    """Return the value of a JSON text, or None if it is not JSON or is nested too deeply.

    Raises:
        TooManyValuesError: it has more values than are read, or an object of it has more fields.
    """
    # Counted before it is parsed: first with the commas and brackets within texts, then without them, but with the names of fields.
    if (
        text.lstrip()[:1] in {"{", "["}
        and text.count(",") + text.count("{") + text.count("[") > MAX_VALUES
        and has_more_values(text.encode(errors="surrogatepass"), MAX_VALUES)
    ):
        raise TooManyValuesError(f"The body has more than {MAX_VALUES} JSON values. Send fewer alerts in one request.")
    try:
        if len(text) <= QUICK_CHARACTERS:
            return json.loads(text)
        value, end = _parse_in_parts(text, skip_space(text, 0), levels=4)
        return value if skip_space(text, end) == len(text) else None
    except (ValueError, IndexError, RecursionError):
        return None


def _parse_in_parts(text: str, start: int, *, levels: int) -> tuple[Any, int]:
    """Parse the JSON value at `start`, and return it with the place behind it.

    The outer containers are parsed item by item: in a thread, other threads get their turn between two of them, but never within a call
    of the JSON library.

    Raises:
        ValueError, IndexError: it is not JSON.
        TooManyValuesError: an object of it has more fields than are read.
    """
    if not levels or text[start] not in "{[":
        return _DECODER.raw_decode(text, start)
    members: dict[str, Any] = {}
    items: list[Any] = []
    value, closing = (members, "}") if text[start] == "{" else (items, "]")
    place = skip_space(text, start + 1)
    if text[place] == closing:
        return value, place + 1
    while True:
        if value is members:
            name, place = _DECODER.raw_decode(text, place)
            place = skip_space(text, place)
            if not isinstance(name, str) or text[place] != ":":
                raise ValueError(text[place])
            members[name], place = _parse_in_parts(text, skip_space(text, place + 1), levels=levels - 1)
            if len(members) > MAX_FIELDS:
                raise TooManyValuesError(_TOO_MANY_FIELDS)
        else:
            item, place = _parse_in_parts(text, place, levels=levels - 1)
            items.append(item)
        place = skip_space(text, place)
        if text[place] == closing:
            return value, place + 1
        if text[place] != ",":
            raise ValueError(text[place])
        place = skip_space(text, place + 1)


def skip_space(text: str, place: int) -> int:
    """Return the first place from `place` on that is no white space of JSON, which may be the end of the text."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object. Any other value counts as an empty one."""

    values: Mapping[str, Any]

    @classmethod
    def of(cls, value: Any) -> Self:
        return cls(cast("Mapping[str, Any]", value) if isinstance(value, dict) else {})

    def __bool__(self) -> bool:
        return bool(self.values)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def at(self, *path: str) -> "Fields":
        """Return the object under `path`, or an empty one."""
        found = self
        for name in path:
            found = Fields.of(found.values.get(name))
        return found

    def each(self, name: str) -> tuple["Fields", ...]:
        """Return the objects of the list `name`. An item that is no object counts as an empty one, so that none is lost."""
        return tuple(Fields.of(item) for item in self.list(name))

    def list(self, name: str) -> list[Any]:
        value = self.values.get(name)
        return cast("list[Any]", value) if isinstance(value, list) else []

    def text(self, *names: str, limit: int = MAX_ANNOTATION) -> str:
        """Return the first of `names` that holds text or a number, cleaned, or an empty text."""
        return next((found for name in names if (found := plain_text(self.values.get(name), limit))), "")

    def joined(self, name: str) -> str:
        """Return the first ten texts of the list `name`, separated by commas."""
        return ", ".join(plain_text(item, MAX_LABEL) for item in self.list(name)[:10])

    def word(self, *names: str) -> str:
        """Do the same in lower case, for comparisons."""
        return self.text(*names, limit=MAX_LABEL_NAME).lower()

    def time(self, *names: str) -> datetime | None:
        return next((found for name in names if (found := parse_time(self.values.get(name)))), None)

    def link(self, *names: str) -> str | None:
        return next((found for name in names if (found := web_address(self.values.get(name)))), None)

    def labels(self, *names: str, limit: int = MAX_LABEL) -> dict[str, str]:
        """Return the texts of the objects `names` as labels. Of two labels of one name, the first counts."""
        objects = [self.at(name).values for name in names]
        # Found by name: in a large object they may be the last of a million.
        large = (found for found in objects if len(found) > MAX_LABELS)
        first = ((label, found[label]) for found in large for label in READ_FIRST if label in found)
        return labels(chain(first, (pair for found in objects for pair in found.items())), limit)

    def picked(self, **names: str) -> dict[str, str]:
        """Return labels from single fields, given as `label="field"`."""
        return labels((label, self.values.get(name)) for label, name in names.items())


def labels(pairs: Iterable[tuple[str, Any]], limit: int = MAX_LABEL) -> dict[str, str]:
    """Return the pairs that have a name and a text, at most `MAX_LABELS`. Those of `READ_FIRST` are never left out for others."""
    found: dict[str, str] = {}
    # Some more than are kept, because pairs without text do not count; not all, because a sender may send a million of them.
    for name, value in islice(pairs, 4 * MAX_LABELS):
        label, content = plain_text(name, MAX_LABEL_NAME), plain_text(value, limit)
        if label and content:
            found.setdefault(label, content)
    if len(found) <= MAX_LABELS:
        return found
    return {name: found[name] for name in sorted(found, key=lambda name: name not in READ_FIRST)[:MAX_LABELS]}


def tags(value: Any) -> dict[str, str]:
    """Return tags as labels: a list, or a text with commas, of `name:value`, `name=value` or single words."""
    items: Iterable[Any] = cast("list[Any]", value) if isinstance(value, list) else plain_text(value, MAX_ANNOTATION).split(",")
    return labels(_tag(item) for item in items)


def _tag(tag: Any) -> tuple[str, Any]:
    if isinstance(tag, dict):
        fields = Fields.of(cast("Any", tag))
        return fields.text("name", "tag", "key", limit=MAX_LABEL_NAME), fields.text("value") or "true"
    if isinstance(tag, list):
        name, value, *_ = [*cast("list[Any]", tag), "", ""]
        return plain_text(name, MAX_LABEL_NAME), value
    text = plain_text(tag, MAX_LABEL)
    name, _, value = text.partition(":") if ":" in text else text.partition("=")
    return name, value or ("true" if name else "")


def plain_text(value: Any, limit: int) -> str:
    """Return a text, number or boolean as text that can be stored; empty for other values."""
    if isinstance(value, str):
        # Cut before it is cleaned, so that cleaning costs no more than what is kept; spaces at the ends may go.
        return clip(whole_characters(value[: limit + 1]).replace("\0", "").strip(), limit, notice="…")
    if isinstance(value, bool):
        return str(value).lower()
    # An integer of thousands of digits cannot even be printed.
    return str(value) if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**18) else ""


def title(*parts: str, fallback: str) -> str:
    """Return the first part that is not blank, as one line."""
    lines = (" ".join(plain_text(part, MAX_TITLE * 4).split()) for part in parts)
    return clip(next((line for line in lines if line), fallback), MAX_TITLE - 1, notice="…")


def located(name: str, place: str) -> str:
    """Return `name` with `place`, unless the name contains it."""
    return f"{name} ({place})" if name and place and place not in name else name


def parse_time(value: Any) -> datetime | None:
    """Parse a time: ISO 8601, or an epoch in seconds, milliseconds or nanoseconds. Return None if it is no time."""
    if isinstance(value, str) and value[:40].strip():
        found = _parse_time_text(value[:40].strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = _epoch(float(value)) if abs(value) < 10**20 else None
    else:
        found = None
    return found if found and _EARLIEST < found < _NEVER else None


def _parse_time_text(text: str) -> datetime | None:
    try:
        return _epoch(float(text))
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _epoch(number: float) -> datetime | None:
    while math.isfinite(number) and number > _SECONDS_AT_MOST:
        number /= 1000
    try:
        return datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def web_address(value: Any) -> str | None:
    """Return an http or https URL that can be shown as a link, or None."""
    if not isinstance(value, str) or len(value) > MAX_LINK or any(character.isspace() or ord(character) < 32 for character in value):
        return None
    try:
        parts = urlsplit(value)
        complete = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return None
    return whole_characters(value) if complete else None


def place_of(address: str | None) -> str:
    """Return the host, port and path of a URL, which tell two servers apart; empty without one."""
    parts = urlsplit(address or "")
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")


def fingerprint(*parts: str | Mapping[str, str]) -> str:
    """Return a short identifier of `parts`, the same in every process."""
    text = json.dumps([sorted(part.items()) if isinstance(part, Mapping) else part for part in parts])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def as_body(value: Any, otherwise: str) -> str:
    """Return a part of a body as JSON on one line, or the beginning of `otherwise` if it is nested too deeply.

    Indentation would multiply the size of deeply nested values, and a whole request in place of each of its parts that of the request.
    """
    try:
        return whole_characters(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return clip(whole_characters(otherwise[: MAX_LABEL + 1]), MAX_LABEL)


_WORDS: Mapping[Severity, str] = {
    Severity.CRITICAL: "critical crit fatal emergency emerg disaster page paging p0 p1 sev0 blocker",
    Severity.HIGH: "high error err major p2 sev1 severe urgent alert availability",
    Severity.WARNING: "warning warn medium moderate minor average p3 sev2 degraded performance no_data",
    Severity.INFO: "info information informational low notice debug ok none p4 p5 sev3 sev4 verbose success not_classified",
}
_SEVERITIES = {word: severity for severity, words in _WORDS.items() for word in words.split()}


def severity_of(*words: str) -> Severity:
    """Return the severity of the first known word."""
    known = (_SEVERITIES.get("_".join(word.lower().split())) for word in words)
    return next((severity for severity in known if severity), Severity.UNKNOWN)
