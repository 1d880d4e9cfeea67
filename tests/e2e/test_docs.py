"""Every command of the README and the manual is run as it is written; what cannot run here is checked against the files it names."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from typer.main import get_command

from support.document_blocks import Block, blocks_of, commands_in_the_text
from support.tarsy_process import Served, plain_environment, served
from support.warm_tarsy import SIMULATED_CLUSTER
from tarsy.cli.main import app
from tarsy.config.load.loader import load_config
from tarsy.demo.samples import load_sample
from tarsy.domain.recording import Recording
from tarsy.evals.cases import load_cases

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = {document: blocks_of(document) for document in DOCUMENTS}
SHELL, PYTHON, YAML = "sh", "python", "yaml"
# What may stand in a fence; without a word it is a picture or an output, never a command.
LANGUAGES = {SHELL, PYTHON, YAML, "json", ""}
ADDRESS = "http://127.0.0.1:8080"
SECONDS = 280.0

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("docs")]

# A chain for kubernetes alerts that needs no model and no cluster: a recorded one, and the simulated one of a sample.
CONFIG = f"""
defaults: {{llm_provider: recorded}}
mcp_servers:
  kubernetes-server: &cluster
    transport: {{type: stdio, command: {sys.executable}, args: [-P, -m, tarsy.demo.cluster, --incident, crashloop]}}
  cluster: *cluster
agent_chains:
  kubernetes:
    alert_types: [kubernetes]
    stages: [{{name: investigation, agents: [{{name: KubernetesAgent}}]}}]
    scoring: {{enabled: true}}
