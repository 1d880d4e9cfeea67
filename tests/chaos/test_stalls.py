"""What one tool server or one client sends stalls nobody: /health answers meanwhile."""

import sys
from collections.abc import AsyncGenerator

import anyio
import pytest

from support.live_node import LiveNode, live_node
from support.live_server import live_server
from support.opening import fault, opened
from support.stalls import SUBSCRIBER, AnswerTimes, measured_health

P99_SECONDS = 0.25

pytestmark = [pytest.mark.growth, pytest.mark.timeout(300)]


@pytest.fixture
async def node(database_url: str) -> AsyncGenerator[LiveNode]:
    async with live_node(database_url) as node:
        yield node


def judge(what: str, times: AnswerTimes, capsys: pytest.CaptureFixture[str]) -> None:
    p99, longest = times.percentile(0.99), max(times.taken)
    with capsys.disabled():
        print(f"\n{what}: /health {len(times.taken)} times, p99 {p99 * 1000:.0f} ms, longest {longest * 1000:.0f} ms")  # noqa: T201 - the figures are the point
    assert p99 < P99_SECONDS


@pytest.mark.parametrize(
    ("mode", "tool"),
    [
        ("attack", "200,000 requests"),
        ("attack", "50,000 progress notices"),
        ("attack", "a line of 50 MB"),
        ("attack", "a million content items"),
        ("attack", "five million values"),
        ("attack", "90,000 structured values"),
        ("attack:description", "a description of 34 MB"),
        ("attack:schemas", "schemas of 15 MB"),
    ],
)
async def test_a_tool_server_that_floods_us_stalls_nobody(node: LiveNode, mode: str, tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    async with live_server(node) as address, measured_health(address) as times:
        # So that a single stall is no hundredth of the answers only because there were so few.
        for _ in range(3):
            async with opened(fault(mode), call_timeout=60.0) as tools:
                await tools.list()
                if mode == "attack":
                    await tools.call("fault.attack", tool)
    judge(tool, times, capsys)


async def test_a_client_that_subscribes_without_end_stalls_nobody(node: LiveNode, capsys: pytest.CaptureFixture[str]) -> None:
    async with live_server(node) as address, measured_health(address) as times:
        # It would take ten minutes: it has to wait, the others need not.
        with anyio.move_on_after(10):
            await anyio.run_process([sys.executable, "-c", SUBSCRIBER, address, "60000"])
    judge("60,000 subscriptions", times, capsys)
