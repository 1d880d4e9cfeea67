"""The sessions that investigate incidents: their chain, their tool servers and their runbook."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.config.resolve.resolved import ResolvedChain, ResolvedMcpServer
from tarsy.config.resolve.resolver import with_variants
from tarsy.domain.alert import Alert
from tarsy.domain.incident import Incident, StoredAlert, incident_text
from tarsy.domain.session import NewSession
from tarsy.intake.policy import Route
from tarsy.kit.text import clip
from tarsy.session.submission import SubmissionService, new_nonce

# Names of clusters and regions are shorter.
MAX_SHOWN_VALUE = 60


@dataclass(frozen=True, slots=True)
class Investigations:
    submissions: SubmissionService
    routes: Sequence[Route]
    # Returns the tool server of a name.
    server: Callable[[str], ResolvedMcpServer]

    def runbook_of(self, alert: Alert) -> str | None:
        """Return the address of the alert's runbook, or None if it may not be fetched or holds a secret."""
        url = alert.links.runbook
        return url if url and self.submissions.runbooks.allows(url) and self.submissions.mask(url) == url else None

    def session(  # noqa: PLR0913 - what a new session is made of
        self,
        incident: Incident,
        trigger: StoredAlert,
        now: datetime,
        *,
        session_id: str,
        author: str,
        runbook_url: str | None = None,
        runbook: str | None = None,
        chain: ResolvedChain | None = None,
        by_person: bool = False,
    ) -> NewSession:
        """Return a session that investigates `incident`; `trigger` is the alert that led to it.

        Alerts that join the incident before the session starts are read when it starts. `chain` saves resolving the incident's chain again.
        Its stages that act are left out, unless a route or a person chose the chain: what a sender writes never leads to an action.

        Raises:
            UnknownAlertTypeError: its alert type has no chain any more.
            NoProviderError: there is no model to investigate with.
        """
        chain = chain or self.submissions.chains.resolve(incident.alert_type, None)
        route = next((route for route in self.routes if route.name == incident.route), None)
        if not by_person and not (route and route.alert_type == incident.alert_type):
            left_out = tuple(stage.name for stage in chain.acting)
            chain = chain.model_copy(update={"stages": chain.investigating, "acting_left_out": left_out})
        chain = with_labelled_servers(chain, trigger.alert, incident.route, self.routes, self.server)
        return NewSession(
            id=session_id,
            alert_data=incident_text(incident, [trigger]),
            alert_type=incident.alert_type,
            chain_id=chain.chain_id,
            chain_snapshot=chain.model_dump(mode="json"),
            author=author,
            nonce=new_nonce(),
            runbook_url=runbook_url,
            runbook=runbook,
            incident_id=incident.id,
            created_at=now,
        )


def with_labelled_servers(
    chain: ResolvedChain, alert: Alert, route_name: str, routes: Sequence[Route], server: Callable[[str], ResolvedMcpServer]
) -> ResolvedChain:
    """Return `chain` with the tool servers that the alert's labels choose among the variants of its route."""
    route = next((route for route in routes if route.name == route_name), None)
    if route is None:
        return chain
    chosen, absent = labelled_servers(alert, route)
    return with_variants(chain, chosen, absent, server)


def labelled_servers(alert: Alert, route: Route) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variants that the alert's labels choose, and why a server has none, by the name of the server that they replace."""
    chosen: dict[str, str] = {}
    absent: dict[str, str] = {}
    for variants in route.tool_servers:
        value = alert.labels.get(variants.label, "")
        if value in variants.by_value:
            chosen[variants.server] = variants.by_value[value]
            continue
        label = f'says "{clip(value, MAX_SHOWN_VALUE)}"' if value else "is missing"
        known = ", ".join(f"{value} ({name})" for value, name in variants.by_value.items())
        # People and agents read this. The label's value is the sender's, and untrusted.
        absent[variants.server] = (
            f'Tool server "{variants.server}" was left out: the alert\'s label "{variants.label}" {label}, and it has variants only for {known}. '
            "Which place the alert speaks of is not known; what other places show proves nothing about it."
        )
    return chosen, absent
