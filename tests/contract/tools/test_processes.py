"""No process outlives its execution: not after a clean end, not after a cancelled one, and not after we are killed."""

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import anyio
import psutil
import pytest

from support.http_fault_server import http_fault_server
from support.opening import fault, four_servers, npm_program, opened, stdio, use_at_once
from support.own_processes import children
from support.paths import TESTS
from tarsy.tools.server_process import kept_supervisor, server_process

# An execution in a process of its own, so that it can be killed.
VICTIM = """
import anyio, sys
sys.path.insert(0, sys.argv[1])
from support.opening import fault, npm_program, opened, stdio

async def main():
    npx = stdio("npm", "sh", "-c", "exec " + npm_program("mcp-server-everything"))
    async with opened(fault("stubborn"), npx) as tools:
        await tools.list()
        await tools.call("fault.spawn", sys.argv[2])
        print("ready", flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


def alive(pids: Iterable[int]) -> list[int]:
    """Those that still run; a zombie of somebody else's is not ours to collect."""
    found: list[int] = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
        except psutil.NoSuchProcess:
            continue
    return found


def family(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


async def gone(pids: list[int]) -> None:
    with anyio.fail_after(60):
        while alive(pids):  # noqa: ASYNC110 - a stranger's process has no event for us
            await anyio.sleep(0.02)


async def test_killing_us_ends_every_server_with_all_its_descendants(tmp_path: Path) -> None:
    pids_file = tmp_path / "pids"
    command = [sys.executable, "-c", VICTIM, str(TESTS), str(pids_file)]
    async with await anyio.open_process(command, stderr=None) as victim:
        assert victim.stdout is not None
        with anyio.fail_after(60):
            output = await victim.stdout.receive()
            while b"ready" not in output:
                output += await victim.stdout.receive()
        spawned = [int(pid) for pid in pids_file.read_text().split()]
        below = family(victim.pid)
        assert len(alive(spawned)) == 3
        assert set(spawned) <= set(below)
        os.kill(victim.pid, signal.SIGKILL)
        await gone([*below, *spawned])


@pytest.mark.parametrize("which", ["parent", "child"])
async def test_killing_a_supervisor_ends_its_server_with_all_its_descendants(which: str, tmp_path: Path) -> None:
    pids_file = tmp_path / "pids"
    async with opened(fault("stubborn")) as tools:
        await tools.call("fault.spawn", str(pids_file))
        below = [child.pid for child in children(recursive=True)]
        (parent,) = children()
        (child,) = parent.children()
        (parent if which == "parent" else child).kill()
        await gone(below)
        assert (await tools.call("fault.echo", "a new one")).content == "a new one"
    assert children() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
async def test_a_signal_does_not_separate_a_supervisor_from_its_servers(number: signal.Signals) -> None:
    async with opened(fault(name="one")) as tools:
        pid = (await tools.call("one.pid")).content
        (parent,) = children()
        (child,) = parent.children()
        for supervisor in (parent, child):
            supervisor.send_signal(number)
        async with opened(fault(name="two")) as others:
            assert (await others.call("two.echo", "a second one")).content == "a second one"
        assert (await tools.call("one.pid")).content == pid
        assert alive([parent.pid, child.pid]) == [parent.pid, child.pid]


async def test_a_server_that_cannot_start_and_is_not_waited_for_does_not_end_the_others() -> None:
    async with opened(fault()) as tools:
        pid = (await tools.call("fault.pid")).content
        (parent,) = children()
        (child,) = parent.children()
        # The reason why the server cannot start has no reader any more when the supervisor writes it.
        child.suspend()
        async with server_process("no-such-program", (), {}):
            pass
        child.resume()
        async with opened(fault(name="other")) as others:
            assert (await others.call("other.echo", "started after it")).content == "started after it"
        assert (await tools.call("fault.pid")).content == pid


async def test_all_servers_have_one_supervisor_which_stays_while_it_is_kept() -> None:
    async with kept_supervisor():
        async with opened(fault(name="one"), fault(name="two")) as tools, opened(fault(name="three")) as others:
            await tools.list()
            await others.list()
            (supervisor,) = children()
            assert len(supervisor.children(recursive=True)) == 4
        async with opened(fault()) as tools:
            await tools.list()
            assert children() == [supervisor]
    assert children() == []


async def test_what_a_crashed_server_leaves_behind_goes_and_the_others_stay(tmp_path: Path) -> None:
    pids_file = tmp_path / "pids"
    async with opened(fault(name="one"), fault(name="two")) as tools:
        await tools.call("one.spawn", str(pids_file))
        crashed, *orphans = [int(pid) for pid in pids_file.read_text().split()]
        other = (await tools.call("two.pid")).content
        os.kill(crashed, signal.SIGKILL)
        await gone(orphans)
        assert (await tools.call("two.pid")).content == other


async def test_a_clean_end_leaves_no_process_and_no_zombie_even_of_a_stubborn_server(tmp_path: Path) -> None:
    pids_file = tmp_path / "pids"
    async with opened(fault("stubborn")) as tools:
        await tools.call("fault.spawn", str(pids_file))
        below = [child.pid for child in children(recursive=True)]
        assert len(below) >= 4
    assert alive(below) == []
    assert children() == []


async def test_a_cancelled_execution_leaves_nothing_behind() -> None:
    below: list[int] = []
    with anyio.move_on_after(30) as scope:
        async with opened(fault(), fault("stubborn", name="second")) as tools:
            await tools.list()
            below += [child.pid for child in children(recursive=True)]
            scope.cancel()
            await tools.call("fault.hang")
    assert scope.cancelled_caught
    assert below
    assert alive(below) == []


async def test_cancelling_while_connecting_leaves_nothing_behind() -> None:
    with anyio.move_on_after(0.3) as scope:
        async with opened(fault("mute")) as tools:
            await tools.list()
    assert scope.cancelled_caught
    assert children() == []


async def test_executions_leave_no_process_and_no_open_file() -> None:
    """How much memory many of them leave is measured by `make chaos`."""
    async with http_fault_server() as remote:
        four = four_servers(remote.url)
        # The first round opens files that stay.
        await use_at_once(four, 4)
        before = psutil.Process().num_fds()
        await use_at_once(four, 8)
        assert children(recursive=True) == []
        assert psutil.Process().num_fds() <= before + 5


async def test_a_server_started_through_npx_ends_with_its_execution() -> None:
    wrapped = stdio("npm", "sh", "-c", f"{npm_program('mcp-server-everything')}; true")
    async with opened(wrapped) as tools:
        assert (await tools.list()).warnings == ()
        below = [child.pid for child in children(recursive=True)]
        # Supervisor, shell, node.
        assert len(below) >= 3
    assert alive(below) == []
