"""A snapshot answers what was recorded, and says what it has when it was not."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.recording import RecordedCatalog, RecordedTool, Recording
from tarsy.domain.tool import ToolDefinition
from tarsy.evals.worlds.loading import read_snapshot
from tarsy.evals.worlds.snapshot import RecordedSession, SnapshotUnreadableError, canonical, merged, read_results, written

RESULTS = {
    'kubectl_get:{"kind": "pods", "namespace": "shop", "all": false}': "cart-1 Running",
    'kubectl_get:{"kind": "nodes"}': "worker-a1 Ready",
    'loki.query:{"expr": "{app=\\"cart\\"}", "limit": 100}': "no such host",
}
SNAPSHOT = read_results(RESULTS, "results.json")


def test_a_recorded_call_is_answered_whatever_the_order_of_its_arguments() -> None:
    answer = SNAPSHOT.answer("snapshot.kubectl_get", {"namespace": "shop", "all": False, "kind": "pods"})
    assert (answer.text, answer.is_error) == ("cart-1 Running", False)


@pytest.mark.parametrize("arguments", [{"kind": "pods", "namespace": "shop"}, {"kind": "nodes", "namespace": "", "labels": None}])
def test_the_same_call_without_its_defaults_is_the_same_call(arguments: dict[str, Any]) -> None:
    assert not SNAPSHOT.answer("snapshot.kubectl_get", arguments).is_error


def test_zero_is_no_default() -> None:
    assert SNAPSHOT.answer("loki.query", {"expr": '{app="cart"}', "limit": 0}).is_error


def test_a_call_that_was_not_recorded_names_the_nearest_that_was() -> None:
    answer = SNAPSHOT.answer("snapshot.kubectl_get", {"kind": "pods", "namespace": "shoop"})
    assert answer.is_error
    assert 'The nearest that it holds: {"all":false,"kind":"pods","namespace":"shop"}; {"kind":"nodes"}' in answer.text


def test_tools_are_offered_with_the_arguments_that_were_used() -> None:
    offered = {tool.name: tool.parameters_schema["properties"] for tool in SNAPSHOT.tools}
    assert offered["loki.query"] == {"expr": {"type": "string"}, "limit": {"type": "integer"}}
    assert set(offered["snapshot.kubectl_get"]) == {"kind", "namespace", "all"}


arguments = st.dictionaries(
    st.text(min_size=1, max_size=5), st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)), max_size=4
)


@given(st.lists(st.tuples(st.sampled_from(["a.b", "c"]), arguments, st.text(max_size=10)), max_size=6))
def test_what_is_written_is_read_again(calls: list[tuple[str, dict[str, Any], str]]) -> None:
    results = {f"{tool}:{canonical(given)}": text for tool, given, text in calls}
    snapshot = merged([read_results(results, "one")])
    again = read_results(json.loads(written(snapshot)), "again")
    assert again == snapshot
    for one in snapshot.results:
        assert again.answer(one.tool, one.arguments).text == one.text


@pytest.mark.parametrize(
    ("data", "reported"),
    [([], "a JSON object of calls"), ({"tool:{": "x"}, "is no call"), ({":{}": "x"}, "is no call"), ({"tool:{}": 7}, "is no text")],
)
def test_what_is_no_snapshot_is_refused_with_the_part_that_is_wrong(data: object, reported: str) -> None:
    with pytest.raises(SnapshotUnreadableError, match=reported):
        read_results(data, "file.json")


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{", encoding="utf-8")
    with pytest.raises(SnapshotUnreadableError, match=r"x\.json: this is not JSON"):
        read_snapshot(tmp_path / "x.json")


def test_a_recorded_session_offers_the_tools_it_had_and_answers_as_they_did() -> None:
    recording = Recording(
        catalogs=(RecordedCatalog(track="t", tools=(ToolDefinition(name="k.get", description="Reads."),)),),
        tools=(
            RecordedTool(track="t", call_id="1", name="k.get", arguments='{"a": 1}', content="one"),
            RecordedTool(track="u", call_id="2", name="k.get", arguments='{"a": 2}', content="refused", is_error=True),
        ),
    )
    world = RecordedSession(recording)
    assert [tool.description for tool in world.tools] == ["Reads."]
    assert (world.answer("k.get", {"a": 1}).text, world.answer("k.get", {"a": 2}).is_error) == ("one", True)
    assert "holds no result" in world.answer("k.get", {"a": 3}).text
