"""`make` on a machine that has Python and make, and nothing else that TARSy needs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pip
import pytest

ROOT = Path(__file__).parents[2]
# The dashboard's build takes seconds; Node.js has to be fetched first.
BUILD_SECONDS = 300

pytestmark = [pytest.mark.timeout(400), pytest.mark.xdist_group("wheel")]


def checkout(directory: Path) -> Path:
    """The files of the dashboard and its build as they stand, with the dashboard's packages already fetched."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "Makefile", ".ci", "dashboard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(lambda name: (ROOT / name).is_file(), listed.stdout.splitlines()):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, directory / name)
    packages = directory / "dashboard" / "node_modules"
    packages.mkdir()
    for package in (ROOT / "dashboard" / "node_modules").iterdir():
        (packages / package.name).symlink_to(package)
    (packages / ".installed").unlink()
    (packages / ".installed").touch()
    return directory


def path_without_node(directory: Path) -> str:
    """A PATH with every program of this machine's but Node.js and what comes with it."""
    directory.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(place).glob("*"):
            if program.name not in {"node", "nodejs", "npm", "npx"}:
                (directory / program.name).unlink(missing_ok=True)
                (directory / program.name).symlink_to(program)
    return str(directory)


def shorten_build(dashboard: Path) -> None:
    """Let the build only write its page, and say with which Node.js. `make test` has built the real one before any test."""
    package = json.loads((dashboard / "package.json").read_text())
    package["scripts"]["build"] = "node build.mjs"
    (dashboard / "package.json").write_text(json.dumps(package))
    page = "`<script>${process.execPath}</script>`"
    (dashboard / "build.mjs").write_text(
        f"import fs from 'node:fs';\nfs.mkdirSync('../src/tarsy/api/static', {{recursive: true}});\n"
        f"fs.writeFileSync('../src/tarsy/api/static/index.html', {page});\n"
    )


def test_the_dashboard_is_built_where_there_is_no_node(tmp_path: Path) -> None:
    here = checkout(tmp_path / "checkout")
    short = "TARSY_LONG_TESTS" not in os.environ
    if short:
        shorten_build(here / "dashboard")
    # With the pip of these tests: to install another one takes longer than all the rest.
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", here / ".venv"], check=True)
    packages = next((here / ".venv").glob("lib/python*/site-packages"))
    (packages / "pip").symlink_to(Path(pip.__file__).parent)
    environment = {**os.environ, "PATH": path_without_node(tmp_path / "programs")}
    assert shutil.which("npm", path=environment["PATH"]) is None
    built = subprocess.run(
        ["make", "src/tarsy/api/static/index.html"],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "installing the one from PyPI" in built.stdout
    page = (here / "src" / "tarsy" / "api" / "static" / "index.html").read_text()
    assert "<script" in page
    assert str(here / ".venv" / "node") in page or not short
