"""The built-in tool that reads again what a conversation no longer holds."""

import json
import re
from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.ports import ToolExecutor
from tarsy.agent.toolbox.read_result import DEFINITION, PAGE, ReadResult, excerpt, shown_document
from tarsy.agent.toolbox.toolbox import toolbox
from tarsy.domain.conversation import ToolCall
from tarsy.domain.evidence import ALERT, RUNBOOK, AnsweredCall, Evidence
from tarsy.domain.tool import ToolCalling, ToolCatalog, ToolDefinition, ToolOutcome, ToolResult
from tarsy.kit.clock import FixedClock
from tarsy.tools.masking.masker import Unmasked

LONG = "".join(f"line {number}\n" for number in range(4_000))


class NoTools:
    """An executor with one tool that is never used."""

    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog((ToolDefinition("k8s.pods", "List pods."),))

    async def execute(self, call: ToolCall, on_output: Callable[[str], None]) -> ToolResult:
        del on_output
        raise AssertionError(f"{call.name} is not for the servers")


class NoServers(NoTools):
    async def list_tools(self) -> ToolCatalog:
        return ToolCatalog()


class Stored:
    async def read(self, execution_id: str, call_id: str) -> ToolOutcome | None:
        return ToolOutcome(LONG, is_error=False) if (execution_id, call_id) == ("mine", "c1") else None

    async def cited(self, execution_id: str, ids: Collection[str] | None = None) -> list[Evidence]:
        return [Evidence(id="A7", text=LONG)] if (execution_id, tuple(ids or ())) == ("mine", ("A7",)) else []

    async def answered(self, execution_id: str) -> list[AnsweredCall]:
        assert execution_id == "mine"
        return []


def reader(servers: ToolExecutor, *, in_part: bool = False) -> ToolExecutor:
    documents = {ALERT: "an alert", RUNBOOK: "a runbook"}
    read_result = ReadResult(Stored(), execution_id="mine", documents=documents, in_part=in_part)
    return toolbox(servers, (read_result,), tool_calling=ToolCalling.REACT, mask=Unmasked(), clock=FixedClock())


READER = reader(NoTools())


async def read(arguments: str) -> ToolResult:
    await READER.list_tools()
    return await READER.execute(ToolCall("again", DEFINITION.name, arguments), lambda _: None)


async def test_it_is_offered_beside_the_servers_own_tools() -> None:
    assert [tool.name for tool in (await READER.list_tools()).tools] == ["k8s.pods", DEFINITION.name]


async def test_an_agent_without_tools_gets_it_only_when_there_is_something_to_read() -> None:
    for in_part, names in ((False, []), (True, [DEFINITION.name])):
        assert [tool.name for tool in (await reader(NoServers(), in_part=in_part).list_tools()).tools] == names


@pytest.mark.parametrize(
    "arguments",
    [
        '{"id": "A7", "offset": 4000}',
        '{"id": "[A7]", "offset": "4000"}',
        "id: A7\noffset: 4000",
        "id=A7, offset=4000",
        # As conversations say that were begun before results had ids.
        '{"call_id": "c1", "offset": 4000}',
        "call_id: c1\noffset: 4000",
    ],
)
async def test_arguments_are_understood_in_every_form_a_model_writes(arguments: str) -> None:
    result = await read(arguments)
    assert not result.is_error
    assert result.content.startswith(f"[characters 4000 to {4000 + PAGE} of {len(LONG)}]\n{LONG[4000:4100]}")


@pytest.mark.parametrize("arguments", ["A7", '"A7"', '{"id": "A7"}'])
async def test_a_bare_id_is_read_from_the_beginning(arguments: str) -> None:
    assert (await read(arguments)).content.startswith(f"[characters 0 to {PAGE} of {len(LONG)}]\nline 0\n")


@pytest.mark.parametrize("arguments", ['{"id": "A8"}', "{}", '{"id": "A7", "offset": -1}', '{"id": "A7", "offset": "far"}', ""])
async def test_what_cannot_be_read_says_why(arguments: str) -> None:
    result = await read(arguments)
    assert result.is_error
    assert result.refused
    assert "id in brackets" in result.content or "offset" in result.content


@pytest.mark.parametrize(("name", "text"), [(ALERT, "an alert"), (RUNBOOK, "a runbook"), ("alert", "an alert")])
async def test_the_alert_and_its_runbook_can_be_read_too(name: str, text: str) -> None:
    assert (await read(name)).content.endswith(text)


@given(st.text(min_size=1, max_size=3 * PAGE))
def test_reading_on_page_by_page_gives_the_whole(text: str) -> None:
    pages: list[str] = []
    while sum(map(len, pages)) < len(text):
        offset = sum(map(len, pages))
        head, _, page = excerpt(text, {"offset": offset}).partition("\n")
        assert head.startswith(f"[characters {offset} to ")
        pages.append(page[: min(PAGE, len(text) - offset)])
    assert "".join(pages) == text


