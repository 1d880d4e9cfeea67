"""What a model was asked, as a command: the question is whole, and no secret is in it."""

import json
import subprocess
from typing import Any

import pytest

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role, ToolCall
from tarsy.domain.llm import ProviderType
from tarsy.domain.tool import ToolDefinition
from tarsy.llm.curl import as_curl

PODS = ToolDefinition("k8s.pods", "List pods.", {"type": "object", "properties": {"ns": {"type": "string"}}})
# Whatever a shell would read is data.
NASTY = 'It\'s "$HOME" `id` $(id)\nJSON\n\\ é'
MESSAGES = (
    ConversationMessage(Role.SYSTEM, "Be brief."),
    ConversationMessage(Role.USER, NASTY),
    ConversationMessage(Role.ASSISTANT, "", (ToolCall("c1", "k8s.pods", '{"ns": "shop"}'),)),
    ConversationMessage(Role.TOOL, "0/1 ready", (), "c1", "k8s.pods"),
)
TOOLS = (PODS,)


def provider(kind: ProviderType, **more: Any) -> ResolvedProvider:
    return ResolvedProvider(name="one", type=kind, model="model-1", **more)


def ran(command: str, **env: str) -> tuple[list[str], dict[str, Any]]:
    """The arguments and the body that curl would get, by the shell's own reading."""
    script = 'curl() { for one in "$@"; do printf "%s\\0" "$one"; done; cat; }\n' + command
    out = subprocess.run(["/bin/sh", "-c", script], env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, check=True).stdout.decode()
    *arguments, body = out.split("\0")
    return arguments, json.loads(body)


@pytest.mark.parametrize(
    ("kind", "env", "address", "header"),
    [
        (ProviderType.OPENAI, {"OPENAI_API_KEY": "k"}, "https://api.openai.com/v1/chat/completions", "Authorization: Bearer k"),
        (ProviderType.XAI, {"XAI_API_KEY": "k"}, "https://api.x.ai/v1/chat/completions", "Authorization: Bearer k"),
        (ProviderType.ANTHROPIC, {"ANTHROPIC_API_KEY": "k"}, "https://api.anthropic.com/v1/messages", "x-api-key: k"),
        (
            ProviderType.GOOGLE,
            {"GOOGLE_API_KEY": "k"},
            "https://generativelanguage.googleapis.com/v1beta/models/model-1:generateContent",
            "x-goog-api-key: k",
        ),
    ],
)
def test_a_command_asks_the_vendor_with_a_key_that_only_the_shell_knows(
    kind: ProviderType, env: dict[str, str], address: str, header: str
) -> None:
    arguments, body = ran(as_curl(provider(kind), MESSAGES, TOOLS), **env)
    assert arguments[:2] == ["-sS", address]
    assert header in arguments
    reported = json.dumps(body, ensure_ascii=False)
    assert json.dumps(NASTY, ensure_ascii=False) in reported
    assert all(word in reported for word in ("Be brief.", "k8s__pods", "0/1 ready", "shop", "List pods."))


def test_every_side_of_a_conversation_takes_its_turn() -> None:
    _, anthropic = ran(as_curl(provider(ProviderType.ANTHROPIC), MESSAGES, TOOLS))
    assert [turn["role"] for turn in anthropic["messages"]] == ["user", "assistant", "user"]
    assert [block["text"] for block in anthropic["system"]] == ["Be brief."]
    _, google = ran(as_curl(provider(ProviderType.GOOGLE), MESSAGES, TOOLS))
    assert [turn["role"] for turn in google["contents"]] == ["user", "model", "user"]


def test_claude_is_asked_for_a_conclusion_in_a_way_that_it_does_not_refuse() -> None:
    """It refuses texts of nothing but white space, and a conversation with calls in it that offers no tools."""
    call = ConversationMessage(Role.ASSISTANT, "\n\n", (ToolCall("c1", "k8s.pods", '{"ns": "shop"}'),))
    conclude = ConversationMessage(Role.USER, "Conclude.")
    _, body = ran(as_curl(provider(ProviderType.ANTHROPIC), (*MESSAGES[:2], call, MESSAGES[3], conclude), ()))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]
    assert [block["type"] for block in body["messages"][2]["content"]] == ["tool_result", "text"]
    assert [tool["name"] for tool in body["tools"]] == ["k8s__pods"]
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize("kind", [ProviderType.GOOGLE, ProviderType.VERTEXAI])
def test_gemini_is_shown_that_the_signatures_of_calls_are_lost(kind: ProviderType) -> None:
    """From version 3 on it refuses calls without any."""
    two_calls = ConversationMessage(Role.ASSISTANT, "I look.", (ToolCall("c1", "k8s.pods", "{}"), ToolCall("c2", "k8s.pods", "{}")))
    signatures: dict[str, list[Any]] = {}
    for model in ("gemini-3-pro", "gemini-2.5-pro"):
        command = as_curl(provider(kind).model_copy(update={"model": model}), (*MESSAGES[:2], two_calls, MESSAGES[3]), TOOLS)
        _, body = ran(command)
        signatures[model] = [part.get("thoughtSignature") for part in body["contents"][1]["parts"]]
    assert signatures == {"gemini-3-pro": [None, "skip_thought_signature_validator", None], "gemini-2.5-pro": [None, None, None]}


def test_an_address_keeps_its_variables_and_loses_its_password() -> None:
    command = as_curl(
        provider(ProviderType.OPENAI, base_url="https://me:hunter2@{{.HOST}}/v1/$(id)", api_key_env="MY_KEY"), MESSAGES, TOOLS
    )
    assert "hunter2" not in command
    arguments, _ = ran(command, HOST="proxy.example", MY_KEY="k")
    assert arguments[1] == "https://proxy.example/v1/$(id)/chat/completions"
    assert "Authorization: Bearer k" in arguments


def test_vertex_is_asked_with_the_callers_own_identity() -> None:
    command = as_curl(provider(ProviderType.VERTEXAI, project_env="MY_PROJECT"), MESSAGES, TOOLS)
    assert "$(gcloud auth print-access-token)" in command
    arguments, _ = ran(command, MY_PROJECT="p-1", GOOGLE_CLOUD_LOCATION="eu")
    assert "/projects/p-1/locations/eu/publishers/google/" in arguments[1]
    claude = provider(ProviderType.VERTEXAI).model_copy(update={"model": "claude-opus-4"})
    assert "/publishers/anthropic/models/claude-opus-4:rawPredict" in as_curl(claude, MESSAGES, TOOLS)


def test_a_name_that_is_no_variable_is_never_written_into_a_command() -> None:
    command = as_curl(provider(ProviderType.OPENAI, api_key_env="A; rm -rf /"), MESSAGES, TOOLS)
    assert "rm -rf" not in command
    assert "$OPENAI_API_KEY" in command
