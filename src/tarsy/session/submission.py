"""The way in: an alert is checked, masked, given its chain as configured at this moment, and stored as a pending session."""

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

import structlog
from anyio import to_thread

from tarsy.agent.ports import Mask
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.schema.configuration import vendor_variables, ways_to_a_model
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.llm import ProviderType
from tarsy.domain.session import MAX_ALERT_BYTES, NewSession
from tarsy.kit.clock import Clock, SystemClock
from tarsy.kit.text import in_thread_if_long
from tarsy.session.chains import AlertRefusedError, ChainSource
from tarsy.session.runbook import RunbookSource

log = structlog.get_logger(__name__)

# Long enough for any address a person would paste.
MAX_RUNBOOK_URL = 2048
# An arbitrary name space of our own.
_KEYED = UUID("5f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class AlertTooLargeError(AlertRefusedError):
    def __init__(self, size: int) -> None:
        super().__init__(f"The alert has {size} bytes; at most {MAX_ALERT_BYTES} are taken. Send the part that matters.")


class AlertNotRecordedError(AlertRefusedError):
    """The chain's model is a recording of another alert: what it says would be about that one."""

    def __init__(self, alert_type: str) -> None:
        super().__init__(
            f'The model for the alert type "{alert_type}" is a recording and knows one alert, which is not this one: send that '
            f"(GET /api/v1/samples and `tarsy demo` have those of the samples), or let a model investigate. {ways_to_a_model(vendor_variables())}."
        )


class SessionStore(Protocol):
    async def insert(self, session: NewSession, *, max_queue_size: int | None) -> None: ...

    async def submitted(self, session_id: str) -> tuple[str, str] | None:
        """The type and the text of a session's alert; None if there is no such session."""
        ...


class KeyReusedError(AlertRefusedError):
    def __init__(self) -> None:
        super().__init__("This Idempotency-Key was used for another alert. Use a new key for a new alert.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """An alert as it was sent."""

    data: str
    author: str
    # None: the configured default.
    alert_type: str | None = None
    runbook_url: str | None = None
    selection: McpSelection | None = None
    # Lowers the ceilings of the chain; it cannot raise them.
    budget: Ceiling = UNLIMITED
    # Names the request, if its sender wants to be able to send it again.
    idempotency_key: str | None = None


def takes_any(_chain: ResolvedChain) -> None:
    """No model of this chain was recorded on an alert."""


def _is_recorded(chain: ResolvedChain) -> bool:
    return any(agent.provider.type is ProviderType.REPLAY for stage in chain.stages for agent in stage.agents)


def same_alert(one: str, other: str) -> bool:
    """Whether two texts are one alert: the same JSON, however it is laid out, or the same text."""
    try:
        return json.loads(one) == json.loads(other)
    except (ValueError, RecursionError):
        return one.split() == other.split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    chains: ChainSource
    store: SessionStore
    mask: Mask
    default_alert_type: str
    # The alert that the models of a chain were recorded on; None: they take any.
    recorded_alert: Callable[[ResolvedChain], str | None] = takes_any
    max_queue_size: int | None = None
    runbooks: RunbookSource = field(default_factory=RunbookSource)
    clock: Clock = field(default_factory=SystemClock)
    # Chains as they are stored with a session, the newest of each name: most alerts of a type are given the same.
    _snapshots: dict[str, tuple[ResolvedChain, dict[str, Any]]] = field(
        default_factory=dict[str, tuple[ResolvedChain, dict[str, Any]]], init=False, compare=False
    )

    async def submit(self, submission: Submission) -> str:
        """Store an alert for investigation and return its session's id.

        Raises:
            AlertRefusedError: it is empty, too large, of an unknown type, or holds what cannot be stored; or the model is a recording of another.
            SelectionError: its choice of tools cannot be met.
            NoProviderError: there is no model to investigate with.
            QueueFullError: too many sessions wait.
        """
        check_text(submission)
        alert_type = submission.alert_type or self.default_alert_type
        masked = await in_thread_if_long(self.mask, submission.data)
        session_id = _session_id(submission)
        if submission.idempotency_key and await self._was_submitted(session_id, alert_type, masked):
            return session_id
        chain = _within(await self.chain_for(alert_type, masked, submission.selection), submission.budget)
        session = NewSession(
            id=session_id,
            alert_data=masked,
            alert_type=alert_type,
            chain_id=chain.chain_id,
            chain_snapshot=self._snapshot(chain),
            author=submission.author,
            nonce=new_nonce(),
            runbook_url=self.mask(submission.runbook_url) if submission.runbook_url else None,
            runbook=await self.secret_runbook(submission.runbook_url),
            mcp_selection=submission.selection.model_dump(mode="json", exclude_none=True) if submission.selection else None,
            created_at=self.clock.now(),
        )
        await self.store.insert(session, max_queue_size=self.max_queue_size)
        if submission.idempotency_key:
            # One with the same key may have come first.
            await self._was_submitted(session_id, alert_type, masked)
        log.info("session.submitted", session_id=session.id, alert_type=alert_type, chain_id=chain.chain_id, author=session.author)
        return session.id

    def _snapshot(self, chain: ResolvedChain) -> dict[str, Any]:
        known = self._snapshots.get(chain.chain_id)
        if known is None or known[0] is not chain:
            known = self._snapshots[chain.chain_id] = (chain, chain.model_dump(mode="json"))
        return known[1]

    async def _was_submitted(self, session_id: str, alert_type: str, masked: str) -> bool:
        before = await self.store.submitted(session_id)
        if before is not None and before != (alert_type, masked):
            raise KeyReusedError
        return before is not None

    async def chain_for(self, alert_type: str, masked: str, selection: McpSelection | None = None) -> ResolvedChain:
        """The chain that investigates an alert of this type.

        Raises:
            AlertRefusedError: there is none, or its model is a recording of another alert.
            SelectionError: the choice of tools cannot be met.
            NoProviderError: there is no model to investigate with.
        """
        chain = self.chains.resolve(alert_type, selection)
        await self._check_recorded(chain, masked, alert_type)
        return chain

    async def _check_recorded(self, chain: ResolvedChain, masked: str, alert_type: str) -> None:
        recorded = await to_thread.run_sync(self.recorded_alert, chain) if _is_recorded(chain) else None
        if recorded is not None and not same_alert(masked, await in_thread_if_long(self.mask, recorded)):
            raise AlertNotRecordedError(alert_type)

    async def secret_runbook(self, url: str | None) -> str | None:
        """The runbook behind an address that holds a token. It is fetched now: stored without its token, the address leads nowhere."""
        if not url or self.mask(url) == url:
            return None
        fetched = await self.runbooks.fetch(url, default="")
        return await in_thread_if_long(self.mask, fetched.text) if fetched.source else None


def _within(chain: ResolvedChain, budget: Ceiling) -> ResolvedChain:
    """The chain with its ceilings lowered to those of an alert, if they are any lower."""
    if budget == UNLIMITED:
        return chain
    lowered = chain.budget.lowered(budget)
    return chain if lowered == chain.budget else chain.model_copy(update={"budget": lowered})


def _session_id(submission: Submission) -> str:
    """A new id; for a request with a key, the same again whenever the same caller sends it."""
    if submission.idempotency_key is None:
        return str(uuid4())
    return str(uuid5(_KEYED, json.dumps([submission.author, submission.idempotency_key])))


def new_nonce() -> str:
    """What seeds a session's fences around untrusted text."""
    return secrets.token_hex(16)


def check_text(submission: Submission) -> None:
    """Refuse what could not be investigated or stored.

    Raises:
        AlertRefusedError: saying why.
    """
    if not submission.data.strip():
        raise AlertRefusedError("The alert is empty.")
    _check_storable("alert", submission.data)
    _check_storable("alert type", submission.alert_type or "")
    size = len(submission.data.encode())
    if size > MAX_ALERT_BYTES:
        raise AlertTooLargeError(size)
    if submission.runbook_url is not None:
        _check_runbook(submission.runbook_url)


def _check_storable(name: str, text: str) -> None:
    if not is_storable(text):
        raise AlertRefusedError(f"The {name} contains a NUL character or half a surrogate pair: text must not; encode binary data first.")


def is_storable(text: str) -> bool:
    """Whether `text` is proper Unicode without NUL: what PostgreSQL, and every encoder, calls text."""
    return _UNSTORABLE.search(text) is None


def _check_runbook(url: str) -> None:
    try:
        parts = urlsplit(url)
        complete = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        complete = False
    if not complete or len(url) > MAX_RUNBOOK_URL or not is_storable(url) or any(character.isspace() for character in url):
        raise AlertRefusedError("The runbook must be a complete http or https address.")
