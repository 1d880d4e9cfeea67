"""Work claimed, let go of and taken back by hand, after the rules of its kind."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

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


async def take(engine: AsyncEngine, kind: WorkKind = INVESTIGATION, *, cap: int = 100) -> Claimed[Any] | None:
    """What a worker would have in hand next."""
    found = await WorkQueue(engine, pod_id="test").claim(RULES[kind], counted=[INVESTIGATION], max_concurrent_sessions=cap)
    return found[0] if found else None


async def claimed(engine: AsyncEngine, kind: WorkKind = INVESTIGATION, *, cap: int = 100) -> Claim:
    taken = await take(engine, kind, cap=cap)
    assert taken
    return taken.claim


async def release_claim(engine: AsyncEngine, claim: Claim, wish: Release) -> list[StoredLiveEvent]:
    return await WorkQueue(engine, pod_id="test").release(claim, wish)


async def take_back(engine: AsyncEngine, *, limit: int = MAX_RECOVERIES) -> tuple[list[Recovered], list[StoredLiveEvent]]:
    """A round of recovery."""
    return await Recovery(engine).run(silent_seconds=60, limits=dict.fromkeys(KINDS, limit))