@given(st.text(min_size=1, max_size=3 * PAGE))
def test_reading_backwards_page_by_page_gives_the_whole(text: str) -> None:
    pages: list[str] = []
    while (left := len(text) - sum(map(len, pages))) > 0:
        _, _, page = excerpt(text, {"offset": left, "from_end": True}).partition("\n")
        pages.insert(0, page[: min(PAGE, left)])
    assert "".join(pages) == text


@pytest.mark.parametrize("from_end", [False, True], ids=["forwards", "backwards"])
def test_a_search_goes_on_where_it_stopped_until_every_place_was_shown(*, from_end: bool) -> None:
    text = "".join(f"{number:05} needle {'.' * 700}\n" for number in range(50))
    arguments: dict[str, Any] = {"search": "needle", "from_end": from_end}
    seen: list[str] = []
    while True:
        found = excerpt(text, arguments)
        seen += re.findall(r"(\d{5}) needle", found)
        more = re.search(r"search again with offset (\d+)", found)
        if more is None:
            break
        arguments["offset"] = int(more[1])
    assert sorted(seen) == [f"{number:05}" for number in range(50)]


@given(st.text(alphabet="ab \n", max_size=5_000), st.text(alphabet="ab", min_size=1, max_size=4))
def test_a_search_finds_what_is_there_and_is_bounded(text: str, search: str) -> None:
    found = excerpt(text, {"search": search})
    assert ("does not occur" in found) == (search not in text)
    if search in text:
        number, line = next((number, line) for number, line in enumerate(text.split("\n"), 1) if search in line)
        assert len(line) > 2_000 or f"\n{number}:{line}" in found
    assert len(found) < 20_000


@given(st.text(max_size=50), st.dictionaries(st.sampled_from(["offset", "search"]), st.integers(0, 100) | st.just("a")))
def test_whatever_the_schema_allows_is_answered(text: str, arguments: dict[str, int | str]) -> None:
    allowed = {key: value for key, value in arguments.items() if isinstance(value, str) == (key == "search")}
    assert isinstance(excerpt(text, json.loads(json.dumps(allowed))), str)


def test_a_document_is_shown_whole_or_with_how_to_read_the_rest() -> None:
    assert shown_document(RUNBOOK, "short", 10, read_tool="read") == "short"
    assert 'read, id "RUNBOOK"' in shown_document(RUNBOOK, "x" * 100, 10, read_tool="read")
    assert "RUNBOOK" not in shown_document(RUNBOOK, "x" * 100, 10, read_tool=""), "an agent without tools could not call it"


def test_a_document_in_a_dense_script_is_measured_by_what_it_costs() -> None:
    alert = "\u78c1\u76e4" * 50
    assert shown_document(ALERT, alert, 300, read_tool="read") == alert
    assert shown_document(ALERT, alert, 152, read_tool="read").startswith(alert[:50] + "… [50 characters omitted]")


TABLE = "NAME   READY\ncart-0 1/1\ncart-1 0/1\npay-0  1/1\ncart-2 0/1\n"


def test_a_search_gives_whole_lines_with_their_numbers_like_grep() -> None:
    assert excerpt(TABLE, {"search": "0/1"}) == "[2 of 2 lines that match; 6 lines in all]\n3:cart-1 0/1\n--\n5:cart-2 0/1"
    assert excerpt(TABLE, {"search": "pay", "context": 1}).splitlines()[1:] == ["3-cart-1 0/1", "4:pay-0  1/1", "5-cart-2 0/1"]
    assert "does not occur" in excerpt(TABLE, {"search": "web"})


@given(st.lists(st.sampled_from(["alpha", "beta", "alpha beta", ""]), min_size=1, max_size=120), st.booleans())
def test_searching_on_gives_every_line_that_matches_once(lines: list[str], backwards: bool) -> None:  # noqa: FBT001 - drawn
    text, numbers = "\n".join(lines), list[int]()
    arguments: dict[str, Any] = {"search": "alpha", "from_end": backwards}
    while True:
        found = excerpt(text, arguments)
        page = [(int(line.partition(":")[0]), line.partition(":")[2]) for line in found.splitlines() if re.match(r"\d+:", line)]
        assert all(lines[number - 1] == line for number, line in page)
        numbers = [*([number for number, _ in page]), *numbers] if backwards else [*numbers, *(number for number, _ in page)]
        more = re.search(r"search again with offset (\d+)", found)
        if more is None:
            break
        arguments["offset"] = int(more[1])
    assert numbers == [number for number, line in enumerate(lines, 1) if "alpha" in line]


def test_of_a_very_long_line_the_surroundings_of_the_match_are_shown() -> None:
    found = excerpt("x" * 50_000 + "NEEDLE" + "y" * 50_000, {"search": "NEEDLE"})
    assert "NEEDLE" in found
    assert len(found) < 1_000
