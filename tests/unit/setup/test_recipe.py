"""Shipped recipes: what they write loads, keeps what is there, and names no program that a caller chose."""

from pathlib import Path

import pytest
import yaml

from tarsy.config.load.loader import load_config
from tarsy.setup.recipes import FieldKind, StepRefusedError, checked_fields, recipes, server_of, with_server
from tarsy.setup.template_files import CannotMergeError

ENV = {"OPENAI_API_KEY": "k", "KUBECONFIG": "k"}
WRITING = [name for name, recipe in recipes().items() if recipe.entry]


def values_of(name: str, directory: Path) -> dict[str, str]:
    (directory / "file").touch()
    samples = {FieldKind.FILE: str(directory / "file"), FieldKind.ADDRESS: "http://grafana:3000", FieldKind.SECRET: "s3"}
    return {field.variable: samples[field.kind] for field in recipes()[name].fields}


@pytest.mark.parametrize("name", WRITING)
def test_a_recipe_written_twice_into_an_empty_file_is_a_configuration_that_loads(name: str, tmp_path: Path) -> None:
    recipe, env = recipes()[name], {**ENV, **values_of(name, tmp_path)}
    before = load_config(None, ENV).config
    text = with_server("# mine\n", recipe, before)
    assert text.startswith("# mine\n")
    (tmp_path / "tarsy.yaml").write_text(text)
    config = load_config(tmp_path, env).config
    assert with_server(text, recipe, config) == text
    for agent in recipe.agents:
        assert config.agents[agent].mcp_servers == ("kubernetes-server", recipe.server)
    assert server_of(recipe, before).transport == server_of(recipe, config).transport


def test_two_recipes_give_an_agent_both_servers_and_keep_what_is_there(tmp_path: Path) -> None:
    written = "queue: {worker_count: 2}\nagents:\n  ChangeAgent:\n    mcp_servers: [kubernetes-server]   # ours\n"
    (tmp_path / "tarsy.yaml").write_text(written)
    env = {**ENV, **values_of("grafana", tmp_path), **values_of("github", tmp_path)}
    for name in ("grafana", "github"):
        text = with_server((tmp_path / "tarsy.yaml").read_text(), recipes()[name], load_config(tmp_path, env).config)
        (tmp_path / "tarsy.yaml").write_text(text)
    config = load_config(tmp_path, env).config
    assert config.queue.worker_count == 2
    assert config.agents["KubernetesAgent"].mcp_servers == ("kubernetes-server", "grafana", "github")
    assert config.agents["ChangeAgent"].mcp_servers == ("kubernetes-server", "github")
    assert "# ours" in (tmp_path / "tarsy.yaml").read_text()


def test_a_file_that_would_be_broken_is_left_to_its_author(tmp_path: Path) -> None:
    written = "agents:\n  ChangeAgent:\n    mcp_servers:\n      - kubernetes-server\n    description: Ours\n"
    (tmp_path / "tarsy.yaml").write_text(written)
    config = load_config(tmp_path, ENV).config
    try:
        text = with_server(written, recipes()["github"], config)
    except (CannotMergeError, yaml.YAMLError):
        return
    assert yaml.safe_load(text)["agents"]["ChangeAgent"] == {"mcp_servers": ["kubernetes-server", "github"], "description": "Ours"}


def test_fields_are_checked_and_never_quoted(tmp_path: Path) -> None:
    assert checked_fields(recipes()["kubernetes"], values_of("kubernetes", tmp_path)) == {"KUBECONFIG": str(tmp_path / "file")}
    for name, values, message in (
        ("kubernetes", {"KUBECONFIG": "/no/such-hunter2"}, "no such file"),
        ("kubernetes", {}, "fill this in"),
        ("grafana", {"GRAFANA_URL": "file:///hunter2", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "t"}, "such as http://localhost:3000"),
        ("github", {"GITHUB_MCP_TOKEN": "t", "command": "hunter2"}, "no field 'command'"),
    ):
        with pytest.raises(StepRefusedError, match=message) as refused:
            checked_fields(recipes()[name], values)
        assert "hunter2" not in str(refused.value)
