"""The first five minutes: samples on a recorded or a real model, refusals that help, `.env`, `tarsy demo`, `init` and `doctor`."""

import json
import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest

from support.dashboard_sessions import wait_for_end
from support.tarsy_process import Tarsy, plain_environment, served
from support.vendor_server import vendor_server
from support.vendors import Answer, ChatCompletions
from support.warm_tarsy import warm_command
from tarsy.cli.config import Template
from tarsy.config.load.loader import load_config
from tarsy.config.schema.configuration import vendor_variables
from tarsy.wiring.installation import SampleChains

pytestmark = [pytest.mark.xdist_group("demo"), pytest.mark.timeout(200)]


def _local_model(directory: Path, url: str) -> None:
    directory.mkdir(exist_ok=True)
    provider = {"type": "openai", "model": "qwen3:8b", "base_url": f"{url}/v1"}
    (directory / "llm-providers.yaml").write_text(json.dumps({"llm_providers": {"local": provider}}))


def _beyond_directories(errors: str) -> list[str]:
    """The output, without the line that root's database had to open directories for its own account."""
    return [line for line in errors.splitlines() if "database.directory_opened" not in line]


def test_demo_shows_an_investigation_and_answers_its_questions(tarsy: Tarsy, tmp_path: Path) -> None:
    # Neither the installation's tokens nor a proxy for the way out concern a program that talks to itself.
    env = {"TARSY_DATA_DIR": str(tmp_path / "data"), "TARSY_API_TOKENS": "alice=wonderland", "HTTP_PROXY": "http://127.0.0.1:1"}
    run = tarsy("demo", "crashloop", "--fast", "--ask", cwd=tmp_path, env=env)
    assert run.returncode == 0, run.stderr
    assert "The model is recorded; the cluster is simulated." in run.stdout
    for part in ("→ cluster.pods_list", "Summary", "Analysis", "completed after"):
        assert part in run.stdout
    # The answers follow; the investigation is not printed again.
    assert run.stdout.count('→ cluster.pods_list {"namespace": "shop", "label_selector": "app=cart"}') == 1
    assert "Hardly, but the margin is thin." in run.stdout
    assert "In the repository that Argo CD syncs" in run.stdout
    # Before the investigation and again above its result.
    assert run.stdout.count("RECORDED MODEL") == 2
    assert _beyond_directories(run.stderr) == []


def test_an_unknown_sample_is_answered_with_those_there_are(tarsy: Tarsy, tmp_path: Path) -> None:
    run = tarsy("demo", "crashlop", cwd=tmp_path)
    assert run.returncode == 2
    assert "crashloop" in run.stderr


def test_without_a_model_samples_are_recorded_and_other_alerts_are_answered_with_what_to_set(database_url: str, tmp_path: Path) -> None:
    with served(tmp_path, env={"DATABASE_URL": database_url}) as server, server.client() as http:
        assert all(sample["recorded"] for sample in http.get("/api/v1/samples").json()["samples"])
        refused = http.post("/api/v1/alerts", json={"data": "disk full on db-3"})
        assert refused.status_code == 503
        for name in (name for names in vendor_variables().values() for name in names):
            assert name in refused.json()["detail"]
        assert "tarsy init local-model" in refused.json()["detail"]
        as_sample = http.post("/api/v1/alerts", json={"data": "disk full on db-3", "alert_type": "sample-crashloop"})
        assert as_sample.status_code == 400
        for part in ("sample-crashloop", "a recording", "OPENAI_API_KEY", "tarsy init local-model"):
            assert part in as_sample.json()["detail"]
        sample = next(sample for sample in http.get("/api/v1/samples").json()["samples"] if sample["alert_type"] == "sample-crashloop")
        own = json.loads(sample["alert_data"])
        together = [http.post("/api/v1/webhook?alert_type=sample-crashloop", json=[own, other]) for other in ({**own, "id": "x"}, own)]
        assert [answer.status_code for answer in together] == [400, 202]
        assert together[0].json()["detail"] == as_sample.json()["detail"]
        warnings = http.get("/api/v1/system/warnings").json()["warnings"]
        assert sum("no model is configured" in warning["message"] for warning in warnings) == 1


