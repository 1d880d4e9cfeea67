"""The incident service: receives webhook requests, and holds the commands of people and the maintenance of incidents."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.intake.acceptance import AlertAcceptance, DeliveryMetrics, NoMetrics
from tarsy.intake.adapters.cloudwatch import SOURCE as CLOUDWATCH
from tarsy.intake.adapters.registry import matching_adapter, parse_delivery
from tarsy.intake.answer import Answer
from tarsy.intake.authentication import Refusal, check_sender, check_sns
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.delivery import WebhookRequest
from tarsy.intake.investigations import Investigations
from tarsy.intake.maintenance import IncidentMaintenance
from tarsy.intake.policy import Policy
from tarsy.intake.sns import ConfirmSubscription, LeaveUnconfirmed, SnsClient, answer_handshake, certificate_address, is_envelope
from tarsy.kit.clock import Clock, SystemClock
from tarsy.session.submission import SubmissionService

log = structlog.get_logger(__name__)

# A source is part of the URL, which anyone can make up: refusals are counted by source for so many, and under one name for the rest.
MAX_COUNTED_SOURCES = 100
OTHER_SOURCES = "others"


class SenderRefusedError(Exception):
    """A request does not prove that it comes from its sender; the operator or the sender can act."""

    def __init__(self, source: str, refusal: Refusal) -> None:
        super().__init__(f"Not taken as coming from {source}: {refusal.message}.")
        self.source = source
        self.refusal = refusal


@dataclass(slots=True)
class Refusals:
    """The number of refused requests by source and reason, and the time of the last one."""

    counts: Counter[tuple[str, Refusal]] = field(default_factory=Counter[tuple[str, Refusal]])
    last: dict[tuple[str, Refusal], datetime] = field(default_factory=dict[tuple[str, Refusal], datetime])

    def count(self, source: str, refusal: Refusal, now: datetime) -> None:
        known = {counted for counted, _ in self.counts}
        key = (source if source in known or len(known) < MAX_COUNTED_SOURCES else OTHER_SOURCES, refusal)
        self.counts[key] += 1
        self.last[key] = now


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentService:
    policy: Policy
    acceptance: AlertAcceptance
    commands: IncidentCommands
    maintenance: IncidentMaintenance
    sns: SnsClient
    clock: Clock
    refusals: Refusals = field(default_factory=Refusals)

    @classmethod
    def build(
        cls,
        engine: AsyncEngine,
        policy: Policy,
        submissions: SubmissionService,
        server: Callable[[str], ResolvedMcpServer],
        *,
        clock: Clock | None = None,
        sns: SnsClient | None = None,
        metrics: DeliveryMetrics | None = None,
    ) -> Self:
        """Build the service and its parts; `server` returns the tool server of a name."""
        clock = clock or SystemClock()
        investigations = Investigations(submissions, policy.routes, server)
        commands = IncidentCommands(engine, policy, investigations, clock)
        return cls(
            policy=policy,
            acceptance=AlertAcceptance(engine, policy, investigations, submissions.mask, clock, metrics or NoMetrics()),
            commands=commands,
            maintenance=IncidentMaintenance(engine, policy, commands),
            sns=sns or SnsClient(),
            clock=clock,
        )

    async def receive(self, request: WebhookRequest) -> Answer:
        """Authenticate a webhook request, read its alerts and changes, and store them.

        Raises:
            SenderRefusedError: the request does not prove that it comes from its sender.
            AlertRefusedError: an alert's type has no chain.
            NoProviderError: there is no model to investigate with.
        """
        adapter = None if request.source else matching_adapter(request)
        source = adapter.source if adapter else request.source
        refusal = await self._refusal(request, source)
        if refusal:
            name = source or "webhook"
            self.refusals.count(name, refusal, self.clock.now())
            self.acceptance.metrics.refused(name, refusal.value)
            log.warning("webhook.refused", source=name, reason=refusal.value)
            raise SenderRefusedError(name, refusal)
        delivery = parse_delivery(request, request.source, self.policy.mappings)
        # The request is authentic: a subscription to a configured topic can be confirmed.
        if source == CLOUDWATCH or source in self.policy.topics:
            match answer_handshake(request.body, self.policy.topics.get(source or "", ())):
                case ConfirmSubscription() as subscription:
                    await self.sns.confirm(subscription)
                case LeaveUnconfirmed(reason):
                    log.warning("sns.subscription_left", reason=reason)
                case None:
                    pass
        author = request.author or source or "webhook"
        return await self.acceptance.accept(delivery, author=author, alert_type=request.alert_type, runbook_url=request.runbook_url)

    async def _refusal(self, request: WebhookRequest, source: str | None) -> Refusal | None:
        """Return why the request is not accepted as its sender's; None if it is."""
        policy, now = self.policy, self.clock.now()
        if source and source in policy.topics and is_envelope(request.body):
            address = certificate_address(request.body)
            certificate = await self.sns.certificate(address) if address else None
            return check_sns(request.body, certificate, policy.topics[source], now=now) if certificate else Refusal.WRONG
        if source and source in policy.proofs:
            return check_sender(policy.proofs[source], request, now=now)
        return None if request.author else Refusal.MISSING
