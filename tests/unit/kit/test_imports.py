"""Modules are imported beside the event loop, not on it."""

import importlib
import sys
import threading
from pathlib import Path

import anyio
import pytest

from tarsy.kit.imports import absent, hollow, hollowed, load

# Importing it ends only when the event loop, meanwhile, does something.
SLOW = """
import threading
(waits,) = [thread for thread in [threading.main_thread()] if hasattr(thread, "slow_import")]
assert waits.slow_import.wait(30)
"""


async def test_the_event_loop_goes_on_while_a_module_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("slow_module.py").write_text(SLOW)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    event = threading.Event()
    monkeypatch.setattr(threading.main_thread(), "slow_import", event, raising=False)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(load, "slow_module")
        await anyio.wait_all_tasks_blocked()
        tasks.start_soon(load, "slow_module")
        event.set()
    assert "slow_module" in sys.modules
    monkeypatch.delitem(sys.modules, "slow_module")


def test_what_is_declared_absent_is_not_found_until_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("unwanted.py").write_text("")
    tmp_path.joinpath("greedy.py").write_text("try:\n    import unwanted\nexcept ImportError:\n    unwanted = None\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with absent("unwanted"):
        assert importlib.import_module("greedy").unwanted is None
    unwanted = importlib.import_module("unwanted")
    with absent("unwanted"):
        # Taking away what others have would be worse than having it.
        assert importlib.import_module("unwanted") is unwanted
    for name in ("greedy", "unwanted"):
        monkeypatch.delitem(sys.modules, name)


def test_a_hollow_module_is_found_but_nothing_of_it_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("large.py").write_text("raise AssertionError('loaded')")
    tmp_path.joinpath("small.py").write_text("from large import Part as Part\nPart.wrapped = Part.method")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "large", raising=False)
    hollow("large", "sys")
    part = importlib.import_module("small").Part
    with pytest.raises(NotImplementedError, match="left out of this program"):
        part()
    # What is loaded already is not taken away.
    assert importlib.import_module("sys") is sys
    for name in ("small", "large"):
        del sys.modules[name]


def test_a_module_is_hollow_only_for_what_is_imported_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("bulky.py").write_text("class Part: ...")
    tmp_path.joinpath("slim.py").write_text("from bulky import Part\nclass Own(Part): ...")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with hollowed("bulky", "sys"):
        slim = importlib.import_module("slim")
    with pytest.raises(NotImplementedError, match="left out of this program"):
        slim.Own()
    assert importlib.import_module("bulky").Part()
    assert importlib.import_module("sys") is sys
    for name in ("slim", "bulky"):
        monkeypatch.delitem(sys.modules, name)
