"""The actions of a session, as people read them while it runs and afterwards."""

from collections import defaultdict

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from tarsy.db.approvals import read_approvals
from tarsy.db.rows import read
from tarsy.db.run.history import read_records
from tarsy.db.tables import stages, timeline_events
from tarsy.domain.action import Action, actions_of
from tarsy.domain.stage import StageType
from tarsy.domain.timeline import TimelineEvent


async def read_actions(connection: AsyncConnection, session_id: str) -> tuple[Action, ...]:
    """Return the actions of a session in the order of their calls. Of a session without any, no timeline is read."""
    table, events = timeline_events.c, defaultdict[str, list[TimelineEvent]](list)
    acting = sa.select(stages.c.id).where(stages.c.session_id == session_id, stages.c.stage_type == StageType.ACTION.value)
    query = sa.select(timeline_events).where(table.session_id == session_id, table.stage_id.in_(acting))
    for row in (await connection.execute(query.order_by(table.sequence_number, table.id))).mappings():
        events[row["execution_id"]].append(read(TimelineEvent, row))
    if not events:
        return ()
    return actions_of(await read_records(connection, session_id, events), await read_approvals(connection, session_id=session_id))
