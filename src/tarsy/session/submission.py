"""Submitting an alert: it is validated, masked, given its chain as configured now, and stored as a pending session."""

import json
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

import structlog
from anyio import to_thread

from tarsy.agent.ports import Mask
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.schema.configuration import model_setup_hint, vendor_variables
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.budget import UNLIMITED, Ceiling
from tarsy.domain.llm import ProviderType
from tarsy.domain.session import MAX_ALERT_BYTES, NewSession, SlackThread
from tarsy.domain.status import SessionStatus
from tarsy.kit.clock import Clock, SystemClock
from tarsy.kit.text import in_thread_if_long
from tarsy.session.chains import AlertRefusedError, ChainSource
from tarsy.session.ports import SessionStore
from tarsy.session.runbook import RunbookSource

log = structlog.get_logger(__name__)

# Long enough for any address a person would paste.
MAX_RUNBOOK_URL = 2048
# An arbitrary name space of our own.
_KEY_NAMESPACE = UUID("5f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class AlertTooLargeError(AlertRefusedError):
    def __init__(self, size: int, limit: int = MAX_ALERT_BYTES) -> None:
        super().__init__(f"The alert has {size} bytes; the limit is {limit}. Send only the relevant part.")


class AlertNotRecordedError(AlertRefusedError):
    """The chain's model is a recording of another alert: its answers would be about that one."""

    def __init__(self, alert_type: str) -> None:
        super().__init__(
            f'The model for the alert type "{alert_type}" is a recording and knows one alert, which is not this one: send that '
            f"(GET /api/v1/samples and `tarsy demo` have those of the samples), or let a model investigate. {model_setup_hint(vendor_variables())}."
        )


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
    # A text that the alert's own message in Slack contains.
    slack_message_fingerprint: str | None = None
    # Where it was asked for, if in Slack.
    slack_thread: SlackThread | None = None


@dataclass(frozen=True, slots=True)
class Submitted:
    """The session of a submission. It may have ended already if the submission was sent before."""

    session_id: str
    status: SessionStatus = SessionStatus.PENDING


def keyed_session_id(author: str, key: str) -> str:
    """Return the id of the session of a request with an idempotency key: the same whenever the same caller sends it."""
    return str(uuid5(_KEY_NAMESPACE, json.dumps([author, key])))


def same_alert(one: str, other: str) -> bool:
    """Whether two texts are one alert: the same JSON, however it is laid out, or the same text."""
    try:
        return json.loads(one) == json.loads(other)
    except (ValueError, RecursionError):
        return one.split() == other.split()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionService:
    chains: ChainSource
    store: SessionStore
    mask: Mask
    default_alert_type: str
    # Returns the alert that the models of a chain were recorded on; None if they take any.
    recorded_alert: Callable[[ResolvedChain], str | None] = lambda _chain: None
    runbooks: RunbookSource = field(default_factory=RunbookSource)
    clock: Clock = field(default_factory=SystemClock)

    async def submit(self, submission: Submission) -> Submitted:
        """Store an alert for investigation and return its session.

        If a submission with the same author and idempotency key was stored before, return the session of that one.

        Raises:
            KeyReusedError: the earlier submission with its idempotency key was of another alert or alert type.
            AlertRefusedError: it is empty, too large, of an unknown type, or not storable; or the model is a recording of another alert.
            SelectionError: its choice of tools cannot be met.
            NoProviderError: there is no model to investigate with.
            QueueFullError: too many sessions are pending.
        """
        check_text(submission)
        alert_type = submission.alert_type or self.default_alert_type
        masked = await in_thread_if_long(self.mask, submission.data)
        key = submission.idempotency_key
        session_id = str(uuid4()) if key is None else keyed_session_id(submission.author, key)
        if key is not None and (before := await self._submitted_before(session_id, alert_type, masked)):
            return before
        chain = await self.chain_for(alert_type, [masked], submission.selection)
        chain = chain.model_copy(update={"budget": chain.budget.lowered(submission.budget)})
        session = NewSession(
            id=session_id,
            alert_data=masked,
            alert_type=alert_type,
            chain_id=chain.chain_id,
            chain_snapshot=chain.model_dump(mode="json"),
            author=submission.author,
            nonce=new_nonce(),
            runbook_url=self.mask(submission.runbook_url) if submission.runbook_url else None,
            runbook=await self.prefetch_runbook(submission.runbook_url),
            mcp_selection=submission.selection.model_dump(mode="json", exclude_none=True) if submission.selection else None,
            slack_message_fingerprint=self.mask(submission.slack_message_fingerprint or "") or None,
            slack_thread=submission.slack_thread,
            created_at=self.clock.now(),
        )
        await self.store.insert(session)
        # A request with the same key may have been stored first.
        before = None if key is None else await self._submitted_before(session_id, alert_type, masked)
        log.info("session.submitted", session_id=session.id, alert_type=alert_type, chain_id=chain.chain_id, author=session.author)
        return before or Submitted(session_id)

    async def _submitted_before(self, session_id: str, alert_type: str, masked: str) -> Submitted | None:
        found = await self.store.submitted(session_id)
        if found is None:
            return None
        own_type, own_text, status = found
        if (own_type, own_text) != (alert_type, masked):
            raise KeyReusedError
        return Submitted(session_id, status)

    async def chain_for(self, alert_type: str, masked: Sequence[str], selection: McpSelection | None = None) -> ResolvedChain:
        """Return the chain that investigates alerts of this type, with these masked texts.

        Raises:
            AlertRefusedError: there is none, or its model is a recording of another alert than one of them.
            SelectionError: the choice of tools cannot be met.
            NoProviderError: there is no model to investigate with.
        """
        chain = self.chains.resolve(alert_type, selection)
        is_recording = any(agent.provider.type is ProviderType.REPLAY for stage in chain.stages for agent in stage.agents)
        recorded = await to_thread.run_sync(self.recorded_alert, chain) if is_recording else None
        if recorded is not None:
            known = await in_thread_if_long(self.mask, recorded)
            if not all(same_alert(one, known) for one in masked):
                raise AlertNotRecordedError(alert_type)
        return chain

    async def prefetch_runbook(self, url: str | None) -> str | None:
        """Return the masked runbook behind an address that contains a secret, which is stored without it, so that it cannot be fetched later.

        None if the address contains no secret, or the runbook could not be fetched.
        """
        if not url or self.mask(url) == url:
            return None
        fetched = await self.runbooks.fetch(url, default="")
        return await in_thread_if_long(self.mask, fetched.text) if fetched.source else None


def new_nonce() -> str:
    """Return a seed for the fences around untrusted text."""
    return secrets.token_hex(16)


def check_text(submission: Submission) -> None:
    """Check that an alert can be investigated and stored.

    Raises:
        AlertRefusedError: saying why.
    """
    if not submission.data.strip():
        raise AlertRefusedError("The alert is empty.")
    _check_storable("alert", submission.data)
    _check_storable("alert type", submission.alert_type or "")
    _check_storable("fingerprint of the message", submission.slack_message_fingerprint or "")
    size = len(submission.data.encode())
    if size > MAX_ALERT_BYTES:
        raise AlertTooLargeError(size)
    check_runbook_url(submission.runbook_url)


def check_runbook_url(url: str | None) -> None:
    """Check that a runbook's address, if there is one, is complete.

    Raises:
        AlertRefusedError: it is not.
    """
    if url is None:
        return
    try:
        parts = urlsplit(url)
        complete = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        complete = False
    if not complete or len(url) > MAX_RUNBOOK_URL or not is_storable(url) or any(character.isspace() for character in url):
        raise AlertRefusedError("The runbook must be a complete http or https address.")


def _check_storable(name: str, text: str) -> None:
    if not is_storable(text):
        raise AlertRefusedError(f"The {name} contains a NUL character or half a surrogate pair: text must not; encode binary data first.")


def is_storable(text: str) -> bool:
    """Whether `text` is valid Unicode without NUL, as PostgreSQL and every encoder require."""
    return _UNSTORABLE.search(text) is None
