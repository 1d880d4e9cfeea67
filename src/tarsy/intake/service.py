"""The incident service: receives webhook requests, and holds the commands of people and the maintenance of incidents."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import structlog
from anyio import to_thread

from tarsy.config.problems import nearest
from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.db.incident.refusals import RefusalRepository
from tarsy.db.outbox import Publisher
from tarsy.db.session.admission import Admission
from tarsy.domain.session import MAX_ALERT_BYTES
from tarsy.intake.acceptance import AlertAcceptance, DeliveryMetrics, NoMetrics
from tarsy.intake.adapters.cloudwatch import SOURCE as CLOUDWATCH
from tarsy.intake.adapters.registry import ADAPTERS, UNKNOWN_SOURCE, matching_adapter, parse_delivery
from tarsy.intake.answer import Answer
from tarsy.intake.authentication import Refusal, check_sender, check_sns
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.delivery import RequestHead, parse_request
from tarsy.intake.fields import QUICK_CHARACTERS, Fields
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
        publisher: Publisher,
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
        commands = IncidentCommands(publisher, policy, investigations, admission, clock)
        acceptance = AlertAcceptance(publisher, policy, investigations, admission, submissions.mask, clock, metrics)
        return cls(
            policy=policy,
            acceptance=acceptance,
            commands=commands,
            maintenance=IncidentMaintenance(publisher, policy, commands, acceptance),
            sns=sns or SnsClient(),
            clock=clock,
            refusals=Refusals(RefusalRepository(publisher.engine), metrics),
        )

    def body_limit(self, head: RequestHead) -> int:
        """Return how many bytes of a request's body are read: strangers do not choose how much memory a request takes.

        Raises:
            SenderRefusedError: its head alone shows that it does not come from the sender that its URL names.
        """
        refusal = self._refusal(head.source, head, None)
        if refusal and self._can_check_before_parsing(head):
            raise SenderRefusedError(head.source or UNKNOWN_SOURCE, refusal)
        return MAX_ALERT_BYTES if refusal else self.policy.max_body_bytes

    async def receive(self, head: RequestHead, body: bytes, text: str) -> Answer:
        """Authenticate a webhook request, read its alerts and changes, and store them. `text` is its decoded `body`.

        Raises:
            SenderRefusedError: the request does not prove that it comes from its sender.
            CertificateUnavailableError: the certificate of SNS cannot be fetched now; SNS should try again.
            UnknownSenderError: its sender's name is a misspelt one, and the body is of no known shape.
            TooManyValuesError: it is JSON of more values than are read.
            AlertRefusedError: an alert's type has no chain, or its model is a recording of another alert.
            NoProviderError: there is no model to investigate with.
        """
        named, checks_early, is_long = head.source, self._can_check_before_parsing(head), len(text) > QUICK_CHARACTERS
        if checks_early:
            self._authenticate(named, head, body)
        # Reading thousands of alerts would block the event loop.
        parse = partial(parse_request, text, head.headers)
        request = await to_thread.run_sync(parse) if is_long else parse()
        is_known = self._is_known(named)
        adapter = None if is_known else matching_adapter(request)
        source = adapter.source if adapter else named
        if named and not is_known and not adapter and (near := nearest(named, {*ADAPTERS, *self.policy.senders}, cutoff=MISSPELT)):
            raise UnknownSenderError(named, near)
        if source and source in self.policy.topics and is_envelope(request.body):
            await self._require_sns(source, request.body)
        elif not checks_early:
            self._authenticate(source, head, body)
        read = partial(parse_delivery, request, named, self.policy.mappings)
        delivery = await to_thread.run_sync(read) if is_long else read()
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
        author = head.author or source or UNKNOWN_SOURCE
        return await self.acceptance.accept(delivery, author=author, alert_type=head.alert_type, runbook_url=head.runbook_url)

    def _is_known(self, source: str | None) -> bool:
        return source in ADAPTERS or source in self.policy.senders

    def _can_check_before_parsing(self, head: RequestHead) -> bool:
        """Return whether headers and raw body suffice to authenticate: the URL names a known sender, and not one with topics of SNS."""
        return self._is_known(head.source) and head.source not in self.policy.topics

    def _authenticate(self, source: str | None, head: RequestHead, body: bytes | None) -> None:
        if refusal := self._refusal(source, head, body):
            raise SenderRefusedError(source or UNKNOWN_SOURCE, refusal)

    def _refusal(self, source: str | None, head: RequestHead, body: bytes | None) -> Refusal | None:
        """Return why the request is not accepted as its sender's, or None if it is; without its body, as far as its head shows."""
        if source and source in self.policy.credentials:
            return check_sender(self.policy.credentials[source], head, body, now=self.clock.now())
        return None if head.author else Refusal.MISSING

    async def _require_sns(self, source: str, body: Fields) -> None:
        now = self.clock.now()
        if refusal := check_sns(body, self.policy.topics[source], now=now):
            raise SenderRefusedError(source, refusal)
        certificate = await self.sns.certificate(certificate_address(body) or "")
        if not certificate or not is_signed(body, certificate, now=now):
            raise SenderRefusedError(source, Refusal.WRONG)