def test_a_sample_alert_is_taken_however_its_json_is_laid_out_and_its_session_answers_a_terminal(
    tarsy: Tarsy, database_url: str, tmp_path: Path
) -> None:
    with served(tmp_path, env={"DATABASE_URL": database_url}) as server, server.client() as http:
        sample = next(sample for sample in http.get("/api/v1/samples").json()["samples"] if sample["name"] == "crashloop")
        as_text = json.dumps(json.loads(sample["alert_data"]), indent=7)
        for data in (sample["alert_data"] + "\n", as_text, json.loads(sample["alert_data"])):
            taken = http.post("/api/v1/alerts", json={"data": data, "alert_type": sample["alert_type"]})
            assert taken.status_code == 202, taken.text
            session = taken.json()["session_id"]
            assert http.get(f"/api/v1/sessions/{session}").json()["recorded"] is True
        wait_for_end(http, session)
        asked = tarsy("ask", session, sample["questions"][0], "--url", server.url, cwd=tmp_path)
        assert (asked.returncode, asked.stderr) == (0, "")
        assert "Hardly, but the margin is thin." in asked.stdout
        unknown = tarsy("ask", session, "Who are you?", "--url", server.url, cwd=tmp_path)
        assert (unknown.returncode, "which has answers to these questions only" in unknown.stdout + unknown.stderr) == (1, True)


async def test_with_a_model_samples_run_on_it_against_the_simulated_cluster(database_url: str, tmp_path: Path) -> None:
    model = ChatCompletions()
    async with vendor_server() as vendor:
        _local_model(tmp_path / "config", vendor.url)
        vendor.replies.extend(model.reply(Answer(text=(answer,))) for answer in ("It was the config map.", "A config map broke it."))
        with anyio.fail_after(100):
            run = await anyio.run_process(
                [*warm_command(), "demo", "crashloop"], cwd=tmp_path, env=plain_environment(DATABASE_URL=database_url), check=False
            )
        asked = vendor.bodies
    answered = run.stdout.decode()
    assert run.returncode == 0, run.stderr
    assert "The model is qwen3:8b (local)" in answered
    assert "It was the config map." in answered
    assert any("pods_list" in tool["function"]["name"] for tool in asked[0]["tools"])


def test_a_sample_on_a_real_model_keeps_what_is_configured_for_it(tmp_path: Path) -> None:
    _local_model(tmp_path, "http://127.0.0.1:1")
    (tmp_path / "tarsy.yaml").write_text(
        "defaults: {llm_provider: local, tool_calling: react, llm_call_timeout: 8m}\nqueue: {session_timeout: 1h}\n"
    )
    config = load_config(tmp_path, {"KUBECONFIG": "k"}).config
    for offered in SampleChains(config).alert_types():
        chain = SampleChains(config).resolve(offered.name, None)
        agents = [agent for stage in chain.stages for agent in stage.agents]
        assert {(agent.provider.name, agent.tool_calling, agent.llm_call_timeout) for agent in agents} == {("local", "react", 480)}
        assert chain.session_timeout == 3600


