"""`tarsy config` as a person runs it: a process, its output, its exit status."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import yaml

from support.tarsy_process import tarsy
from support.warm_tarsy import warm_command
from tarsy import __version__


def tarsy_config(*arguments: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return tarsy("config", *arguments, cwd=cwd, env=env, command=warm_command())


def test_check_lists_every_mistake_and_exits_with_one(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("queue:\n  worker_cont: 1\n  poll_interval: soon\ndefaults:\n  iteration_strategy: react\n")
    (tmp_path / "llm-providers.yaml").write_text("llm_providers:\n  m: {type: opnai, model: m}\n")
    run = tarsy_config("check", "--config", tmp_path, cwd=tmp_path)
    assert run.returncode == 1
    assert run.stdout == ""
    vendors = "'google', 'openai', 'anthropic', 'xai', 'vertexai' or 'replay'"
    assert run.stderr.splitlines() == [
        f'{tmp_path}/llm-providers.yaml:2: llm_providers.m.type: "opnai" is not one of {vendors}; did you mean "openai"?',
        f'{tmp_path}/tarsy.yaml:2: queue.worker_cont: unknown key "worker_cont"; did you mean "worker_count"?',
        f'{tmp_path}/tarsy.yaml:3: queue.poll_interval: this is not a duration: "soon"; write 90s, 15m, 1h30m, 500ms or a number of seconds',
        f"{tmp_path}/tarsy.yaml:5: defaults.iteration_strategy: iteration_strategy: react is no longer a key; write instead:",
        "    tool_calling: react",
        "4 problems in the configuration",
    ]


def test_the_server_refuses_to_start_with_the_same_list(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("queue:\n  worker_cont: 1\n  poll_interval: soon\nagents: {A: {mcp_servers: [x]}}\n")
    checked = tarsy_config("check", "--config", tmp_path, cwd=tmp_path)
    served = tarsy(
        "serve", "--config", tmp_path, "--port", "0", cwd=tmp_path, env={"TARSY_DATA_DIR": str(tmp_path / "data")}, command=warm_command()
    )
    assert served.returncode == checked.returncode == 1
    assert served.stderr.splitlines() == checked.stderr.splitlines()[:-1]
    assert len(served.stderr.splitlines()) == 3


def test_check_of_a_good_configuration_says_so(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("defaults: {memory: {}}\n")
    run = tarsy_config("check", "--config", tmp_path, cwd=tmp_path, OPENAI_API_KEY="k", KUBECONFIG="k")
    assert (run.returncode, run.stdout) == (0, f"{tmp_path}: ok (2 chains, 12 agents, 1 MCP server)\n")
    assert run.stderr == f"{tmp_path}/tarsy.yaml:1: defaults.memory: memory is accepted but has no effect yet\n"


def test_check_puts_the_files_of_tarsy_d_together_and_names_them(tmp_path: Path) -> None:
    (tmp_path / "tarsy.d").mkdir()
    (tmp_path / "tarsy.d" / "web.yaml").write_text("agents:\n  Web: {}\n")
    (tmp_path / "tarsy.d" / "shop.yaml").write_text("agents:\n  Shop: {}\n")
    run = tarsy_config("check", "--config", tmp_path, cwd=tmp_path, OPENAI_API_KEY="k", KUBECONFIG="k")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"{tmp_path} with tarsy.d/shop.yaml, tarsy.d/web.yaml: ok (2 chains, 14 agents, 1 MCP server)\n"
    (tmp_path / "tarsy.d" / "web.yaml").write_text("agents:\n  Shop: {}\n")
    twice = tarsy_config("check", "--config", tmp_path, cwd=tmp_path, OPENAI_API_KEY="k", KUBECONFIG="k")
    reported = (
        f"{tmp_path}/tarsy.d/web.yaml:2: agents.Shop: agents.Shop is already set in {tmp_path}/tarsy.d/shop.yaml:2; keep one of the two"
    )
    assert (twice.returncode, twice.stderr.splitlines()[0]) == (1, reported)


def test_check_says_of_which_servers_tools_need_an_approval(tmp_path: Path) -> None:
    transport = "transport: {type: stdio, command: uvx}"
    servers = {
        "default": "",
        "named": ", tools: [restart]",
        "trusted": ", approval: never",
        "strict": ", approval: always, tools: [restart]",
    }
    entries = "".join(f"  {name}: {{{transport}{more}}}\n" for name, more in servers.items())
    (tmp_path / "tarsy.yaml").write_text(f"mcp_servers:\n{entries}")
    run = tarsy_config("check", "--config", tmp_path, cwd=tmp_path, OPENAI_API_KEY="k", KUBECONFIG="k")
    warnings = [line for line in run.stderr.splitlines() if "approval" in line]
    assert run.returncode == 0
    assert [line.partition(" need a person's approval")[0].rpartition("approval: ")[2] for line in warnings] == [
        "calls of tools that may destroy something",
        "calls of all tools",
    ]
    assert "tarsy.yaml:2" in warnings[0]


def test_show_prints_the_effective_configuration_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("mcp_servers: {m: {transport: {type: http, url: 'http://h', bearer_token: hunter2}}}\n")
    run = tarsy_config("show", "--config", tmp_path, cwd=tmp_path)
    assert run.returncode == 0
    shown = yaml.safe_load(run.stdout)
    assert shown["mcp_servers"]["m"]["transport"]["bearer_token"] == "***"
    assert shown["queue"]["worker_count"] == 5
    assert "hunter2" not in run.stdout + run.stderr


def test_show_explains_where_each_field_came_from(tmp_path: Path) -> None:
    (tmp_path / "tarsy.yaml").write_text("defaults: {max_iterations: 3}\nagent_chains: {kubernetes: {tool_calling: react}}\n")
    run = tarsy_config(
        "show", "--config", tmp_path, "--resolved", "kubernetes", "--origin", "--json", cwd=tmp_path, GOOGLE_API_KEY="k", KUBECONFIG="k"
    )
    agent = json.loads(run.stdout)["analysis / KubernetesAgent"]
    assert agent["max_iterations"] == {"value": 3, "from": "defaults"}
    assert agent["tool_calling"] == {"value": "react", "from": "chain"}
    assert agent["mcp_servers"] == {"value": ["kubernetes-server"], "from": "agent"}
    assert agent["provider"] == {"value": "google-default", "from": "environment"}
    assert agent["llm_backend"] == {"value": "langchain", "from": "built-in"}


def test_show_resolved_prints_what_a_session_would_run_with(tmp_path: Path) -> None:
    run = tarsy_config("show", "--resolved", "kubernetes", cwd=tmp_path, OPENAI_API_KEY="k")
    chain = yaml.safe_load(run.stdout)
    assert chain["stages"][0]["agents"][0]["provider"]["model"] == "gpt-5.2"


def test_show_resolved_without_a_model_says_what_to_set(tmp_path: Path) -> None:
    run = tarsy_config("show", "--resolved", "kubernetes", cwd=tmp_path)
    assert run.returncode == 1
    assert "OPENAI_API_KEY" in run.stderr
    assert "Traceback" not in run.stderr


def test_an_unknown_chain_is_reported_with_a_guess(tmp_path: Path) -> None:
    run = tarsy_config("show", "--resolved", "kubernets", cwd=tmp_path)
    assert (run.returncode, run.stderr) == (1, 'there is no chain "kubernets"; did you mean "kubernetes"?\n')


def test_schema_prints_and_writes_json_schemas(tmp_path: Path) -> None:
    for name in ("tarsy", "llm-providers"):
        jsonschema.Draft202012Validator.check_schema(json.loads(tarsy_config("schema", name, cwd=tmp_path).stdout))
    run = tarsy_config("schema", "--write", tmp_path, cwd=tmp_path)
    assert run.returncode == 0
    assert sorted(path.name for path in tmp_path.glob("*.json")) == ["llm-providers.schema.json", "tarsy.schema.json"]


def test_the_command_line_imports_only_what_its_help_needs(tmp_path: Path) -> None:
    heavy = ("pydantic", "sqlalchemy", "fastapi", "structlog", "httpx", "rich", "tarsy.wiring", "tarsy.domain", "tarsy.db")
    program = f"import sys, tarsy.cli.main; print(*sorted(set(sys.modules) & {{*{heavy!r}}}))"
    run = subprocess.run([sys.executable, "-P", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "\n"


def test_the_program_says_its_version_and_its_commands(tmp_path: Path) -> None:
    assert tarsy("--version", cwd=tmp_path, command=warm_command()).stdout == f"tarsy {__version__}\n"
    reported = tarsy("--help", cwd=tmp_path)
    assert all(command in reported.stdout for command in ("serve", "investigate", "demo", "doctor", "init"))
    wrong = tarsy("sevre", cwd=tmp_path, command=warm_command())
    assert (wrong.returncode, "Traceback" in wrong.stderr) == (2, False)
