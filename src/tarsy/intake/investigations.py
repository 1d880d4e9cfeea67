"""Pure module: an investigation's tool servers, where a label of its alert chooses among variants that the operator allows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.config.resolve.resolved import ResolvedChain, ResolvedMcpServer
from tarsy.config.resolve.resolver import with_variants
from tarsy.db.incident.investigations import WantedLook
from tarsy.domain.alert import Alert
from tarsy.domain.incident import Incident, Member, incident_text
from tarsy.domain.session import NewSession
from tarsy.intake.decision import Look
from tarsy.intake.policy import Route, UnknownVariant
from tarsy.kit.text import clip
from tarsy.session.submission import Intake, new_nonce

# Names of clusters and regions are shorter.
MAX_SHOWN_VALUE = 60


@dataclass(frozen=True, slots=True)
class LabelledServers:
    routes: Callable[[], Sequence[Route]]
    # Finds a tool server by its name.
    server: Callable[[str], ResolvedMcpServer]

    def chosen_for(self, alert: Alert, route_name: str, chain: ResolvedChain) -> ResolvedChain:
        """`chain` with the tool servers that the alert's labels choose."""
        route = next((route for route in self.routes() if route.name == route_name), None)
        if route is None:
            return chain
        chosen, unknown = route.servers_for(alert)
        return with_variants(chain, chosen, {one.variants.server: why_absent(one) for one in unknown}, self.server)


def why_absent(unknown: UnknownVariant) -> str:
    """For agents, who read it as what a sender may have written, and for people."""
    variants = unknown.variants
    said = f'says "{clip(unknown.value, MAX_SHOWN_VALUE)}"' if unknown.value else "is missing"
    known = ", ".join(f"{value} ({server})" for value, server in variants.by_value.items())
    return (
        f'Tool server "{variants.server}" was left out: the alert\'s label "{variants.label}" {said}, and it has variants only for {known}. '
        "Which place the alert speaks of is not known; what other places show proves nothing about it."
    )


Chains = Mapping[str, ResolvedChain]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """An investigation that is wanted."""

    session_id: str
    look: Look
    author: str
    runbook_url: str | None = None
    # Its text, where it was fetched already.
    runbook: str | None = None


@dataclass(frozen=True, slots=True)
class Investigations:
    intake: Intake
    servers: LabelledServers

    @property
    def max_queue_size(self) -> int | None:
        return self.intake.max_queue_size

    async def chains_for(self, wanted: Mapping[str, str]) -> Chains:
        """The chain for each alert type, which is given with an alert of it.

        Raises:
            AlertRefusedError: a type has none, or its model is a recording of another alert.
            NoProviderError: there is no model to investigate with.
        """
        return {alert_type: await self.intake.chain_for(alert_type, masked) for alert_type, masked in wanted.items()}

    async def asked_runbook(self, url: str | None) -> tuple[str | None, str | None]:
        """The runbook that a request asks for, as it is stored, and its text if its address holds a secret."""
        return (self.intake.mask(url), await self.intake.secret_runbook(url)) if url else (None, None)

    async def runbook_of(self, alert: Alert) -> str | None:
        """The runbook that an alert links to, if it may be fetched and its address holds no secret."""
        url = alert.links.runbook
        return url if url and await self.intake.runbooks.allows(url) and self.intake.mask(url) == url else None

    def of(self, incident: Incident, told: Member, wanted: Request, chains: Chains, now: datetime) -> WantedLook:
        """An investigation of an incident; `told` is the alert that gave rise to it. What joins before it begins is told when it does.

        Raises:
            UnknownAlertTypeError: its alert type has no chain any more.
            NoProviderError: there is no model to investigate with.
        """
        chain = chains.get(incident.alert_type) or self.intake.chains.resolve(incident.alert_type, None)
        chain = self.servers.chosen_for(told.alert, incident.route, chain)
        session = NewSession(
            id=wanted.session_id,
            alert_data=incident_text(incident, [told]),
            alert_type=incident.alert_type,
            chain_id=chain.chain_id,
            chain_snapshot=chain.model_dump(mode="json"),
            author=wanted.author,
            nonce=new_nonce(),
            runbook_url=wanted.runbook_url,
            runbook=wanted.runbook,
            incident_id=incident.id,
            created_at=now,
        )
        return WantedLook(session, wanted.look.priority, wanted.look.at)
