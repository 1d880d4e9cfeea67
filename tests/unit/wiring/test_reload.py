"""Reading the configuration anew: put in force whole, or not at all."""

from pathlib import Path

import anyio
import pytest

from tarsy.config.load.display import Differences
from tarsy.config.load.loader import LoadedConfig, load_config
from tarsy.config.problems import ConfigError
from tarsy.kit.clock import FixedClock
from tarsy.settings import Settings, settings_from
from tarsy.wiring.reload import Reload

ENV = {"OPENAI_API_KEY": "k", "KUBECONFIG": "k"}


class Running:
    """What a configuration is put in force in."""

    def __init__(self, directory: Path, *, host: str = "127.0.0.1") -> None:
        self.directory = directory
        self.write("")
        loaded = load_config(directory, ENV)
        self.applied: list[tuple[LoadedConfig, Settings]] = []
        settings = settings_from(loaded.env, config_dir=directory, host=host)
        self.reload = Reload(
            settings_from(ENV, config_dir=directory, host=host, api_tokens=settings.api_tokens), loaded, clock=FixedClock()
        )
        self.reload.set_target(lambda loaded, settings: self.applied.append((loaded, settings)))

    def write(self, text: str) -> None:
        (self.directory / "tarsy.yaml").write_text(text)


async def test_a_broken_file_changes_nothing_and_is_remembered_until_one_is_good(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.write("queue: {worker_cont: 1}\n")
    with pytest.raises(ConfigError, match="worker_cont"):
        await running.reload()
    assert running.applied == []
    assert running.reload.failure
    running.write("queue: {worker_count: 1}\n")
    assert (await running.reload()).changed == ("queue.worker_count",)
    assert running.reload.failure is None
    assert await running.reload() == Differences()


async def test_what_is_asked_for_where_nothing_can_wait_is_done_and_a_refusal_does_not_end_it(tmp_path: Path) -> None:
    running = Running(tmp_path)
    done = anyio.Event()
    running.reload.set_target(lambda _loaded, _settings: done.set())
    running.write("queue: [\n")
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(running.reload.run)
            running.reload.request()
            while running.reload.failure is None:
                await anyio.lowlevel.checkpoint()
            running.write("")
            running.reload.request()
            await done.wait()
            tasks.cancel_scope.cancel()


async def test_a_reload_that_fails_for_another_reason_than_the_files_is_logged_and_the_next_one_done(
    tmp_path: Path,
) -> None:
    running = Running(tmp_path)
    done, failures = anyio.Event(), [OSError("no space left on device")]

    def apply(_loaded: LoadedConfig, _settings: Settings) -> None:
        if failures:
            running.reload.request()
            raise failures.pop()
        done.set()

    running.reload.set_target(apply)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(running.reload.run)
            running.reload.request()
            await done.wait()
            tasks.cancel_scope.cancel()


async def test_tokens_may_change_and_go_with_the_configuration(tmp_path: Path) -> None:
    running = Running(tmp_path)
    (tmp_path / ".env").write_text("TARSY_API_TOKENS=alice=wonderland\n")
    assert (await running.reload()).changed == ("TARSY_API_TOKENS",)
    assert running.applied[-1][1].api_tokens == "alice=wonderland"
    (tmp_path / ".env").write_text("TARSY_API_TOKENS=alice\n")
    with pytest.raises(ConfigError, match="TARSY_API_TOKENS"):
        await running.reload()


async def test_an_address_is_never_opened_to_those_whom_a_start_would_keep_out(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TARSY_API_TOKENS=alice=wonderland\n")
    running = Running(tmp_path, host="0.0.0.0")  # noqa: S104 - what is tested is just this
    assert await running.reload() == Differences()
    (tmp_path / ".env").unlink()
    with pytest.raises(ConfigError, match="trusted_proxies"):
        await running.reload()
    assert [settings.api_tokens for _, settings in running.applied] == ["alice=wonderland"]


async def test_skills_are_read_anew_and_what_they_need_is_stored_before_they_are_in_force(tmp_path: Path) -> None:
    running = Running(tmp_path)
    stored: list[str] = []

    async def store(loaded: LoadedConfig) -> None:
        assert running.applied == []
        stored.append(loaded.config.skills["disks"].text)

    running.reload.set_target(lambda loaded, settings: running.applied.append((loaded, settings)), prepare=store)
    (tmp_path / "skills" / "disks").mkdir(parents=True)
    (tmp_path / "skills" / "disks" / "SKILL.md").write_text("---\nname: disks\ndescription: d\n---\nLook first.\n")
    assert (await running.reload()).added == ("skills.disks",)
    assert (stored, len(running.applied)) == (["Look first."], 1)
