"""Pure module: what became of a request, as its sender is told, at once and when it sends the same again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tarsy.domain.incident import Incident
from tarsy.domain.status import SessionStatus
from tarsy.intake.batch import Entered, Outcome
from tarsy.kit.model import adapter


@dataclass(frozen=True, slots=True)
class TakenAlerts:
    """What became of the alerts of one incident, or of those that belong to none."""

    incident_id: str | None
    # The weightiest of what happened to them.
    action: Outcome
    alerts: int
    # The incident's last investigation, which need not be new.
    session_id: str | None = None
    session_status: SessionStatus | None = None
    # Why they are in no incident.
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    source: str
    alerts: int
    changes: int = 0
    # How many alerts the sender, or our limit, left out.
    truncated: int = 0
    # Why there was neither an alert nor a change.
    remark: str | None = None
    results: tuple[TakenAlerts, ...] = ()

    @property
    def main(self) -> TakenAlerts | None:
        """What a sender of one alert wants to know; of many, the weightiest."""
        return min(self.results, key=lambda result: _WEIGHT[result.action], default=None)

    def as_json(self) -> dict[str, Any]:
        return adapter(Taken).dump_python(self, mode="json")


def taken_from(stored: Mapping[str, Any]) -> Taken:
    """Read back what `as_json` wrote."""
    return adapter(Taken).validate_python(stored)


_WEIGHT: Mapping[Outcome, int] = {
    outcome: weight
    for weight, outcome in enumerate(
        (
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
    )
}


def summed_up(entered: Sequence[Entered], incidents: Mapping[str, Incident]) -> tuple[TakenAlerts, ...]:
    """One result for each incident, and one for each thing that befell alerts of none."""
    groups: dict[str, list[Entered]] = {}
    for one in entered:
        groups.setdefault(one.incident_id or one.outcome, []).append(one)
    return tuple(_result(group, incidents.get(group[0].incident_id or "")) for group in groups.values())


def _result(group: Sequence[Entered], incident: Incident | None) -> TakenAlerts:
    weightiest = min(group, key=lambda one: _WEIGHT[one.outcome])
    return TakenAlerts(
        weightiest.incident_id,
        weightiest.outcome,
        len(group),
        incident.session_id if incident else None,
        incident.session_status if incident else None,
        weightiest.reason,
    )