def test_samples_play_through_an_llm_service_too(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    service = subprocess.Popen(
        [*warm_command(), "llm-service", "--port", "0"],
        cwd=tmp_path,
        env=plain_environment(TARSY_REPLAY_SPEED="0"),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert service.stdout
        address = service.stdout.readline().split()[-1]
        env = {"DATABASE_URL": database_url, "TARSY_LLM_SERVICE_ADDR": address}
        run = tarsy("demo", "--fast", cwd=tmp_path, env=env)
        examined = tarsy("doctor", "--port", "0", cwd=tmp_path, env=env)
    finally:
        service.terminate()
        service.communicate(timeout=60)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr
    assert "completed after" in run.stdout
    assert f"ok    LLM service   {address} answers" in examined.stdout
    alone = tarsy("doctor", "--port", "0", cwd=tmp_path, env=env)
    assert alone.returncode == 1
    assert f"fail  LLM service   the LLM service at {address} cannot be reached" in alone.stdout


def test_dotenv_holds_settings_of_the_process_too(tarsy: Tarsy, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"TARSY_DATA_DIR={tmp_path / 'elsewhere'}\nTARSY_API_TOKENS=alice=wonderland\n")
    run = tarsy("db", "current", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "elsewhere" / "postgres").is_dir()
    with served(tmp_path) as server:
        assert httpx.get(f"{server.url}/api/v1/samples").status_code == 401
        assert httpx.get(f"{server.url}/api/v1/samples", headers={"Authorization": "Bearer wonderland"}).status_code == 200


def test_a_setting_that_means_nothing_is_reported_in_a_sentence(tarsy: Tarsy, tmp_path: Path) -> None:
    run = tarsy("demo", "--fast", cwd=tmp_path, env={"TARSY_REPLAY_SPEED": "fast"})
    assert (run.returncode, run.stderr.count("\n")) == (1, 1)
    assert 'TARSY_REPLAY_SPEED is "fast"' in run.stderr


@pytest.mark.parametrize("template", list(Template))
def test_init_writes_a_configuration_that_loads(tarsy: Tarsy, template: Template, tmp_path: Path) -> None:
    run = tarsy("init", template, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    loaded = load_config(tmp_path / "config", {"OPENAI_API_KEY": "k", "KUBECONFIG": "k"})
    assert loaded.warnings == ()
    written = {file: file.read_text() for file in (tmp_path / "config").iterdir()}
    again = tarsy("init", template, cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")
    assert {file: file.read_text() for file in (tmp_path / "config").iterdir()} == written


def test_init_for_a_second_purpose_adds_what_the_first_lacks_and_keeps_what_was_changed(tarsy: Tarsy, tmp_path: Path) -> None:
    tarsy("init", "kubernetes", cwd=tmp_path)
    file = tmp_path / "config" / "tarsy.yaml"
    file.write_text(file.read_text().replace("alert_type: kubernetes ", "alert_type: my-alerts ") + "# The end.\n")
    changed = file.read_text().replace("[kubernetes]", "[my-alerts]")
    file.write_text(changed)
    run = tarsy("init", "local-model", "--model", "qwen3:8b", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "kept your defaults.alert_type: my-alerts" in run.stdout
    assert set(changed.splitlines()) < set(file.read_text().splitlines())
    config = load_config(tmp_path / "config", {"KUBECONFIG": "k"}).config
    assert (config.defaults.llm_provider, config.defaults.alert_type) == ("local", "my-alerts")
    tarsy("init", "local-model", "--model", "other", cwd=tmp_path)
    assert load_config(tmp_path / "config", {"KUBECONFIG": "k"}).config.llm_providers["local"].model == "other"


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_init_shows_what_it_would_change_and_asks_at_a_terminal(warm: tuple[str, ...], tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "config" / "tarsy.yaml"
    file.parent.mkdir()
    file.write_text("# Ours.\ndefaults:\n  alert_type: kubernetes  # the only one\n")
    written = file.read_text()

    def answered(answer: str) -> subprocess.CompletedProcess[str]:
        ours, its = pty.openpty()
        os.write(ours, f"{answer}\n".encode())
        command = [*warm, "init", "kubernetes", *options]
        done = subprocess.run(command, cwd=tmp_path, env=plain_environment(), stdin=its, capture_output=True, text=True, check=False)
        os.close(ours)
        os.close(its)
        return done

    no = answered("n")
    assert (no.returncode, file.read_text()) == (1, written)
    assert {one.name for one in file.parent.iterdir()} == {"tarsy.yaml"}
    assert "\n+agents:\n" in no.stdout
    yes = answered("y")
    assert (yes.returncode, written in file.read_text()) == (0, not options)
    assert "Make these changes?" not in answered("n").stdout


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_init_leaves_out_what_the_files_of_tarsy_d_say_already(tarsy: Tarsy, tmp_path: Path, options: tuple[str, ...]) -> None:
    pieces = tmp_path / "config" / "tarsy.d"
    pieces.mkdir(parents=True)
    (pieces / "team.yaml").write_text("agents: {KubernetesAgent: {description: ours}}\ndefaults: {alert_type: kubernetes}\n")
    run = tarsy("init", "kubernetes", *options, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "  kept agents.KubernetesAgent of config/tarsy.d/team.yaml\n" in run.stdout
    config = load_config(tmp_path / "config", {"OPENAI_API_KEY": "k", "KUBECONFIG": "k"}).config
    assert (config.agents["KubernetesAgent"].description, config.defaults.runbook[:8]) == ("ours", "Find out")


def test_init_overwrites_only_when_asked_to_and_takes_any_address_and_name(tarsy: Tarsy, tmp_path: Path) -> None:
    target = tmp_path / "config" / "llm-providers.yaml"
    target.parent.mkdir()
    target.write_text("mine")
    refused = tarsy("init", "local-model", cwd=tmp_path)
    assert refused.returncode == 1
    assert "--force" in refused.stderr
    assert [file.name for file in target.parent.iterdir()] == ["llm-providers.yaml"]
    assert target.read_text() == "mine"
    run = tarsy("init", "local-model", "--force", "--url", "http://gpu.lan:8000/v1", "--model", 'odd: "name" # here', cwd=tmp_path)
    assert run.returncode == 0
    provider = load_config(target.parent, {"KUBECONFIG": "k"}).config.llm_providers["local"]
    assert (provider.base_url, provider.model) == ("http://gpu.lan:8000/v1", 'odd: "name" # here')


def test_the_doctor_says_what_a_fresh_installation_cannot_do_yet(tarsy: Tarsy, tmp_path: Path) -> None:
    run = tarsy("doctor", "--port", "0", cwd=tmp_path, env={"TARSY_DATA_DIR": str(tmp_path / "data")})
    assert run.returncode == 1, run.stdout
    lines = {line.split()[1]: line.split()[0] for line in run.stdout.splitlines() if line.startswith(("ok", "warn", "fail"))}
    assert lines == {
        "Python": "ok",
        "disk": "ok",
        "database": "ok",
        "port": "ok",
        "configuration": "ok",
        "model": "fail",
        "tools": "fail",
    }
    assert "cannot investigate your alerts yet" in run.stdout
    assert "2 to fix. The samples need neither a model nor tools: tarsy demo" in run.stdout
    assert "KUBECONFIG is not set" in run.stdout
    assert "set OPENAI_API_KEY" in run.stdout
    assert run.stderr == ""


def test_the_doctor_says_what_to_do_about_everything_at_once(tarsy: Tarsy, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "tarsy.yaml").write_text("queue: {worker_cont: 1, poll_interval: soon}\n")
    # Nobody listens on port 1.
    env = {"DATABASE_URL": "postgresql://u:secret@127.0.0.1:1/d", "OPENAI_API_KEY": "k"}
    run = tarsy("doctor", "--port", "0", cwd=tmp_path, env=env)
    assert run.returncode == 1
    assert "worker_cont" in run.stdout
    assert "poll_interval" in run.stdout
    assert "fail  database" in run.stdout
    assert "secret" not in run.stdout
    assert "3 to fix." in run.stdout


def test_the_doctor_names_the_files_that_the_configuration_is_split_over(tarsy: Tarsy, tmp_path: Path) -> None:
    pieces = tmp_path / "config" / "tarsy.d"
    pieces.mkdir(parents=True)
    (pieces / "team.yaml").write_text("defaults: {max_iterations: 3}\n")
    run = tarsy("doctor", "--port", "0", cwd=tmp_path, env={"TARSY_DATA_DIR": str(tmp_path / "data")})
    assert "config with tarsy.d/team.yaml; chains: kubernetes" in run.stdout
    (pieces / "team.yaml").write_text("defaults: {max_iteration: 3}\n")
    again = tarsy("doctor", "--port", "0", cwd=tmp_path, env={"TARSY_DATA_DIR": str(tmp_path / "data")})
    assert "config/tarsy.d/team.yaml:1: defaults.max_iteration: unknown key" in again.stdout
    assert again.returncode == 1


def test_the_doctor_tells_a_port_taken_by_tarsy_from_one_taken_by_others(tarsy: Tarsy, database_url: str, tmp_path: Path) -> None:
    with served(tmp_path, env={"DATABASE_URL": database_url}) as server:
        run = tarsy("doctor", "--port", server.url.rpartition(":")[2], cwd=tmp_path, env=server.env)
    assert f"ok    port          TARSy already runs at {server.url}/" in run.stdout
    with socket.create_server(("127.0.0.1", 0)) as taken:
        run = tarsy("doctor", "--port", str(taken.getsockname()[1]), cwd=tmp_path, env=server.env)
    assert run.returncode == 1
    assert "choose another one: tarsy serve --port" in run.stdout


async def test_the_doctor_calls_the_models_and_starts_the_tool_servers_when_asked(database_url: str, tmp_path: Path) -> None:
    model = ChatCompletions()
    async with vendor_server() as vendor:
        models = {name: {"type": "openai", "model": "qwen3:8b", "base_url": f"{vendor.url}/v1"} for name in ("local", "spare")}
        server = {"type": "stdio", "command": sys.executable, "args": ["-P", "-m", "tarsy.demo.cluster", "--incident", "crashloop"]}
        defaults = {"llm_provider": "local", "fallback_providers": [{"provider": "spare"}]}
        config = {"mcp_servers": {"kubernetes-server": {"transport": server}}, "defaults": defaults}
        (tmp_path / "config").mkdir()
        (tmp_path / "config" / "llm-providers.yaml").write_text(json.dumps({"llm_providers": models}))
        (tmp_path / "config" / "tarsy.yaml").write_text(json.dumps(config))
        vendor.replies += [model.reply(Answer(text=("ready",))), model.error(401, "who are you")]
        with anyio.fail_after(100):
            run = await anyio.run_process(
                [*warm_command(), "doctor", "--call", "--port", "0"],
                cwd=tmp_path,
                env=plain_environment(DATABASE_URL=database_url),
                check=False,
            )
    answered = run.stdout.decode()
    assert "ok    call          local answers (5 characters)" in answered, answered + run.stderr.decode()
    assert "fail  call          spare: " in answered
    assert "kubernetes-server: " in answered
    assert "1 to fix." in answered