"""
PROVIDERS = "llm_providers: {{recorded: {{type: replay, recording: '{}'}}}}\n"

# `tarsy serve` and `tarsy llm-service` run until somebody stops them: here as soon as they are ready, on any free port.
# `make` says what it would do: everything it does, the tests have done already.
PREAMBLE = r"""
set -euo pipefail
tarsy() {
  if [ "$1" = serve ] || [ "$1" = llm-service ]; then
    local said ready line; said="$(mktemp --dry-run)"; mkfifo "$said"
    "$TARSY_BIN" "$@" --port 0 > "$said" 2> "$said.err" &
    local server=$!
    # Up to its end, if it never says so.
    exec 3< "$said"
    while read -r line <&3; do case "$line" in *http://*|*listening*) ready=yes; break ;; esac; done
    [ -n "${ready:-}" ] || { cat "$said.err" >&2; return 1; }
    kill $server; wait $server || true
    exec 3<&-
  elif [ "$1" = init ]; then
    # A reader chooses one of the ways; from here on it is their configuration that counts.
    rm -rf config
    "$TARSY_BIN" "$@"
    unset TARSY_CONFIG_DIR
  elif [ "$1 ${2:-}" = "eval run" ]; then
    # The tests of the suite try all cases: here one is enough, with the tag and the recording that the options ask for.
    "$TARSY_BIN" "$@" --case sample-image-pull
  elif [ "$1" = demo ] && [ "$2" != crashloop ]; then
    # All samples are played by their contract tests: here it is enough that there is one of this name, and that the options are understood.
    [ -e "$SHOWN/samples" ] || "$TARSY_BIN" samples list > "$SHOWN/samples"
    grep "^$2 " "$SHOWN/samples" > /dev/null
    once "$@" --help > /dev/null
  elif [ "$1" = demo ] || [ "$1" = doctor ] || [ "$1" = samples ]; then
    once "$@"
  else
    "$TARSY_BIN" "$@"
  fi
}
# What another page has shown already, in the same surroundings, would only be the same again.
once() {
  local key; key="$SHOWN/$({ echo "$@"; cat .env config/* "${TARSY_CONFIG_DIR:-none}"/* || true; } 2> /dev/null | sha256sum | cut -c 1-64)"
  if [ ! -e "$key" ]; then
    local status=0
    "$TARSY_BIN" "$@" || status=$?
    echo $status > "$key"
  fi
  return "$(cat "$key")"
}
# A stream of events has no end.
curl() { case "$*" in *events*) command curl --max-time 1 "$@" || [ $? = 28 ] ;; *) command curl --fail-with-body "$@" ;; esac; }
make() { command make --dry-run --directory "$ROOT" "$@" > /dev/null; }
pip() { case "$2" in *dist/*.whl) ;; *) return 1 ;; esac; }
kubectl() { echo 'Name: api-7f9c'; }
"""


def _answer_to_any_alert() -> Recording:
    """What the sample's model says, as a recording written by hand: it names no alert and no questions, so it fits all."""
    calls = load_sample("crashloop").recording.calls
    return Recording(calls=tuple(call.model_copy(update={"question": None}) for call in calls))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, module_database_url: str, warm: tuple[str, ...]) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("documented")
    (directory / "config").mkdir()
    (directory / "config" / "tarsy.yaml").write_text(CONFIG)
    (directory / "spoken.json").write_text(_answer_to_any_alert().model_dump_json(exclude_defaults=True))
    (directory / "config" / "llm-providers.yaml").write_text(PROVIDERS.format(directory / "spoken.json"))
    (directory / "shown").mkdir()
    (directory / "tarsy").write_text(f'#!/bin/sh\nexec {shlex.join(warm)} "$@"\n')
    # The package that the template starts would be fetched, and find no cluster.
    (directory / "npx").write_text(f"#!/bin/sh\nexec {shlex.join([*warm, *SIMULATED_CLUSTER])} --incident crashloop\n")
    for program in ("tarsy", "npx"):
        (directory / program).chmod(0o755)
    with served(directory, env={"DATABASE_URL": module_database_url}) as running:
        with running.client() as http:
            session = http.post("/api/v1/alerts", json={"data": "the pod cart-6f7b9c4d8-tw5bd crash-loops"}).json()["session_id"]
            with http.stream("GET", f"/api/v1/sessions/{session}/events", params={"last_event_id": 0}) as events:
                assert any('"session.completed"' in line for line in events.iter_lines())
        yield running


def _documents_with(language: str) -> list[Path]:
    return [document for document in DOCUMENTS if any(block.language == language and not block.not_run for block in BLOCKS[document])]


def _id(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def _environment(server: Served, home: Path) -> dict[str, str]:
    # Its own home, so that nobody's ~/.kube/config or data is touched.
    env = plain_environment(**server.env)
    return env | {
        "HOME": str(home),
        "PATH": f"{server.cwd}:{env['PATH']}",
        "ROOT": str(ROOT),
        "SHOWN": str(server.cwd / "shown"),
        "TARSY_BIN": str(server.cwd / "tarsy"),
        "TARSY_URL": server.url,
        "TARSY_CONFIG_DIR": str(server.cwd / "config"),
    }


@pytest.mark.parametrize("document", _documents_with(SHELL), ids=_id)
def test_every_command_of_a_document_runs(document: Path, server: Served, database_url: str, tmp_path: Path) -> None:
    commands = "\n".join(block.text for block in BLOCKS[document] if block.language == SHELL and not block.not_run)
    commands = commands.replace(ADDRESS, server.url).replace("postgresql://tarsy:secret@db.example.com:5432/tarsy", database_url)
    authority = trustme.CA()
    certificate = authority.issue_cert("llm.example.com")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    with server.client() as http:
        session = http.get("/api/v1/sessions", params={"status": "completed", "limit": 1}).json()["sessions"][0]["id"]
    run = subprocess.run(
        ["bash", "-c", PREAMBLE + f"ID={session}\n" + commands],
        cwd=tmp_path,
        env=_environment(server, tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, f"{run.stdout[-3000:]}\n{run.stderr[-3000:]}"
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("document", _documents_with(PYTHON), ids=_id)
def test_every_python_example_runs(document: Path, server: Served, tmp_path: Path) -> None:
    for block in (block for block in BLOCKS[document] if block.language == PYTHON):
        run = subprocess.run(
            [
                sys.executable,
                "-P",
                "-c",
                block.text.replace(ADDRESS, server.url).replace("ws://127.0.0.1:8080", server.url.replace("http", "ws")),
            ],
            cwd=tmp_path,
            env=_environment(server, tmp_path),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert run.returncode == 0, f"{_id(document)}:{block.line}\n{run.stdout}\n{run.stderr}"
        assert run.stdout.startswith("completed "), run.stdout


EXAMPLES = [(document, block) for document in DOCUMENTS for block in BLOCKS[document] if block.language == YAML]


@pytest.mark.parametrize(("document", "block"), EXAMPLES, ids=[f"{_id(document)}:{block.line}" for document, block in EXAMPLES])
def test_every_yaml_example_is_a_configuration_or_a_case_that_loads(document: Path, block: Block, tmp_path: Path) -> None:
    if "expect" in yaml.safe_load(block.text):
        (tmp_path / "case.yaml").write_text(block.text)
        (tmp_path / "world.yaml").touch()
        assert load_cases(tmp_path)
        return
    name = "llm-providers.yaml" if "llm_providers" in yaml.safe_load(block.text) else "tarsy.yaml"
    (tmp_path / name).write_text(block.text)
    env = dict.fromkeys(re.findall(r"\{\{\.(\w+)\}\}|\b([A-Z][A-Z_]+_(?:KEY|CREDENTIALS|PROJECT))\b", block.text), "x")
    named = {one or other: "http://localhost:1" for one, other in env}
    secrets = dict.fromkeys(["OPENAI_API_KEY", "KUBECONFIG", "SLACK_BOT_TOKEN", *re.findall(r"_env: (\w+)", block.text)], "k")
    load_config(tmp_path, {**secrets, **named})


@pytest.mark.parametrize("document", DOCUMENTS, ids=_id)
def test_every_fence_says_what_it_holds(document: Path) -> None:
    for block in BLOCKS[document]:
        assert block.language in LANGUAGES, f"line {block.line}"
        if not block.language:
            commands = [line for line in block.text.splitlines() if line.split(maxsplit=1)[:1] in (["tarsy"], ["curl"], ["make"])]
            assert commands == [], f"line {block.line}: commands are written in a fence marked sh, so that they are run"


NOT_RUN = [(document, block) for document in DOCUMENTS for block in BLOCKS[document] if block.not_run]


@pytest.mark.parametrize(("document", "block"), NOT_RUN, ids=[f"{_id(document)}:{block.line}" for document, block in NOT_RUN])
def test_what_cannot_run_here_names_files_and_commands_that_exist(document: Path, block: Block) -> None:
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        for word in words:
            if word.startswith("deploy/"):
                assert (ROOT / word).exists(), word
        if "tarsy" in words[:1]:
            _assert_understood(line)


ANSWERED = [(document, command) for document in DOCUMENTS for command in commands_in_the_text(document)]


@pytest.mark.parametrize(("document", "command"), ANSWERED, ids=[f"{_id(document)}: {command}" for document, command in ANSWERED])
def test_every_command_in_a_sentence_is_one_that_the_program_understands(document: Path, command: str) -> None:
    del document
    _assert_understood(command)


def _assert_understood(line: str) -> None:
    """The command exists and has the options; whether it does what the manual says, other tests show."""
    words = shlex.split(line, comments=True)[1:]
    command: Any = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    plain = [word for word in words if not word.startswith("-")]
    assert not (plain and hasattr(command, "commands")), f"{line}: there is no such command"
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {"--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line


def _commands() -> set[str]:
    program: Any = get_command(app)
    return set(program.commands)


def test_every_json_example_is_json() -> None:
    for document in DOCUMENTS:
        for block in BLOCKS[document]:
            if block.language == "json":
                json.loads(block.text)


def test_every_command_of_the_program_is_documented() -> None:
    text = "\n".join(document.read_text() for document in DOCUMENTS)
    assert [command for command in sorted(_commands()) if f"tarsy {command}" not in text] == []
