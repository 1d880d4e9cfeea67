"""Pure module: an incident in words, as its investigators are given it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.alert import Alert, AlertStatus
from tarsy.domain.incident import Incident, Member
from tarsy.kit.text import clip

# An investigator reads them all before it begins; more of the same kind say nothing new.
MAX_SHOWN = 20
# Of all the alerts' bodies together: some ten thousand words.
MAX_BODIES = 60_000
# As long as a thorough analysis is.
MAX_ANALYSIS = 20_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What the last investigation of an incident came to."""

    at: datetime
    status: str
    analysis: str
    # In a word, and about what; None if it did not say.
    verdict: str | None = None
    object: str | None = None


def incident_text(incident: Incident, members: Sequence[Member], last: Finding | None = None) -> str:
    """The incident for those who look into it. A lone alert without labels is given word for word."""
    if len(members) == 1 and last is None and _is_plain(members[0].alert):
        return members[0].alert.body
    shown = sorted(members, key=_worst_first)[:MAX_SHOWN]
    share = MAX_BODIES // max(len(shown), 1)
    sections = [
        _headline(incident),
        *(_section(member, share) for member in shown),
        *_left_out(incident.alerts - len(shown)),
        *_found(last),
    ]
    return "\n\n".join(sections) + "\n"


def _is_plain(alert: Alert) -> bool:
    return not alert.labels and not alert.annotations


def _worst_first(member: Member) -> tuple[bool, int, datetime, str]:
    known = member.known
    return known.status is AlertStatus.RESOLVED, -known.severity.priority, member.first_at, member.id


def _headline(incident: Incident) -> str:
    alerts = "1 alert" if incident.alerts == 1 else f"{incident.alerts} alerts"
    return (
        f"# {incident.title}\n\n"
        f"An incident of severity {incident.severity}, told by {incident.source}: {alerts}, {incident.firing} of them firing, "
        f"heard of {incident.deliveries} times since {_time(incident.opened_at)}."
    )


def _section(member: Member, share: int) -> str:
    alert = member.alert
    lines = [f"## {alert.title}", "", f"{member.known.severity}, {_status(member)}"]
    lines += [line for name, values in (("Labels", alert.labels), ("Annotations", alert.annotations)) for line in _listed(name, values)]
    return "\n".join([*lines, *_listed("Links", _links(alert)), "", "As it was sent:", clip(alert.body, share)])


def _links(alert: Alert) -> Mapping[str, str]:
    links = {"source": alert.links.source, "dashboard": alert.links.dashboard, "runbook": alert.links.runbook}
    return {name: address for name, address in links.items() if address}


def _listed(name: str, values: Mapping[str, str]) -> list[str]:
    return ["", f"{name}:", *(f"- {key} = {value}" for key, value in sorted(values.items()))] if values else []


def _status(member: Member) -> str:
    alert, known = member.alert, member.known
    if known.status is AlertStatus.RESOLVED:
        return f"over since {_time(alert.ends_at or member.heard_at)}"
    return f"firing since {_time(alert.starts_at or member.first_at)}, heard of {member.count} times"


def _left_out(count: int) -> Iterator[str]:
    if count > 0:
        yield f"{count} further alerts of this incident are not shown."


def _found(last: Finding | None) -> Iterator[str]:
    if last:
        verdict = f" Its verdict: {last.verdict}{', ' + last.object if last.object else ''}." if last.verdict else ""
        yield (
            f"## What the last investigation found\n\nIt ended {last.status} at {_time(last.at)}, and the incident still fires.{verdict} "
            f"Say what has changed since, and do not take over what no longer holds.\n\n{clip(last.analysis, MAX_ANALYSIS)}"
        )


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"
