"""The actions of a session, as people read them while it runs and afterwards."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.approvals import read_approvals
from tarsy.db.run.records import read_records, read_timelines
from tarsy.db.tables import stages, timeline_events
from tarsy.domain.action import Action, actions_of
from tarsy.domain.stage import StageType


async def read_actions(connection: AsyncConnection, session_id: str) -> tuple[Action, ...]:
    """Return the actions of a session in the order of their calls. Of a session without any, no timeline is read."""
    acting = sa.select(stages.c.id).where(stages.c.session_id == session_id, stages.c.stage_type == StageType.ACTION.value)
    events = await read_timelines(connection, session_id, timeline_events.c.stage_id.in_(acting))
    if not events:
        return ()
    return actions_of(await read_records(connection, session_id, events), await read_approvals(connection, session_id=session_id))
