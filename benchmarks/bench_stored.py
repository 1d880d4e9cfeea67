"""The list and a session's page with 100,000 stored sessions, one of which has 2,000 events: every answer should take less than 200 ms.

BENCH_STORED sets how many. Beside each figure stands how many commits of its PostgreSQL it is as long as, and the CPU of the server.
"""

import os
import sys
import time

import anyio
import asyncpg
import httpx
import psutil
import structlog
from machine import Machine, measured
from processes import Processes, percentile, processes
from workload import chain

STORED = int(os.environ.get("BENCH_STORED", "100000"))
ROUNDS = 30
LONG = 2_000
GOAL_MS = 200

STORED_SESSIONS = """
    INSERT INTO alert_sessions
        (id, alert_data, alert_type, chain_id, chain_snapshot, author, nonce, status, final_analysis, created_at, started_at, completed_at)
    SELECT gen_random_uuid(), 'Alert number ' || n || ' of service-' || n % 500 || ': latency is above its objective',
        'type-' || n % 20, 'chain-' || n % 7, $2::jsonb, 'bench', 'nonce',
        (ARRAY['completed', 'completed', 'completed', 'failed', 'timed_out', 'cancelled'])[1 + n % 6],
        'The release of service-' || n % 500 || ' leaks connections.',
        now() - make_interval(secs => n * 60), now() - make_interval(secs => n * 60), now() - make_interval(secs => n * 60 - 30)
    FROM generate_series(1, $1::int) AS n
    """
STORED_STAGES = """
    INSERT INTO stages (id, session_id, stage_name, stage_index, stage_type, expected_agent_count, status, started_at, completed_at)
    SELECT gen_random_uuid(), id, 'investigation', 0, 'investigation', 1, 'completed', started_at, completed_at FROM alert_sessions
    """
STORED_EXECUTIONS = """
    INSERT INTO agent_executions
        (id, session_id, stage_id, agent_name, agent_index, llm_backend, llm_provider, model_name, tool_calling, status)
    SELECT gen_random_uuid(), session_id, id, 'Agent', 1, 'langchain', 'recorded', 'recorded', 'native', 'completed' FROM stages
    """
STORED_EVENTS = """
    INSERT INTO timeline_events
        (id, session_id, stage_id, execution_id, sequence_number, position, event_type, status, content, created_at, completed_at)
    SELECT gen_random_uuid(), e.session_id, e.stage_id, e.id, n, n, 'llm_response', 'completed', repeat('finding ' || n || ' is clear. ', 20), now(), now()
    FROM agent_executions e, generate_series(1, $2::int) n WHERE e.session_id = $1::uuid
    """
# As many sums as so many sessions leave: every combination of chain, type and model on every day, in every shard.
_USAGE = """
    INSERT INTO usage_days
    SELECT (s.created_at AT TIME ZONE 'UTC')::date, abs(hashtext(s.id::text)) % 16, s.chain_id, s.alert_type,
        'Agent ' || abs(hashtext(s.id::text)) % 3, 'vendor', 'model-' || abs(hashtext(s.id::text)) % 4,
        10 * count(*), 0, 40000 * count(*), 30000 * count(*), 1200 * count(*), 600 * count(*), 0.25 * count(*), 0, 60000 * count(*)
    FROM alert_sessions s GROUP BY 1, 2, 3, 4, 5, 7
    """
_SPENDING = """
    INSERT INTO session_spending SELECT id, 10, 41200, (abs(hashtext(id::text)) % 1000) / 1000.0, 0 FROM alert_sessions
    """
_TOOLS = """
    INSERT INTO tool_days SELECT day::date, shard, 'server-' || tool % 5, 'tool-' || tool, 100, 3, 20000
    FROM generate_series(now() - interval '70 days', now(), interval '1 day') AS day, generate_series(0, 15) AS shard, generate_series(1, 60) AS tool
    """


async def generate(url: str) -> tuple[str, str]:
    """Fill the database; returns the ids of a session in the middle, and of the one that has many events."""
    connection = await asyncpg.connect(url)
    try:
        for statement in (STORED_SESSIONS, STORED_STAGES, STORED_EXECUTIONS, _USAGE, _SPENDING, _TOOLS):
            await connection.execute(statement, *([STORED, chain().model_dump_json()] if "$1" in statement else []))
        middle, long = await connection.fetch("SELECT id FROM alert_sessions ORDER BY created_at OFFSET $1 LIMIT 2", STORED // 2)
        await connection.execute(STORED_EVENTS, long["id"], LONG)
        await connection.execute("ANALYZE")
        return str(middle["id"]), str(long["id"])
    finally:
        await connection.close()


async def measure(address: str, ids: tuple[str, str], server: psutil.Process, machine: Machine) -> bool:
    session_id, long = ids
    paths = {
        "list": "/api/v1/sessions",
        "list of 25": "/api/v1/sessions?limit=25",
        "list, by status": "/api/v1/sessions?status=failed",
        "list, by type": "/api/v1/sessions?alert_type=type-7",
        "list, by text": "/api/v1/sessions?text=service-123",
        "detail": f"/api/v1/sessions/{session_id}",
        "timeline": f"/api/v1/sessions/{session_id}/timeline",
        "detail, 2,000 events": f"/api/v1/sessions/{long}",
        "timeline of 2,000": f"/api/v1/sessions/{long}/timeline",
        "usage, a month": "/api/v1/usage",
        "usage, all": "/api/v1/usage?from=2020-01-01",
    }
    slowest = 0.0
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        for name, path in paths.items():
            taken: list[float] = []
            cpu = sum(server.cpu_times()[:2])
            for _ in range(ROUNDS):
                started = time.monotonic()
                (await client.get(path)).raise_for_status()
                taken.append(time.monotonic() - started)
            worst = percentile(taken, 0.95)
            slowest = max(slowest, worst)
            cpu = (sum(server.cpu_times()[:2]) - cpu) * 1000 / ROUNDS
            print(f"{name:20} p50 {machine.wait(percentile(taken, 0.5))}   p95 {worst:7.1f} ms   CPU {machine.cpu(cpu)}")
    return slowest < GOAL_MS


async def run(address: str, url: str, server: psutil.Process) -> bool:
    machine = await measured(url)
    machine.report()
    ids = await generate(url)
    print(f"{STORED} sessions stored (goal: under {GOAL_MS} ms)")
    return await measure(address, ids, server, machine)


def main(started: Processes) -> int:
    address = started.serve("api")
    return 0 if anyio.run(run, address, started.database_url, psutil.Process(started.running[0].pid)) else 1


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with processes() as everything:
        sys.exit(main(everything))
