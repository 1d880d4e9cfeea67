"""The pure rules of the iterating loop: what comes next, when a model goes in circles, what fits its window."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.context_window import TARGET_SHARE, USABLE_SHARE, TokenCounter, fit, tokens_of, without_oldest_turns
from tarsy.agent.iteration_state import ForceConclusion, GiveUp, Iterate, IterationState, next_move, state_after
from tarsy.domain.conversation import ConversationMessage, Message, Role, ToolCall
from tarsy.domain.interaction import LLMInteractionKind
from tarsy.domain.llm import ErrorCode
from tarsy.domain.step import StoredCall

ERRORS = st.sampled_from([None, "timeout", "stalled", "rate_limited", "empty_response"])


@given(st.lists(ERRORS, max_size=30), st.integers(1, 20))
def test_a_continued_loop_stands_where_the_interrupted_one_stood(errors: list[str | None], most: int) -> None:
    state = IterationState(max_iterations=most)
    for error in errors:
        state = state.after_success() if error is None else state.after_failed_call(error, ErrorCode(error))
    calls = [StoredCall(LLMInteractionKind.ITERATION, turn, error) for turn, error in enumerate(errors)]
    assert state_after(calls, most, provider="") == state


@given(st.lists(ERRORS, max_size=30), st.integers(1, 20))
def test_the_loop_never_runs_longer_than_allowed_and_an_outage_uses_up_none_of_it(errors: list[str | None], most: int) -> None:
    state = _after(errors, most)
    move = next_move(state)
    used = sum(error in {None, "empty_response"} for error in errors)
    if used >= most:
        assert isinstance(move, GiveUp if errors[-1] else ForceConclusion)
    else:
        assert (move, state.used) == (Iterate(), used)


def _after(errors: list[str | None], most: int, tool_errors: tuple[str | None, ...] = ()) -> IterationState:
    calls = [StoredCall(LLMInteractionKind.ITERATION, turn, error) for turn, error in enumerate(errors)]
    return state_after(calls, most, provider="", tool_errors=tool_errors)


def test_two_timeouts_in_a_row_end_the_loop_unless_the_model_was_out() -> None:
    late = "k8s.pods did not answer in time"
    assert isinstance(next_move(_after([None, None], 9, (late, late))), GiveUp)
    assert isinstance(next_move(_after([None, "timeout"], 9, (late,))), GiveUp)
    assert isinstance(next_move(_after(["timeout", None], 9, (late,))), GiveUp)
    assert next_move(_after(["timeout", "timeout", "timeout"], 9)) == Iterate(), "it is called again after the wait"
    assert next_move(_after(["timeout", "timeout", None], 9, (late,))) == Iterate(), "timeouts that were waited out do not count"


def test_a_stuck_loop_concludes() -> None:
    assert next_move(IterationState(max_iterations=9, used=3, stuck=True)) == ForceConclusion()


TURNS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4_000)), max_size=25)


def _conversation(turns: list[tuple[int, int]]) -> list[ConversationMessage]:
    messages = [ConversationMessage(Role.SYSTEM, "s" * 200), ConversationMessage(Role.USER, "alert")]
    for number, (calls, size) in enumerate(turns):
        made = tuple(ToolCall(f"{number}-{call}", "k8s.pods", "{}") for call in range(calls))
        messages.append(ConversationMessage(Role.ASSISTANT, "looking", made))
        messages += [ConversationMessage(Role.TOOL, "r" * size, tool_call_id=call.id, tool_name=call.name) for call in made]
    return messages


def _stored(bodies: list[ConversationMessage]) -> list[Message]:
    return [
        Message(id=str(number), execution_id="e", sequence_number=number, body=body, created_at=datetime(2026, 1, 1, tzinfo=UTC))
        for number, body in enumerate(bodies)
    ]


def _pointer(message: Message) -> str | None:
    return "[see above]" if message.body.role is Role.TOOL else None


@given(TURNS, st.integers(500, 20_000))
def test_whatever_is_left_out_calls_and_results_stay_together(turns: list[tuple[int, int]], window: int) -> None:
    messages = _conversation(turns)
    kept = without_oldest_turns(messages, [tokens_of(message) for message in messages], window=window, tool_tokens=0)
    assert kept[:2] == tuple(messages[:2])
    asked = [call.id for message in kept for call in message.tool_calls]
    assert [message.tool_call_id for message in kept if message.role is Role.TOOL] == asked
    if turns:
        assert kept[-1] == messages[-1]


@given(TURNS, st.integers(500, 20_000))
def test_a_conversation_that_fits_is_left_alone_and_one_that_does_not_gets_smaller(turns: list[tuple[int, int]], window: int) -> None:
    bodies = _conversation(turns)
    before = sum(tokens_of(body) for body in bodies)
    counter = TokenCounter()
    compaction = fit(_stored(bodies), counter, window=window, tool_tokens=0, pointer=_pointer)
    after = sum(tokens_of(message.body) for message in compaction.messages)
    newest = max((place for place, body in enumerate(bodies) if body.role is Role.ASSISTANT), default=0)
    compact = [message.body.role is not Role.TOOL or len(message.body.content) <= 400 for message in compaction.messages]
    if before <= window * USABLE_SHARE:
        assert not compaction.replaced
    elif after > window * USABLE_SHARE:
        assert all(compact)
    elif after > window * TARGET_SHARE:
        assert all(compact[:newest])
    assert after <= before
    assert sum(map(counter.count, compaction.messages)) == after, "a message that changes is counted again"
    again = fit(compaction.messages, counter, window=window, tool_tokens=0, pointer=_pointer)
    assert {message_id for message_id, _ in again.replaced}.isdisjoint(message_id for message_id, _ in compaction.replaced)


def test_results_nobody_has_read_yet_stay_whole_while_older_ones_make_room_enough() -> None:
    bodies = _conversation([(1, 800), (1, 2_400)])
    compaction = fit(_stored(bodies), TokenCounter(), window=1_000, tool_tokens=0, pointer=_pointer)
    assert [message.body.content[:5] for message in compaction.messages if message.body.role is Role.TOOL] == ["[see ", "rrrrr"]
