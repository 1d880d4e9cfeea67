"""The wheel, installed into a fresh virtual environment and started in an empty directory: what a user does."""

import os
import re
import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from support.tarsy_process import served

ROOT = Path(__file__).parents[2]
# Under a minute alone; packages may have to be fetched first.
INSTALL_SECONDS = 240

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("wheel")]


def _run(*command: str | Path, cwd: Path) -> str:
    # The whole environment: it says where this machine gets its packages from.
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=dict(os.environ), capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def _install(wheel: Path, environment: Path) -> None:
    """Install the wheel with all it requires, in the versions of the lock; uv stands in for pip because it takes seconds where pip takes minutes.

    The required packages are links to those of these tests, whose bytecode is there already: to compile it anew takes longer than all the rest.
    """
    command = (Path(sys.executable).parent / "uv", "pip", "install", "--python", environment / "bin" / "python")
    locked = (*command, "--constraint", ROOT / "requirements.lock", wheel)
    if "TARSY_LONG_TESTS" in os.environ:
        _run(*locked, cwd=environment)
        return
    required = re.findall(r"^ \+ (\S+)==", _run(*locked, "--dry-run", cwd=environment), re.MULTILINE)
    assert len(required) > 20
    packages = next(environment.glob("lib/python*/site-packages"))
    for found in map(distribution, required):
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (packages / name).exists():
                (packages / name).symlink_to(str(found.locate_file(name)))
    _run(*command, "--no-deps", wheel, cwd=environment)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("dist")
    uv = Path(sys.executable).parent / "uv"
    # As `make build` does, only elsewhere.
    _run(uv, "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", directory, cwd=ROOT)
    return next(directory.glob("*.whl"))


def test_the_wheel_holds_everything_that_is_not_code(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (
        "tarsy/db/migrations/env.py",
        "tarsy/db/migrations/versions/v0022_all_tables.py",
        "tarsy/demo/incidents/crashloop/recording.yaml",
        "tarsy/setup/templates/kubernetes/tarsy.yaml",
        "tarsy/api/manual/README.md",
        "tarsy/api/manual/images/investigation.svg",
    ):
        assert path in names
    built = ROOT / "src" / "tarsy" / "api" / "static"
    dashboard = {f"tarsy/api/static/{file.relative_to(built).as_posix()}" for file in built.rglob("*") if file.is_file()}
    assert dashboard <= names
    assert not [name for name in names if name.startswith(("tests/", "dashboard/", "src/")) or name.endswith(".env")]


def test_an_installed_wheel_serves_in_an_empty_directory_and_finishes_a_sample(wheel: Path, tmp_path: Path) -> None:
    environment, empty = tmp_path / "venv", tmp_path / "empty"
    empty.mkdir()
    _run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=tmp_path)
    _install(wheel, environment)
    with served(empty, command=(str(environment / "bin" / "tarsy"),), log=tmp_path / "serve.log") as server, server.client() as http:
        page = http.get("/")
        assert page.status_code == 200
        if (ROOT / "src" / "tarsy" / "api" / "static" / "index.html").is_file():
            assert "/assets/" in page.text
        assert "The TARSy manual" in http.get("/help/").text
        sample = http.get("/api/v1/samples").json()["samples"][0]
        assert sample["recorded"]
        alert = {"data": sample["alert_data"], "alert_type": sample["alert_type"]}
        session = http.post("/api/v1/alerts", json=alert).raise_for_status().json()["session_id"]
        with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
            assert any('"session.completed"' in line for line in events.iter_lines())
        found = http.get(f"/api/v1/sessions/{session}").json()
        assert (found["status"], found["recorded"]) == ("completed", True)
        assert found["final_analysis"]
        assert found["executive_summary"]
    assert {path.name for path in empty.iterdir()} == {"data"}
