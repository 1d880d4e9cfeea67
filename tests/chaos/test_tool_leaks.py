"""Many executions at once, each with tool servers of its own, leave nothing behind: no process, no open file, no memory."""

import gc

import psutil
import pytest

from support.http_fault_server import http_fault_server
from support.opening import four_servers, use_at_once
from support.own_processes import children


@pytest.mark.growth
@pytest.mark.timeout(300)
async def test_fifty_executions_with_four_servers_each_leak_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    me = psutil.Process()
    # Earlier tests of this process may have left a warm server and a database.
    older = children(recursive=True)
    async with http_fault_server() as remote:
        four = four_servers(remote.url)
        # The first round shows how much memory fifty need; only what a second one adds to that is a leak.
        await use_at_once(four, 50)
        gc.collect()
        before = (me.num_fds(), me.memory_info().rss)
        await use_at_once(four, 50)
        gc.collect()
        after = (me.num_fds(), me.memory_info().rss)
        grown = (after[1] - before[1]) / 1024 / 1024
        left = [one for one in children(recursive=True) if one not in older]
        with capsys.disabled():
            print(f"\n50 executions with 4 servers: {len(left)} processes left, fds {before[0]} to {after[0]}, {grown:+.1f} MB")  # noqa: T201 - the figures are the point
        assert left == []
        assert after[0] <= before[0] + 5
        assert grown < 20
