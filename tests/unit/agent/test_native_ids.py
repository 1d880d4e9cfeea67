"""Calls by function calling: every call of an execution has an id of its own, whatever the model sends."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.model_call import ModelAnswer
from tarsy.agent.tool_calls import NativeToolCalls, WantsTools
from tarsy.domain.conversation import ToolCall

IDS = st.sampled_from(["", "call_0", "call_1", "call-3-1", "call-5-1"])


@given(st.lists(st.lists(IDS, min_size=1, max_size=4), max_size=6))
def test_ids_are_unique_over_all_answers_and_kept_where_they_are(answers: list[list[str]]) -> None:
    taken: set[str] = set()
    for number, sent in enumerate(answers):
        answer = ModelAnswer(tool_calls=tuple(ToolCall(call_id, "k8s.pods", "{}") for call_id in sent))
        turn = NativeToolCalls().parse(answer, 3 + 2 * number, taken)
        assert isinstance(turn, WantsTools)
        ids = [call.id for call in turn.calls]
        assert len(set(ids)) == len(ids)
        assert all(ids)
        assert taken.isdisjoint(ids)
        for got, wanted in zip(ids, sent, strict=True):
            if wanted.startswith("call_") and wanted not in taken and sent.count(wanted) == 1:
                assert got == wanted
        taken.update(ids)
