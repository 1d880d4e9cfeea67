"""The answer to a delivery: what TARSy did with its alerts. It is stored, and given again if the sender repeats the delivery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from tarsy.domain.incident import Incident
from tarsy.domain.status import SessionStatus


class Outcome(StrEnum):
    """What TARSy did with an alert."""

    OPENED = "opened"
    JOINED = "joined"
    REPEATED = "repeated"
    REOPENED = "reopened"
    ESCALATED = "escalated"
    INVESTIGATED_AGAIN = "investigated_again"
    RESOLVED = "resolved"
    RECORDED = "recorded"
    DROPPED = "dropped"


# The most important outcome first.
_RANKING = (
    Outcome.OPENED,
    Outcome.REOPENED,
    Outcome.ESCALATED,
    Outcome.INVESTIGATED_AGAIN,
    Outcome.JOINED,
    Outcome.RESOLVED,
    Outcome.REPEATED,
    Outcome.RECORDED,
    Outcome.DROPPED,
)


@dataclass(frozen=True, slots=True)
class Result:
    """The most important outcome of alerts of one incident, or of alerts that belong to no incident."""

    incident_id: str | None
    action: Outcome
    alerts: int = 1
    # The incident's latest investigation, which need not be new.
    session_id: str | None = None
    session_status: SessionStatus | None = None
    # Why the alerts belong to no incident.
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    source: str
    alerts: int
    changes: int = 0
    # The number of alerts that the sender, or TARSy's limit, left out.
    truncated: int = 0
    # Why the delivery holds neither an alert nor a change.
    remark: str | None = None
    results: tuple[Result, ...] = ()

    @property
    def main(self) -> Result | None:
        """The most important result, or None if there was no alert."""
        return min(self.results, key=lambda result: _RANKING.index(result.action), default=None)

    def as_json(self) -> dict[str, Any]:
        return _ANSWER.dump_python(self, mode="json")


_ANSWER = TypeAdapter(Answer)


def answer_from(stored: Mapping[str, Any]) -> Answer:
    """Read what `as_json` returned."""
    return _ANSWER.validate_python(stored)


def summarise(results: Sequence[Result], incidents: Mapping[str, Incident]) -> tuple[Result, ...]:
    """Combine the results of single alerts: one for each incident, and one for each outcome of alerts without an incident."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.incident_id or result.action, []).append(result)
    summary: list[Result] = []
    for group in groups.values():
        main = min(group, key=lambda result: _RANKING.index(result.action))
        incident = incidents.get(main.incident_id or "")
        if incident:
            main = replace(main, session_id=incident.session_id, session_status=incident.session_status)
        summary.append(replace(main, alerts=len(group)))
    return tuple(summary)
