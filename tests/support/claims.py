"""Work claimed, let go of and taken back by hand, after the rules of its kind."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.db.outbox import Publisher
from tarsy.db.retry import retrying
from tarsy.db.work.queue import WorkQueue
from tarsy.db.work.recovery import Recovery
from tarsy.domain.claim import INVESTIGATION, Claim, WorkKind
from tarsy.domain.live_events import StoredLiveEvent
from tarsy.domain.work import Claimed, Recovered, Release, WorkRules
from tarsy.session.executor import SessionExecutor
from tarsy.session.followup import CHAT_ANSWERS, SCORES

RULES: Mapping[WorkKind, WorkRules] = {rules.kind: rules for rules in (SessionExecutor.rules, CHAT_ANSWERS, SCORES)}
KINDS = tuple(RULES)
FOLLOW_UPS = (CHAT_ANSWERS.kind, SCORES.kind)
MAX_RECOVERIES = 3


async def claim_next(engine: AsyncEngine, rules: WorkRules, *, counted: Sequence[WorkKind] = (), cap: int = 100) -> Claimed[Any] | None:
    """Claim the first work by these rules, and as a worker does, again where the database ended the transaction because the machine stood still."""
    queue = WorkQueue(Publisher(engine), pod_id="test")
    return await retrying(lambda: queue.claim(rules, counted=counted, max_concurrent_sessions=cap))


async def take(engine: AsyncEngine, kind: WorkKind = INVESTIGATION, *, cap: int = 100) -> Claimed[Any] | None:
    """What a worker would have in hand next."""
    return await claim_next(engine, RULES[kind], counted=[INVESTIGATION], cap=cap)


async def claimed(engine: AsyncEngine, kind: WorkKind = INVESTIGATION, *, cap: int = 100) -> Claim:
    taken = await take(engine, kind, cap=cap)
    assert taken
    return taken.claim


async def release_claim(engine: AsyncEngine, claim: Claim, wanted: Release) -> list[StoredLiveEvent]:
    """Release a claim; return the events that were delivered."""
    delivered: list[StoredLiveEvent] = []
    await WorkQueue(Publisher(engine, delivered.extend), pod_id="test").release(claim, wanted)
    return delivered


async def take_back(engine: AsyncEngine, *, limit: int = MAX_RECOVERIES) -> tuple[list[Recovered], list[StoredLiveEvent]]:
    """A round of recovery; return also the events that were delivered."""
    delivered: list[StoredLiveEvent] = []
    return await Recovery(Publisher(engine, delivered.extend)).run(silent_seconds=60, limits=dict.fromkeys(KINDS, limit)), delivered
