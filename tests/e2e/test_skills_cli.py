"""`tarsy skills` as a person runs it: a process, its output, its exit status."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from support.git_server import GitServer, SkillRepository, git_server
from support.warm_tarsy import warm_command
from tarsy.config.load.loader import load_config
from tarsy.config.load.skill_files import MAX_FILE_BYTES, MAX_FILES
from tarsy.skills.git import GitError
from tarsy.skills.sync import accept, fetch_accepted, git_sources, sync


def tarsy_skills(*arguments: str | Path, config: Path, **env: str) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "VIRTUAL_ENV", "TARSY_DATA_DIR"}}
    command = [*warm_command(), "skills", *map(str, arguments), "--config", str(config)]
    return subprocess.run(command, cwd=config, env=plain | env, capture_output=True, text=True, timeout=60, check=False)


def write_skill(root: Path, name: str, text: str = "Look first.") -> None:
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Looks into {name}.\n---\n{text}\n")


def test_the_list_says_what_each_skill_is_for_and_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("")
    write_skill(tmp_path / "skills", "full-disks")
    file = tmp_path / "skills" / "full-disks" / "SKILL.md"
    file.write_text(file.read_text().replace("---\nLook", "license: MIT\nmetadata: {team: storage, version: 2}\n---\nLook"))
    (tmp_path / "skills" / "full-disks" / "owners.md").write_text("the owners")
    run = tarsy_skills("list", config=tmp_path)
    assert run.returncode == 0, run.stderr
    known = "license: MIT, team: storage, version: 2"
    assert f"full-disks  [skills]\n    Looks into full-disks.\n    {known}\n    files: owners.md\n" in run.stdout
    assert "kubernetes-dns  [built in]\n" in run.stdout


def test_the_check_reports_what_is_wrong_with_the_skills_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("queue: {worker_cont: 1}\n")
    write_skill(tmp_path / "skills", "full-disks")
    assert (tarsy_skills("check", config=tmp_path).stdout, tarsy_skills("check", config=tmp_path).returncode) == ("ok (9 skills)\n", 0)
    (tmp_path / "skills" / "broken").mkdir()
    (tmp_path / "skills" / "broken" / "SKILL.md").write_text("---\nname: other\ndescription: d\n---\ntext")
    run = tarsy_skills("check", config=tmp_path)
    problem = f'{tmp_path}/skills/broken/SKILL.md:2: name: the skill is called "other", but its directory "broken"; rename one of them\n'
    assert (run.returncode, run.stderr) == (1, f"{problem}1 problem in the skills\n")


def head(name: str, text: str) -> str:
    return f"---\nname: {name}\ndescription: Looks into {name}.\n---\n{text}\n"


@dataclass(frozen=True)
class Installation:
    """A configuration directory whose skills come from a repository behind HTTPS."""

    config: Path
    server: GitServer
    repository: SkillRepository

    @property
    def address(self) -> str:
        return f"{self.server.address}/{self.repository.path.name}"

    def run(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        data = {"TARSY_DATA_DIR": str(self.config.parent / "data"), "GIT_SSL_CAINFO": str(self.server.authority)}
        return tarsy_skills(*arguments, config=self.config, **data | env)

    def configure(self, **source: str) -> None:
        (self.config / "tarsy.yaml").write_text(yaml.safe_dump({"skills": [{"git": self.address, **source}]}))

    def text(self) -> str:
        """What agents would read of the skill `disks`."""
        env = {"TARSY_DATA_DIR": str(self.config.parent / "data")}
        return load_config(self.config, env).config.skills["disks"].text


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    repository = SkillRepository.create(tmp_path / "served" / "skills.git")
    repository.commit({"team/disks/SKILL.md": head("disks", "First."), "team/disks/more.md": "More.", "README.md": "For people."})
    (tmp_path / "config").mkdir()
    with git_server(tmp_path / "served") as server:
        yield Installation(tmp_path / "config", server, repository)


def test_a_pinned_commit_is_fetched_and_stays_whatever_the_branch_does(installation: Installation) -> None:
    first = installation.repository.git("rev-parse", "HEAD")
    installation.repository.commit({"team/disks/SKILL.md": head("disks", "Second.")})
    installation.configure(ref=first, dir="team")
    missing = installation.run("check")
    assert (missing.returncode, "has not been fetched yet; run `tarsy skills sync`" in missing.stderr) == (1, True)
    synced = installation.run("sync")
    assert (synced.returncode, synced.stdout) == (0, f"{installation.address} ({first}): {first}, nothing new\n"), synced.stderr
    assert installation.text() == "First."
    listed = installation.run("list").stdout
    assert f"disks  [{installation.address} at {first[:12]}]\n    Looks into disks.\n    files: more.md\n" in listed
    asked = len(installation.server.asked)
    assert installation.run("sync").returncode == 0
    assert len(installation.server.asked) == asked, "what is here is not asked for again"


def test_what_is_new_on_a_branch_is_shown_and_used_only_when_it_was_accepted(installation: Installation) -> None:
    installation.configure(ref="main", dir="team")
    first = installation.repository.git("rev-parse", "HEAD")
    shown = installation.run("sync")
    assert f"{first} is new, nothing is accepted yet\n--- /dev/null\n+++ b/disks/SKILL.md\n" in shown.stdout, shown.stderr
    assert "no commit of" in installation.run("check").stderr
    assert f"{first} is accepted\nTo use it: tarsy reload\n" in installation.run("accept").stdout
    assert installation.text() == "First."
    second = installation.repository.commit({"team/disks/SKILL.md": head("disks", "Second.")})
    # Not looked at yet, so not to be had.
    assert "There is nothing to accept" in installation.run("accept").stdout
    shown = installation.run("sync")
    assert f"{second} is new, {first} is used\n" in shown.stdout
    assert "-First.\n+Second.\n" in shown.stdout
    assert installation.text() == "First."
    # What came after the difference was shown is not what was accepted.
    installation.repository.commit({"team/disks/SKILL.md": head("disks", "Third.")})
    installation.run("accept")
    assert installation.text() == "Second."
    assert yaml.safe_load((installation.config / "skills.lock").read_text()) == {installation.address: {"main": second}}


def test_no_directory_gets_a_commit_that_was_shown_only_of_another_one(installation: Installation) -> None:
    first = installation.repository.commit({"ops/nodes/SKILL.md": head("nodes", "First.")})
    both = [{"git": installation.address, "ref": "main", "dir": directory} for directory in ("team", "ops")]
    installation.configure(ref="main", dir="team")
    installation.run("sync")
    second = installation.repository.commit({"team/disks/SKILL.md": head("disks", "Second.")})
    installation.configure(ref="main", dir="ops")
    installation.run("sync")
    (installation.config / "tarsy.yaml").write_text(yaml.safe_dump({"skills": both}))
    refused = installation.run("accept")
    assert (refused.returncode, f"{first} of team, {second} of ops; for one that all have: tarsy skills sync" in refused.stderr) == (
        1,
        True,
    )
    assert not (installation.config / "skills.lock").exists()
    assert "+Second.\n" in installation.run("sync").stdout
    installation.run("accept")
    assert installation.text() == "Second."


def test_a_server_fetches_what_was_accepted_when_it_starts_and_never_more(installation: Installation) -> None:
    first = installation.repository.git("rev-parse", "HEAD")
    installation.configure(dir="team")
    (installation.config / "skills.lock").write_text(yaml.safe_dump({installation.address: {"HEAD": first}}))
    installation.repository.commit({"team/disks/SKILL.md": head("disks", "Second.")})
    env = {"TARSY_DATA_DIR": str(installation.config.parent / "data"), "PATH": os.environ["PATH"]}
    here = git_sources(installation.config, env | {"GIT_SSL_CAINFO": str(installation.server.authority)})
    assert here
    fetch_accepted(here)
    assert installation.text() == "First."
    (problem,) = sync(git_sources(installation.config, env) or here)
    assert isinstance(problem, GitError), "a certificate that is not trusted is no certificate"


def test_a_lock_that_cannot_be_written_whole_stays_as_it_was(installation: Installation) -> None:
    installation.configure(ref="main", dir="team")
    installation.run("sync")
    installation.run("accept")
    lock = (installation.config / "skills.lock").read_text()
    installation.repository.commit({"team/disks/SKILL.md": head("disks", "Second.")})
    installation.run("sync")
    here = git_sources(installation.config, {"TARSY_DATA_DIR": str(installation.config.parent / "data"), "PATH": os.environ["PATH"]})
    assert here
    files, (soft, hard) = sorted(installation.config.iterdir()), resource.getrlimit(resource.RLIMIT_FSIZE)
    # As on a full disk: a file can be created, but not written.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            accept(here)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (installation.config / "skills.lock").read_text() == lock
    assert sorted(installation.config.iterdir()) == files


def test_a_place_that_cannot_be_written_to_is_reported_in_a_sentence(installation: Installation) -> None:
    installation.configure(ref="main", dir="team")
    (installation.config.parent / "data").write_text("no directory")
    run = installation.run("sync")
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert run.stderr.startswith(f"skills of {installation.address} (main): ")
    assert "Not a directory" in run.stderr


def with_a_link(path: Path) -> None:
    (path / "team/disks/passwd").symlink_to("/etc/passwd")


def without_the_directory(path: Path) -> None:
    shutil.rmtree(path / "team")


def without_a_skill(path: Path) -> None:
    (path / "team/disks/SKILL.md").unlink()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (with_a_link, "disks/passwd is a link, and skills are plain files"),
        (without_the_directory, "there is no directory team in it"),
        (without_a_skill, "there is no skill in team (a directory with a SKILL.md)"),
    ],
)
def test_a_commit_that_holds_more_or_less_than_skills_is_refused(
    installation: Installation, spoil: Callable[[Path], None], reason: str
) -> None:
    spoil(installation.repository.path)
    installation.repository.commit()
    installation.configure(ref="main", dir="team")
    run = installation.run("sync")
    assert run.returncode == 1
    assert run.stderr.startswith(f"skills of {installation.address} (main): ")
    assert reason in run.stderr
    assert "There is nothing to accept" in installation.run("accept").stdout


def test_a_submodule_within_a_skill_is_refused(installation: Installation) -> None:
    commit = installation.repository.git("rev-parse", "HEAD")
    installation.repository.git("update-index", "--add", "--cacheinfo", f"160000,{commit},team/disks/module")
    installation.repository.git("commit", "--quiet", "--message=module")
    installation.configure(ref="main", dir="team")
    assert "disks/module is a submodule, and skills are plain files" in installation.run("sync").stderr


def test_a_malformed_skill_is_shown_and_cannot_be_accepted(installation: Installation) -> None:
    commit = installation.repository.commit({"team/disks/SKILL.md": "no head"})
    installation.configure(ref="main", dir="team")
    assert "These cannot be accepted:\n" in installation.run("sync").stdout
    run = installation.run("accept")
    assert run.returncode == 1
    assert f"{installation.address}@{commit[:12]}:team/disks/SKILL.md:1: this skill has no front matter" in run.stderr
    assert not (installation.config / "skills.lock").exists()


def test_a_malformed_skill_in_a_second_directory_of_a_branch_cannot_be_accepted_either(installation: Installation) -> None:
    installation.repository.commit({"ops/nodes/SKILL.md": "no head"})
    both = [{"git": installation.address, "ref": "main", "dir": directory} for directory in ("team", "ops")]
    (installation.config / "tarsy.yaml").write_text(yaml.safe_dump({"skills": both}))
    assert "These cannot be accepted:\n" in installation.run("sync").stdout
    run = installation.run("accept")
    assert (run.returncode, "ops/nodes/SKILL.md:1: this skill has no front matter" in run.stderr) == (1, True)
    assert not (installation.config / "skills.lock").exists()


def test_files_that_no_agent_can_load_are_reported_of_a_repository_too(installation: Installation) -> None:
    many = {f"team/disks/more/{number:03}.md": str(number) for number in range(120)}
    commit = installation.repository.commit({**many, "team/disks/large.md": "x" * (MAX_FILE_BYTES + 1)})
    installation.configure(ref="main", dir="team")
    assert "xxx" not in installation.run("sync").stdout
    installation.run("accept")
    checked = installation.run("check")
    shown = f"{installation.address}@{commit[:12]}:team/disks"
    # Beside these: `more.md` of the first commit, and `large.md`.
    assert (checked.returncode, f"{shown}: only the first {MAX_FILES} of 122 files can be loaded\n" in checked.stderr) == (0, True)
    assert f"{shown}/large.md: agents cannot load this file: it is larger than 64 KiB\n" in checked.stderr


def test_git_is_not_led_to_another_protocol_by_its_own_settings(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    settings = f'[url "file://{tmp_path}/served/"]\n  insteadOf = {installation.server.address}/\n'
    (tmp_path / "home" / ".gitconfig").write_text(settings)
    installation.configure(ref="main", dir="team")
    run = installation.run("sync", HOME=str(tmp_path / "home"))
    assert (run.returncode, "transport 'file' not allowed" in run.stderr) == (1, True)


def test_a_hook_of_a_repository_never_runs(installation: Installation) -> None:
    ran = installation.config.parent / "ran"
    installation.repository.commit({"team/disks/.githooks/post-checkout": f"#!/bin/sh\ntouch {ran}\n", ".gitattributes": "* filter=x\n"})
    installation.configure(ref="main", dir="team")
    assert installation.run("sync").returncode == 0
    assert not ran.exists()
    assert not list((installation.config.parent / "data").rglob(".githooks"))
