"""Alerts and changes that other systems report, in TARSy's terms."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import chain

from tarsy.kit.text import whole_characters


class Severity(StrEnum):
    """Severity, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    WARNING = "warning"
    # The sender did not say. More urgent than what a sender called harmless.
    UNKNOWN = "unknown"
    INFO = "info"

    @property
    def priority(self) -> int:
        """How far ahead in the queue an investigation of it stands: 4 for the worst, 0 for what is only information."""
        return len(Severity) - 1 - tuple(Severity).index(self)

    def worst(self, other: "Severity") -> "Severity":
        return self if self.priority >= other.priority else other


class AlertStatus(StrEnum):
    FIRING = "firing"
    RESOLVED = "resolved"


class ChangeOutcome(StrEnum):
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    # It happened; how it went was not said.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where a person can read on: at the sender, on a dashboard, in a runbook, and where to silence it."""

    source: str | None = None
    dashboard: str | None = None
    runbook: str | None = None
    silence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One thing that a monitoring system said of one problem."""

    source: str
    # The same for everything that the sender says of the same problem; unique within the source.
    fingerprint: str
    title: str
    severity: Severity
    status: AlertStatus
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    links: Links = field(default_factory=Links)
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    # Names the group that the sender itself put the alert into, if it groups.
    group_key: str | None = None
    # What was sent, as text; not masked yet.
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that was deployed, synchronised, released or switched: it opens nothing, but may be the cause."""

    source: str
    # The same for everything that is said of the same change.
    fingerprint: str
    title: str
    outcome: ChangeOutcome
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    link: str | None = None
    # None: the sender did not say when; the time at which it arrived counts.
    at: datetime | None = None
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    id: str
    source: str
    title: str
    outcome: ChangeOutcome
    labels: Mapping[str, str]
    link: str | None
    at: datetime
    body: str


# Alerts may be a megabyte; what names them stands near the top, or else a list of many would cost too much to show.
TITLE_SEARCH_CHARACTERS = 4_000
_LONGEST = 140

# What monitoring systems call it, the most telling first: Alertmanager and Grafana, CloudWatch, PagerDuty and Datadog, Falco, mail, and what others commonly write.
_NAMES = ("alertname", "alert_name", "alarmname", "title", "rule", "subject", "summary", "alert", "message", "description")
_ANY_NAME = "|".join(_NAMES)
_JSON_FIELD = re.compile(rf'"({_ANY_NAME})"\s*:\s*"((?:[^"\\]|\\.)+)', re.IGNORECASE)
# `name: value`, also as an item of a list, and with the value on the next line.
_LINE_FIELD = re.compile(rf"^[ \t]*(?:- )?({_ANY_NAME}):[ \t]+(?:[|>][+-]?[ \t]*\n[ \t]+)?(\S.*)", re.IGNORECASE | re.MULTILINE)
# Controls and escapes, marks of direction and other signs without a form, halves of pairs.
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})
# Scripts and pictures are written with these two: without them a family falls apart.
_JOINERS = frozenset("\u200c\u200d")
_HEADING = re.compile(r"\s*# +(\S.*)")
_JSON_BEGINS = re.compile(r'\s*[{\[]\s*(?:["{\[\]}]|$)')


def alert_title(alert: str, fallback: str) -> str:
    """What a monitoring system says the alert is, else its first line; `fallback` for data in which nothing says so."""
    head = alert[:TITLE_SEARCH_CHARACTERS]
    if heading := _HEADING.match(head):
        # The sender has given the whole a title: what its parts are called says less.
        return _one_line(heading[1]) or fallback
    if _JSON_BEGINS.match(head):
        return _best(_json_fields(head)) or fallback
    return _best(chain(_line_fields(head), _json_fields(head))) or _first_line(head) or fallback


def _json_fields(head: str) -> Iterable[tuple[str, str]]:
    return ((found[1], _unescaped(found[2])) for found in _JSON_FIELD.finditer(head))


def _line_fields(head: str) -> Iterable[tuple[str, str]]:
    # A value that is a structure of its own names nothing.
    return ((found[1], found[2].strip().strip("\"'")) for found in _LINE_FIELD.finditer(head) if not _JSON_BEGINS.match(found[2]))


def _best(fields: Iterable[tuple[str, str]]) -> str:
    """The first value of the most telling name."""
    by_name: dict[str, str] = {}
    for name, value in fields:
        if text := _one_line(value):
            by_name.setdefault(name.lower(), text)
    return next((by_name[name] for name in _NAMES if name in by_name), "")


def _unescaped(text: str) -> str:
    try:
        # JSON can spell half a character, and no answer that holds one could be sent.
        return whole_characters(str(json.loads(f'"{text}"', strict=False)))
    except ValueError:  # cut off in the middle of an escape, or never valid
        return text


def _first_line(head: str) -> str:
    lines = (_one_line(line).lstrip("# ") for line in head.splitlines())
    return next((line for line in lines if re.search(r"\w", line)), "")


def _one_line(text: str) -> str:
    joined = _visible(" ".join(text.split()))
    return joined if len(joined) <= _LONGEST else joined[: _LONGEST - 1].rstrip() + "…"


def _visible(text: str) -> str:
    """Controls as their numbers: they would turn the words around, hide them, or talk to a terminal."""
    if text.isprintable():
        # Almost always: no mark need be looked at by itself.
        return text
    return "".join(f"<U+{ord(mark):04X}>" if unicodedata.category(mark) in _UNSEEN and mark not in _JOINERS else mark for mark in text)
