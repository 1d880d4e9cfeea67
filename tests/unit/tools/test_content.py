"""A tool's answer as text: nothing is dropped."""

import base64
import json
from typing import Any

import pytest

from tarsy.tools.messages import MAX_CONTENT, CallResult, clip_content, render

TEN_BYTES = base64.b64encode(b"0123456789").decode()

BLOCKS: list[tuple[dict[str, Any], str]] = [
    ({"type": "text", "text": "hello"}, "hello"),
    ({"type": "image", "data": TEN_BYTES, "mimeType": "image/png"}, "[image, image/png, 10 bytes]"),
    ({"type": "audio", "data": TEN_BYTES, "mimeType": "audio/wav"}, "[audio, audio/wav, 10 bytes]"),
    (
        {"type": "resource_link", "uri": "file:///log", "name": "log", "mimeType": "text/plain", "description": "of today"},
        "[resource file:///log: log, text/plain, of today]",
    ),
    ({"type": "resource", "resource": {"uri": "file:///log", "text": "line one"}}, "[resource file:///log]\nline one"),
    (
        {"type": "resource", "resource": {"uri": "file:///core", "blob": TEN_BYTES}},
        "[resource file:///core, unknown type, 10 bytes]",
    ),
]


def result(*blocks: dict[str, Any], structured: dict[str, Any] | None = None) -> CallResult:
    return CallResult.model_validate({"content": blocks, "structuredContent": structured})


@pytest.mark.parametrize(("block", "text"), BLOCKS)
def test_every_kind_of_content_is_shown_or_described(block: dict[str, Any], text: str) -> None:
    assert render(result(block)) == text


def test_all_blocks_are_shown_in_their_order() -> None:
    assert render(result(*(block for block, _ in BLOCKS))) == "\n".join(text for _, text in BLOCKS)


def test_structured_content_is_added_unless_the_text_has_it_already() -> None:
    text = {"type": "text", "text": '{"pods": 3}'}
    assert render(result(text, structured={"pods": 3})) == '{"pods": 3}'
    assert render(result(text, structured={"pods": 4})) == '{"pods": 3}\n{\n  "pods": 4\n}'
    assert render(result(structured={"pods": 4})) == '{\n  "pods": 4\n}'


POD = {"kind": "Pod", "Name": "cart-1", "Ready": "1/1", "Restarts": "3 (5m ago)", "Labels": "app=cart", "IP": "<none>"}
ALSO_AS_TEXT = [
    pytest.param('first\nsecond "line"\n', {"content": 'first\nsecond "line"\n'}, id="filesystem server"),
    pytest.param(
        "KIND   NAME     READY   RESTARTS     IP       LABELS\nPod    cart-1   1/1     3 (5m ago)   <none>   app=cart\n",
        {"items": [POD]},
        id="kubernetes-mcp-server, a table",
    ),
    pytest.param(
        "kind: Pod\nspec:\n  replicas: 3\n  paused: false\n", {"kind": "Pod", "spec": {"replicas": 3, "paused": False}}, id="YAML"
    ),
]
NOT_IN_THE_TEXT = [
    pytest.param("Found 3 pods.", {"items": [POD]}, id="a summary"),
    pytest.param("cart-1 is there", {"name": "cart-1", "healthy": False}, id="a truth value"),
    pytest.param("100 done", {"done": 10, "left": 1}, id="a number inside another"),
]


@pytest.mark.parametrize(("text", "structured"), ALSO_AS_TEXT)
def test_structured_content_that_only_repeats_the_text_is_not_sent_twice(text: str, structured: dict[str, Any]) -> None:
    assert render(result({"type": "text", "text": text}, structured=structured)) == text


@pytest.mark.parametrize(("text", "structured"), NOT_IN_THE_TEXT)
def test_structured_content_that_says_more_than_the_text_is_kept(text: str, structured: dict[str, Any]) -> None:
    assert json.loads(render(result({"type": "text", "text": text}, structured=structured)).removeprefix(text)) == structured


def test_an_empty_answer_says_so() -> None:
    assert render(result()) == "(no output)"


def test_an_oversized_answer_is_cut_at_a_line_and_says_how_much_is_missing() -> None:
    text = "a line of text\n" * 100_000
    clipped = clip_content(text)
    kept, _, notice = clipped.rpartition("\n… ")
    assert len(kept) <= MAX_CONTENT
    assert kept.endswith("a line of text")
    assert f"{len(text) - len(kept)} of {len(text)} characters omitted" in notice
    assert clip_content("short") == "short"


def test_structured_content_of_very_many_values_is_shown_only_without_a_text() -> None:
    rows = {"rows": list(range(20_000))}
    assert render(result({"type": "text", "text": "20000 rows"}, structured=rows)) == "20000 rows"
    assert render(result(structured=rows)).splitlines()[2:4] == ["    0,", "    1,"]


def test_integers_above_64_bits_are_shown() -> None:
    for rows in ([2**70], [2**70, *range(20_000)]):
        assert json.loads(render(result(structured={"rows": rows}))) == {"rows": rows}
