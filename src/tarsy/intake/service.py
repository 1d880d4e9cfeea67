"""The reception: a request is read, its sender is asked who it is, SNS's handshake is answered, and what it says goes to the door."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self

import structlog
from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.intake.acceptance import Door, Incoming, IntakeWatch, Unwatched
from tarsy.intake.adapters.cloudwatch import SOURCE as CLOUDWATCH
from tarsy.intake.adapters.registry import deliver, recognise
from tarsy.intake.answer import Taken
from tarsy.intake.authentication import Presented, Refusal, check_sender, check_sns
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.delivery import Received, receive
from tarsy.intake.investigations import Investigations, LabelledServers
from tarsy.intake.maintenance import IncidentUpkeep
from tarsy.intake.policy import Policy
from tarsy.intake.sns import ConfirmSubscription, LeaveUnconfirmed, SnsClient, answer_handshake, certificate_address, is_envelope
from tarsy.kit.clock import Clock, SystemClock
from tarsy.session.submission import Intake

log = structlog.get_logger(__name__)

# Sources come from addresses, which strangers can make up: refusals are told by source for so many, and in one sum for the rest.
MAX_COUNTED_SOURCES = 100
OTHER_SOURCES = "others"


class SenderRefusedError(Exception):
    """A request does not prove that it is its sender's; the operator or the sender can act."""

    def __init__(self, source: str, refusal: Refusal) -> None:
        super().__init__(f"Not taken as coming from {source}: {refusal.told}.")
        self.source = source
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request at the webhook. `author` is who the API takes the caller for; None if it does not know."""

    body: bytes
    text: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    # The sender that the address names.
    source: str | None
    author: str | None
    alert_type: str | None = None
    runbook_url: str | None = None


@dataclass(slots=True)
class Refusals:
    """How many requests were refused, by source and reason, and when the last of each was."""

    counts: Counter[tuple[str, Refusal]] = field(default_factory=Counter[tuple[str, Refusal]])
    last: dict[tuple[str, Refusal], datetime] = field(default_factory=dict[tuple[str, Refusal], datetime])

    def count(self, source: str, refusal: Refusal, now: datetime) -> None:
        known = {counted for counted, _ in self.counts}
        key = (source if source in known or len(known) < MAX_COUNTED_SOURCES else OTHER_SOURCES, refusal)
        self.counts[key] += 1
        self.last[key] = now


@dataclass(slots=True)
class Reception:
    door: Door
    policy: Callable[[], Policy]
    sns: SnsClient = field(default_factory=SnsClient)
    clock: Clock = field(default_factory=SystemClock)
    refusals: Refusals = field(default_factory=Refusals)

    async def admit(self, visit: Visit) -> Taken:
        """Take what a request says.

        Raises:
            SenderRefusedError: it does not prove that it is its sender's.
            AlertRefusedError: an alert is of a type that no chain answers.
            NoProviderError: there is no model to investigate with.
        """
        received = receive(visit.text, visit.headers)
        source = visit.source or self._recognised(received)
        author = await self._author(visit, received, source)
        delivery = deliver(received, visit.source, self.policy().mappings)
        incoming = Incoming(delivery=delivery, author=author, alert_type=visit.alert_type, runbook_url=visit.runbook_url)
        await self._shake_hands(source, received)
        return await self.door.take(incoming)

    def _recognised(self, received: Received) -> str | None:
        adapter = recognise(received)
        return adapter.source if adapter else None

    async def _author(self, visit: Visit, received: Received, source: str | None) -> str:
        """Who the request is from: the sender, where it can prove that, else the caller."""
        refusal = await self._refusal(visit, received, source)
        if refusal is None:
            return visit.author or source or "webhook"
        told = source or "webhook"
        self.refusals.count(told, refusal, self.clock.now())
        self.door.watch.refused(told, refusal.value)
        log.warning("webhook.refused", source=told, reason=refusal.value)
        raise SenderRefusedError(told, refusal)

    async def _refusal(self, visit: Visit, received: Received, source: str | None) -> Refusal | None:
        policy, now = self.policy(), self.clock.now()
        if source and source in policy.topics and is_envelope(received.body):
            return await self._sns_refusal(received, policy.topics[source], now)
        if source and source in policy.proofs:
            return check_sender(policy.proofs[source], Presented(body=visit.body, headers=visit.headers, query=visit.query), now=now)
        return None if visit.author else Refusal.MISSING

    async def _sns_refusal(self, received: Received, topics: tuple[str, ...], now: datetime) -> Refusal | None:
        address = certificate_address(received.body)
        certificate = await self.sns.certificate(address) if address else None
        return check_sns(received.body, certificate, topics, now=now) if certificate else Refusal.WRONG

    async def _shake_hands(self, source: str | None, received: Received) -> None:
        """Confirm a subscription, if SNS has signed for a topic that the operator named."""
        if source != CLOUDWATCH and source not in self.policy().topics:
            return
        answer = answer_handshake(received.body, self.policy().topics.get(source or "", ()))
        match answer:
            case ConfirmSubscription():
                await self.sns.confirm(answer)
            case LeaveUnconfirmed():
                log.warning("sns.subscription_left", reason=answer.reason)
            case None:
                pass


@dataclass(frozen=True, slots=True)
class Desk:
    """`reception` is for senders, `commands` for people, `upkeep` for the passing of time."""

    reception: Reception
    commands: IncidentCommands
    upkeep: IncidentUpkeep

    @classmethod
    def on(
        cls,
        engine: AsyncEngine,
        policy: Callable[[], Policy],
        intake: Intake,
        server: Callable[[str], ResolvedMcpServer],
        *,
        clock: Clock | None = None,
        sns: SnsClient | None = None,
        watch: IntakeWatch | None = None,
    ) -> Self:
        """`server` finds a tool server by its name."""
        clock = clock or SystemClock()
        investigations = Investigations(intake, LabelledServers(lambda: policy().routes, server))
        commands = IncidentCommands(engine, policy, investigations, clock)
        door = Door(engine, policy, investigations, intake.mask, clock, watch or Unwatched())
        return cls(Reception(door, policy, sns or SnsClient(), clock), commands, IncidentUpkeep(engine, policy, commands))
