"""Pure module: how work is claimed, in SQL, after the rules of its kind."""

from functools import cache
from typing import Any

from tarsy.db.driver import Statement, columns_of
from tarsy.db.tables import sql_list
from tarsy.db.work.subjects import SUBJECTS, UNREAD, Subject
from tarsy.domain.claim import WorkKind
from tarsy.domain.work import WorkRules, WorkState

_READY = f"""
    w.kind = :kind AND w.state = {sql_list([WorkState.READY])} AND (w.not_before IS NULL OR w.not_before <= now())"""
_NOT_PAUSED = "NOT EXISTS (SELECT FROM pauses p WHERE p.chain_id IN ('', w.chain_id))"
_RUNNING = f"SELECT count(*) FROM work r WHERE r.state = {sql_list([WorkState.CLAIMED])}"  # noqa: S608 - our own words

# Parked work whose time has come, or whose pause has ended.
DUE = f"""
    work.state = {sql_list([WorkState.PARKED])} AND (work.wake_at <= now() OR (
        work.parked_by_pause IS NOT NULL AND NOT EXISTS (SELECT FROM pauses p WHERE p.chain_id = work.parked_by_pause)
    ))"""

_ANY_DUE = f"EXISTS (SELECT FROM work WHERE work.kind = :kind AND {DUE})"

# The chain of a session says how long its work may take; it was stored with the session.
_TIME_LIMIT = """
    coalesce(CAST(:time_limit AS double precision), (
        SELECT CAST(s.chain_snapshot ->> 'session_timeout' AS double precision) FROM alert_sessions s WHERE s.id = w.session_id
    ))"""


@cache
def claimable_statement(rules: WorkRules) -> Statement:
    """Whether there is anything to claim, and anything parked whose time has come."""
    return Statement(
        f"SELECT EXISTS (SELECT FROM work w WHERE {_candidate(rules)}) AND {_room(rules)} AS ready, {_ANY_DUE} AS due"  # noqa: S608 - our own words
    )


@cache
def claim_statement(rules: WorkRules) -> Statement:
    """Claim the first in rank and move its noun along; answers with both, and with whether more is ready and nothing has to be woken before."""
    subject = SUBJECTS.get(rules.kind)
    noun, moved = (", n.*", _moved(subject)) if subject else ("", "")
    return Statement(
        f"""
        WITH next AS (
            SELECT w.id FROM work w
            WHERE {_candidate(rules)} AND {_room(rules)}
            ORDER BY w.rank, w.id LIMIT 1
            FOR UPDATE OF w SKIP LOCKED
        ),
        claimed AS (
            UPDATE work w
            SET state = {sql_list([WorkState.CLAIMED])}, claimed_by = :pod, claim_token = :token, claimed_at = now(), heartbeat_at = now(),
                not_before = NULL, wake_requested = false, handed_back_at = NULL,
                deadline = coalesce(w.deadline + coalesce(now() - w.handed_back_at, interval '0'), now() + {_TIME_LIMIT} * interval '1 second')
            FROM next WHERE w.id = next.id
            RETURNING w.id, w.subject_id, w.session_id, w.attempts, w.deadline
        ){moved}
        SELECT c.id::text AS work_id, c.subject_id::text AS work_subject_id, c.session_id::text AS work_session_id, c.attempts AS work_attempts,
            CAST(extract(epoch FROM c.deadline - now()) AS double precision) AS seconds_left, now() AS now,
            EXISTS (SELECT FROM work w WHERE {_candidate(rules)} AND w.id <> c.id) AND NOT {_ANY_DUE} AS more{noun}
        FROM claimed c {"LEFT JOIN moved n ON true" if subject else ""}
        """  # noqa: S608 - our own words
    )


def claim_parameters(rules: WorkRules, counted: list[WorkKind], max_concurrent_sessions: int) -> dict[str, Any]:
    """What both statements need; `counted` are the kinds that share `max_concurrent_sessions`."""
    parameters: dict[str, Any] = {"kind": rules.kind}
    if rules.counts_as_session:
        parameters |= {"counted": counted, "max_sessions": max_concurrent_sessions}
    if rules.at_once is not None:
        parameters |= {"at_once": rules.at_once}
    return parameters


def _candidate(rules: WorkRules) -> str:
    siblings = [SUBJECTS[kind] for kind in sorted(rules.begins_apart_from) if kind in SUBJECTS]
    return " AND ".join([_READY, *([_NOT_PAUSED] if rules.held_by_pause else []), *(_has_begun(one) for one in siblings)])


def _room(rules: WorkRules) -> str:
    shared = [f"({_RUNNING} AND r.kind = ANY(CAST(:counted AS text[]))) < :max_sessions"] if rules.counts_as_session else []
    own = [f"({_RUNNING} AND r.kind = :kind) < :at_once"] if rules.at_once is not None else []
    return " AND ".join([*shared, *own]) or "true"


def _has_begun(sibling: Subject) -> str:
    """A follow-up gives its stage the next number of the session: while one is claimed and has none yet, another would take the same."""
    table, claimed = sibling.door.table.name, sql_list([sibling.claimed])
    return f"NOT EXISTS (SELECT FROM {table} s WHERE s.session_id = w.session_id AND s.status = {claimed} AND s.stage_id IS NULL)"


def _moved(subject: Subject) -> str:
    target = subject.claimed
    return f""",
        moved AS (
            UPDATE {subject.door.table.name} n SET status = {sql_list([target])}{subject.at_claim}
            FROM claimed c WHERE n.id = c.subject_id AND n.status IN ({subject.door.sources(target)})
            RETURNING {columns_of(subject.door.table, "n", without=UNREAD)}
        )"""  # noqa: S608 - our own words
