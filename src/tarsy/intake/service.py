"""The incident service: receives webhook requests, and holds the commands of people and the maintenance of incidents."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import structlog
from anyio import to_thread
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.config.problems import nearest
from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.db.incident.refusals import RefusalRepository
from tarsy.db.session.admission import Admission
from tarsy.intake.acceptance import AlertAcceptance, DeliveryMetrics, NoMetrics
from tarsy.intake.adapters.cloudwatch import SOURCE as CLOUDWATCH
from tarsy.intake.adapters.registry import ADAPTERS, UNKNOWN_SOURCE, matching_adapter, parse_delivery
from tarsy.intake.answer import Answer
from tarsy.intake.authentication import Refusal, check_sender, check_sns
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.delivery import WebhookRequest
from tarsy.intake.fields import QUICK_CHARACTERS
from tarsy.intake.investigations import Investigations
from tarsy.intake.maintenance import IncidentMaintenance
from tarsy.intake.policy import Policy
from tarsy.intake.refusals import Refusals
from tarsy.intake.sns import ConfirmSubscription, LeaveUnconfirmed, SnsClient, answer_handshake, certificate_address, is_envelope, is_signed
from tarsy.kit.clock import Clock, SystemClock
from tarsy.session.submission import SubmissionService

log = structlog.get_logger(__name__)

# One or two letters in a name; "grafana-eu" is another sender than "grafana".
MISSPELT = 0.85


class SenderRefusedError(Exception):
    """A request does not prove that it comes from its sender; the operator or the sender can act."""

    def __init__(self, source: str, refusal: Refusal) -> None:
        super().__init__(f"Refused as a request from {source}: {refusal.message}.")
        self.source = source
        self.refusal = refusal


class UnknownSenderError(Exception):
    """The URL names a sender that is probably a misspelt one; the operator can act."""

    def __init__(self, source: str, near: str) -> None:
        super().__init__(f'There is no sender "{source}": did you mean "{near}"? If this is its name, add it to `senders` in tarsy.yaml.')


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentService:
    policy: Policy
    acceptance: AlertAcceptance
    commands: IncidentCommands
    maintenance: IncidentMaintenance
    sns: SnsClient
    clock: Clock
    refusals: Refusals

    @classmethod
    def build(
        cls,
        engine: AsyncEngine,
        policy: Policy,
        submissions: SubmissionService,
        admission: Admission,
        server: Callable[[str], ResolvedMcpServer],
        *,
        sns: SnsClient | None = None,
        metrics: DeliveryMetrics | None = None,
    ) -> Self:
        """Build the service and its parts; `server` returns the tool server of a name."""
        clock, metrics = SystemClock(), metrics or NoMetrics()
        investigations = Investigations(submissions, policy.routes, server)
        commands = IncidentCommands(engine, policy, investigations, admission, clock)
        acceptance = AlertAcceptance(engine, policy, investigations, admission, submissions.mask, clock, metrics)
        return cls(
            policy=policy,
            acceptance=acceptance,
            commands=commands,
            maintenance=IncidentMaintenance(engine, policy, commands, acceptance),
            sns=sns or SnsClient(),
            clock=clock,
            refusals=Refusals(RefusalRepository(engine), metrics),
        )

    async def receive(self, request: WebhookRequest) -> Answer:
        """Authenticate a webhook request, read its alerts and changes, and store them.

        Raises:
            SenderRefusedError: the request does not prove that it comes from its sender.
            CertificateUnavailableError: the certificate of SNS cannot be fetched now; SNS should try again.
            UnknownSenderError: its sender's name is a misspelt one, and the body is of no known shape.
            AlertRefusedError: an alert's type has no chain.
            NoProviderError: there is no model to investigate with.
        """
        named = request.source
        is_known = named in ADAPTERS or named in self.policy.senders
        adapter = None if is_known else matching_adapter(request)
        source = adapter.source if adapter else named
        if named and not is_known and not adapter and (near := nearest(named, {*ADAPTERS, *self.policy.senders}, cutoff=MISSPELT)):
            raise UnknownSenderError(named, near)
        refusal = await self._refusal(request, source)
        if refusal:
            raise SenderRefusedError(source or UNKNOWN_SOURCE, refusal)
        # Reading thousands of alerts would block the event loop.
        read = partial(parse_delivery, request, request.source, self.policy.mappings)
        delivery = await to_thread.run_sync(read) if len(request.text) > QUICK_CHARACTERS else read()
        if named in self.policy.senders and delivery.source != named:
            delivery = replace(delivery, alerts=tuple(replace(alert, instance=named or "") for alert in delivery.alerts))
        # The request is authentic: a subscription to a configured topic can be confirmed.
        if source == CLOUDWATCH or source in self.policy.topics:
            match answer_handshake(request.body, self.policy.topics.get(source or "", ())):
                case ConfirmSubscription() as subscription:
                    await self.sns.confirm(subscription)
                case LeaveUnconfirmed(reason):
                    log.warning("sns.subscription_left", reason=reason)
                case None:
                    pass
        author = request.author or source or UNKNOWN_SOURCE
        return await self.acceptance.accept(delivery, author=author, alert_type=request.alert_type, runbook_url=request.runbook_url)

    async def _refusal(self, request: WebhookRequest, source: str | None) -> Refusal | None:
        """Return why the request is not accepted as its sender's; None if it is."""
        policy, now = self.policy, self.clock.now()
        if source and source in policy.topics and is_envelope(request.body):
            if refusal := check_sns(request.body, policy.topics[source], now=now):
                return refusal
            certificate = await self.sns.certificate(certificate_address(request.body) or "")
            return None if certificate and is_signed(request.body, certificate, now=now) else Refusal.WRONG
        if source and source in policy.proofs:
            return check_sender(policy.proofs[source], request, now=now)
        return None if request.author else Refusal.MISSING
