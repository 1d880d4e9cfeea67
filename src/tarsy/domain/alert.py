"""Alerts and changes that other systems report, in TARSy's terms."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tarsy.kit.text import whole_characters


class Severity(StrEnum):
    """Severity, worst first."""

    CRITICAL = "critical"
    HIGH = "high"
    WARNING = "warning"
    # The sender did not state one. Ranked above `info`, which a sender states for harmless alerts.
    UNKNOWN = "unknown"
    INFO = "info"

    @property
    def priority(self) -> int:
        """Return the priority of an investigation in the queue: 4 for critical down to 0 for info."""
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
    # The change happened; the sender did not report how it went.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Addresses for people: the alert at the sender, a dashboard, a runbook, and the page that silences the alert."""

    source: str | None = None
    dashboard: str | None = None
    runbook: str | None = None
    silence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One notification of a monitoring system about one problem."""

    source: str
    # The same in every notification about the same problem; unique within the source and its instance.
    fingerprint: str
    # Tells two installations of one monitoring system apart; empty if their fingerprints do.
    instance: str = ""
    title: str
    severity: Severity
    status: AlertStatus
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    links: Links = field(default_factory=Links)
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    # When the sender's event occurred; None: at the start or the end. Not stored with the alert, only used to recognise late deliveries.
    occurred_at: datetime | None = None
    # The sender's own group of the alert, if the sender groups alerts.
    group_key: str | None = None
    # The text as sent; not masked yet.
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A deployment, synchronisation, release or switched feature. It opens no incident, but may be the cause of one."""

    source: str
    # The same in every notification about the same change.
    fingerprint: str
    title: str
    outcome: ChangeOutcome
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    link: str | None = None
    # None: the sender did not state a time; the time of arrival counts.
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


# Alerts may be a megabyte; only their beginning is searched for a title, so that lists of many alerts stay cheap.
TITLE_SEARCH_CHARACTERS = 4_000
_LONGEST = 140

# Field names of titles, most specific first: Alertmanager and Grafana, CloudWatch, PagerDuty and Datadog, Falco, mail, then common ones.
_NAMES = ("alertname", "alert_name", "alarmname", "title", "rule", "subject", "summary", "alert", "message", "description")
_ANY_NAME = "|".join(_NAMES)
_JSON_FIELD = re.compile(rf'"({_ANY_NAME})"\s*:\s*"((?:[^"\\]|\\.)+)', re.IGNORECASE)
# `name: value`, also as an item of a list, and with the value on the next line.
_LINE_FIELD = re.compile(rf"^[ \t]*(?:- )?({_ANY_NAME}):[ \t]+(?:[|>][+-]?[ \t]*\n[ \t]+)?(\S.*)", re.IGNORECASE | re.MULTILINE)
# Unicode categories of invisible characters: control, format and surrogate.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})
# Zero-width (non-)joiners are part of some scripts and of combined emoji.
_JOINERS = frozenset("\u200c\u200d")
_HEADING = re.compile(r"\s*# +(\S.*)")
_JSON_BEGINS = re.compile(r'\s*[{\[]\s*(?:["{\[\]}]|$)')


def alert_title(alert: str, fallback: str) -> str:
    """Return the title of an alert: its heading, the best of its title fields, or its first line; `fallback` if it has none."""
    head = alert[:TITLE_SEARCH_CHARACTERS]
    if heading := _HEADING.match(head):
        return _one_line(heading[1]) or fallback
    is_json = _JSON_BEGINS.match(head) is not None
    found: dict[str, str] = {}
    # A value that is itself JSON is no title.
    lines = () if is_json else (match for match in _LINE_FIELD.finditer(head) if not _JSON_BEGINS.match(match[2]))
    for match in lines:
        if text := _one_line(match[2].strip().strip("\"'")):
            found.setdefault(match[1].lower(), text)
    for match in _JSON_FIELD.finditer(head):
        try:
            # JSON can spell half of a surrogate pair, which cannot be encoded in an answer.
            value = whole_characters(str(json.loads(f'"{match[2]}"', strict=False)))
        except ValueError:  # cut off in the middle of an escape, or never valid
            value = match[2]
        if text := _one_line(value):
            found.setdefault(match[1].lower(), text)
    if title := next((found[name] for name in _NAMES if name in found), ""):
        return title
    first_lines = () if is_json else (_one_line(line).lstrip("# ") for line in head.splitlines())
    return next((line for line in first_lines if re.search(r"\w", line)), fallback)


def _one_line(text: str) -> str:
    """Join the words of `text` and shorten it. Invisible characters become `<U+XXXX>`: they could reorder or hide words, or control a terminal."""
    joined = " ".join(text.split())
    if not joined.isprintable():
        joined = "".join(
            f"<U+{ord(mark):04X}>" if unicodedata.category(mark) in _INVISIBLE and mark not in _JOINERS else mark for mark in joined
        )
    return joined if len(joined) <= _LONGEST else joined[: _LONGEST - 1].rstrip() + "…"
