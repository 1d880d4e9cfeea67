"""`tarsy tools`, as a person uses it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from support.paths import FAULT_SERVER, UNPRIVILEGED
from support.warm_tarsy import warm_command


@pytest.fixture
def config(tmp_path: Path) -> str:
    transport = {"type": "stdio", "command": sys.executable, "args": ["-S", str(FAULT_SERVER)]}
    server = {"transport": transport, "data_masking": {"pattern_groups": ["all"]}, "approval": "never"}
    plain = {"transport": transport, "approval": "never"}
    bare = {"transport": transport, "data_masking": {"enabled": False}, "approval": "never"}
    missing = {"transport": {"type": "stdio", "command": "no-such-program"}}
    (tmp_path / "tarsy.yaml").write_text(
        yaml.safe_dump({"mcp_servers": {"fault": server, "plain": plain, "bare": bare, "missing": missing}})
    )
    return str(tmp_path)


def run(*arguments: str) -> tuple[int, str, str]:
    # In a process of its own: the command sets up logging for the whole process it runs in.
    done = subprocess.run([*warm_command(), "tools", *arguments], capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def test_tools_are_listed_with_what_they_promise_and_a_server_that_cannot_be_used_fails_the_command(config: str) -> None:
    code, out, error = run("list", "fault", "missing", "--config", config)
    assert code == 1
    assert ["fault.echo", "read-only", "does", "echo"] in [line.split() for line in out.splitlines()]
    assert "Tool server 'missing' is not available" in error


def test_a_call_prints_the_masked_result(config: str) -> None:
    code, out, _ = run("call", "fault.echo", json.dumps({"text": "password=hunter2"}), "--config", config)
    assert (code, out) == (0, "password=[MASKED_PASSWORD]\n")


@pytest.mark.parametrize(("server", "shown"), [("plain", "JWT_SECRET=[MASKED_SECRET_KEY]\n"), ("bare", "JWT_SECRET=x7Qp2vLm9Rt4\n")])
def test_a_server_that_says_nothing_of_masking_is_masked_and_one_that_switches_it_off_is_not(config: str, server: str, shown: str) -> None:
    code, out, _ = run("call", f"{server}.echo", json.dumps({"text": "JWT_SECRET=x7Qp2vLm9Rt4"}), "--config", config)
    assert (code, out) == (0, shown)


def test_a_failed_call_fails_the_command(config: str) -> None:
    code, out, error = run("call", "fault.say_error", "--config", config)
    assert (code, out) == (1, "")
    assert "pod not found" in error


def test_an_unknown_server_is_a_mistake_that_names_the_known_ones(config: str) -> None:
    code, _, error = run("call", "nope.echo", "--config", config)
    assert code == 2
    assert "fault" in error


def test_a_server_that_prints_its_cause_and_then_its_usage_is_reported_with_the_cause(tmp_path: Path) -> None:
    lines = [
        "npm warn invalid config",
        "Error: kubeconfig /root/.kube/config: no such file",
        "Usage:",
        *(f"  --flag-{n}" for n in range(60)),
    ]
    program = f"import sys; sys.stderr.write({chr(10).join(lines) + chr(10)!r}); sys.exit(1)"
    transport = {"type": "stdio", "command": sys.executable, "args": ["-S", "-c", program]}
    (tmp_path / "tarsy.yaml").write_text(yaml.safe_dump({"mcp_servers": {"dying": {"transport": transport, "approval": "never"}}}))
    code, _, error = run("list", "dying", "--config", str(tmp_path))
    assert code == 1
    assert "Its last output: Error: kubeconfig /root/.kube/config: no such file | … | " in error


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's environment to others")
def test_a_tool_server_cannot_read_the_keys_in_our_environment(config: str) -> None:
    """Nor in that of any other process of ours; root may read everything, so the right to do so is given up first."""
    tarsy = Path(sys.executable).with_name("tarsy")
    command = [sys.executable, "-S", UNPRIVILEGED, sys.executable, tarsy, "tools", "call", "fault.ancestors", "--config", config]
    env = os.environ | {"VENDOR_KEY": "the-words-of-a-key"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    *supervisors, ours = json.loads(done.stdout)
    assert ours == "refused"
    assert len(supervisors) == 2
    assert not any("the-words-of-a-key" in environment for environment in supervisors)
