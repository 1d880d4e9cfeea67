"""The tools that an alert asks for itself."""

from typing import Any

import pytest

from support.config_directory import ConfigDirectory
from tarsy.config.resolve.resolver import default_tools, resolve_chain
from tarsy.config.schema.configuration import Config, UnknownEntryError
from tarsy.config.schema.selection import McpSelection, SelectionError, check_selection


@pytest.fixture
def config(directory: ConfigDirectory) -> Config:
    return directory.load("mcp_servers: {logs: {tools: [query, labels], transport: {type: stdio, command: c}}}").config


def select(data: object) -> McpSelection:
    return McpSelection.model_validate(data)


@pytest.mark.parametrize(
    "data",
    [
        {"servers": [{"name": "logs"}]},
        {"servers": [{"name": "logs", "tools": None}]},
        {"servers": [{"name": "logs", "tools": ["query"]}, {"name": "kubernetes-server", "tools": ["anything"]}]},
        {"servers": [{"name": "logs"}], "native_tools": {"google_search": True}},
    ],
)
def test_a_selection_that_can_be_met_has_no_problems(config: Config, data: object) -> None:
    assert check_selection(config, select(data)) == ()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"servers": []}, "mcp.servers: name at least one server, or leave mcp out"),
    ({"servers": [{"name": "log"}]}, 'mcp.servers[0]: there is no MCP server "log"; did you mean "logs"?'),
    (
        {"servers": [{"name": "logs", "tools": ["qery"]}]},
        'mcp.servers[0].tools: server "logs" does not allow the tool "qery"; did you mean "query"?',
    ),
    ({"servers": [{"name": "logs", "tools": []}]}, "mcp.servers[0].tools: name at least one tool, or leave tools out for all"),
    ({"servers": [{"name": "kubernetes-server", "tools": [" "]}]}, "mcp.servers[0].tools: a tool name must not be empty"),
    (
        {"servers": [{"name": "kubernetes-server", "tools": ["a\x00b"]}]},
        "mcp.servers[0].tools: a tool name must not hold control characters",
    ),
    ({"servers": [{"name": "logs"}, {"name": "logs"}]}, 'mcp.servers[1]: server "logs" is named twice'),
]


@pytest.mark.parametrize(("data", "problem"), REFUSED)
def test_a_selection_that_cannot_be_met_is_refused_with_a_reason(config: Config, data: object, problem: str) -> None:
    assert check_selection(config, select(data)) == (problem,)
    with pytest.raises(SelectionError) as caught:
        resolve_chain(config, "kubernetes", select(data))
    assert caught.value.problems == (problem,)


def test_a_tool_that_a_server_was_seen_without_is_refused(config: Config) -> None:
    data = {"servers": [{"name": "logs", "tools": ["labels"]}, {"name": "kubernetes-server", "tools": ["pods_list", "pod_log", "nothing"]}]}
    seen = {"kubernetes-server": frozenset({"pods_list", "pods_log"})}
    assert check_selection(config, select(data), seen.get) == (
        'mcp.servers[1].tools: server "kubernetes-server" has no tool "pod_log"; did you mean "pods_log"?',
        'mcp.servers[1].tools: server "kubernetes-server" has no tool "nothing"; known: pods_list, pods_log',
    )
    assert check_selection(config, select(data), {"logs": frozenset[str]()}.get) == (
        'mcp.servers[0].tools: server "logs" has no tool "labels"; it offers none',
    )


def test_an_unknown_key_in_a_selection_is_refused() -> None:
    with pytest.raises(ValueError, match="Extra inputs"):
        select({"servers": [{"name": "logs", "tool": "query"}]})


def test_the_default_tools_are_those_of_the_chains_agents(config: Config) -> None:
    native_tools = {"google_search": False, "code_execution": False, "url_context": False}
    assert default_tools(config, "kubernetes") == (["kubernetes-server"], native_tools)
    with pytest.raises(UnknownEntryError):
        default_tools(config, "unknown")


def test_the_default_tools_are_known_without_a_model(directory: ConfigDirectory) -> None:
    directory.env = {}
    assert default_tools(directory.load("").config, "kubernetes")[0] == ["kubernetes-server"]
