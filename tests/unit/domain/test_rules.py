"""Rules of the nouns."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.recording import RecordedOutcome
from tarsy.domain.replay import Difference, differences
from tarsy.domain.session import SessionClose, with_cancellation
from tarsy.domain.stage import SuccessPolicy, stage_status
from tarsy.domain.status import SESSION_TRANSITIONS, RunStatus, SessionStatus, sources_of
from tarsy.domain.tool import ApprovalPolicy, ToolDefinition, ToolName, approval_reason

ENDS = [status for status in RunStatus if status.is_final]


@given(st.sampled_from(list(SessionStatus)), st.sampled_from(list(SessionStatus)))
def test_a_session_comes_only_from_where_the_table_says(source: SessionStatus, target: SessionStatus) -> None:
    assert (source in sources_of(target, SESSION_TRANSITIONS)) == (target in SESSION_TRANSITIONS[source])


@given(st.lists(st.sampled_from(ENDS), min_size=1, max_size=6), st.sampled_from(list(SuccessPolicy)))
def test_a_stage_ends_as_its_policy_and_its_agents_say(statuses: list[RunStatus], policy: SuccessPolicy) -> None:
    result = stage_status(statuses, policy)
    succeeded = (all if policy is SuccessPolicy.ALL else any)(status is RunStatus.COMPLETED for status in statuses)
    others = {status for status in statuses if status is not RunStatus.COMPLETED}
    if succeeded:
        assert result is RunStatus.COMPLETED
    elif len(others) == 1:
        assert result in others
    else:
        assert result is RunStatus.FAILED


def test_a_session_asked_to_stop_ends_cancelled_and_keeps_its_analysis() -> None:
    close = SessionClose(status=SessionStatus.COMPLETED, completed_at=datetime(2026, 1, 1, tzinfo=UTC), final_analysis="the disk")
    ended = with_cancellation(close, cancel_requested=True)
    assert (ended.status, ended.final_analysis, ended.analysis_is_partial) == (SessionStatus.CANCELLED, "the disk", True)
    assert with_cancellation(close, cancel_requested=False) is close


@pytest.mark.parametrize(
    ("text", "expected"), [("k8s.pods", ("k8s", "pods")), (" a.b.c ", ("a", "b.c")), ("pods", None), (".x", None), ("x.", None)]
)
def test_tool_names_are_split_at_the_first_dot(text: str, expected: tuple[str, str] | None) -> None:
    parsed = ToolName.parse(text)
    assert (parsed and (parsed.server, parsed.tool)) == expected


def test_two_runs_that_say_the_same_do_not_differ_and_every_difference_is_named() -> None:
    message = {"role": "user", "content": "x"}
    one = RecordedOutcome(status="completed", final_analysis="a", conversations={"t": (message,)})
    other = RecordedOutcome(status="failed", final_analysis="a", conversations={"t": (message, message)}, timeline=({"track": "t"},))
    assert differences(one, one) == []
    assert [difference.where for difference in differences(one, other)] == ["status", "conversation t, message 2", "timeline, event 1"]


def test_a_difference_is_shown_around_the_place_where_two_texts_part() -> None:
    same, rest = "The cause is known. " * 300, " and nothing else." * 300
    conversations = [{"t": ({"role": "user", "content": f"{same}{word}{rest}"},)} for word in ("a leak in the cart", "a full disk")]
    one, other = (RecordedOutcome(status="completed", conversations=reported) for reported in conversations)
    [difference] = differences(one, other)
    first, recorded, replayed = str(difference).splitlines()
    assert first == f"conversation t, message 1, content, character {len(same) + 3}"
    assert recorded == "  recorded: …e cause is known. The cause is known. a leak in the cart and nothing else. and nothing else. and…"
    assert replayed == "  replayed: …e cause is known. The cause is known. a full disk and nothing else. and nothing else. and…"


@pytest.mark.parametrize(("one", "other"), [("", "abc"), ("abc", "abcabc"), ("aa", "a"), ("x" * 900, "y")])
def test_texts_of_which_one_is_part_of_the_other_are_shown_too(one: str, other: str) -> None:
    _, recorded, replayed = str(Difference("w", one, other)).splitlines()
    assert recorded.removeprefix("  recorded: ")[:200] == one[:200]
    assert replayed == f"  replayed: {other}"


def test_the_order_of_what_ran_side_by_side_is_no_difference() -> None:
    def shown(*events: tuple[str, str]) -> RecordedOutcome:
        return RecordedOutcome(
            status="completed", timeline=tuple({"track": "t", "event_type": kind, "content": text} for kind, text in events)
        )

    results, summaries = [("tool_result", "a"), ("tool_result", "b")], [("mcp_tool_summary", "a"), ("mcp_tool_summary", "b")]
    recorded = shown(*results, *summaries)
    assert differences(recorded, shown(*results, *summaries[::-1])) == []
    assert len(differences(recorded, shown(*results[::-1], *summaries))) == 2
    assert len(differences(recorded, shown(*results, summaries[0], ("mcp_tool_summary", "c")))) == 1


def test_a_result_that_was_announced_again_after_an_interruption_is_no_difference() -> None:
    def shown(*events: tuple[str, str]) -> RecordedOutcome:
        return RecordedOutcome(
            status="completed",
            timeline=tuple({"track": "t", "event_type": kind, "content": kind, "metadata": {"call_id": call}} for kind, call in events),
        )

    first, second = ([(kind, call) for kind in ("llm_tool_call", "tool_result")] for call in ("a", "b"))
    assert differences(shown(*first, *second), shown(first[0], *second, first[1])) == []
    assert len(differences(shown(*first, *second), shown(*second, *first))) == 4
    assert len(differences(shown(*first, *second), shown(first[0], *second))) > 0


@pytest.mark.parametrize(
    ("approval", "tool", "read_only", "destructive", "named", "withheld"),
    [
        (ApprovalPolicy.DESTRUCTIVE, "delete_logs", None, None, False, True),
        (ApprovalPolicy.DESTRUCTIVE, "delete_logs", None, None, True, False),
        (ApprovalPolicy.DESTRUCTIVE, "pods_list", None, None, False, True),
        (ApprovalPolicy.DESTRUCTIVE, "list_pods", None, None, False, False),
        (ApprovalPolicy.DESTRUCTIVE, "getLogs", None, None, False, False),
        (ApprovalPolicy.DESTRUCTIVE, "list_pods", None, True, False, True),
        (ApprovalPolicy.DESTRUCTIVE, "list_pods", False, None, False, True),
        (ApprovalPolicy.DESTRUCTIVE, "restart", None, False, False, False),
        # As mcp-go declares a tool that reads: destructiveHint has no meaning then.
        (ApprovalPolicy.DESTRUCTIVE, "restart", True, True, False, False),
        (ApprovalPolicy.NEVER, "delete_logs", False, True, False, False),
        (ApprovalPolicy.UNLESS_READ_ONLY, "list_pods", None, None, True, True),
        (ApprovalPolicy.UNLESS_READ_ONLY, "list_pods", True, None, False, False),
        (ApprovalPolicy.ALWAYS, "list_pods", True, False, True, True),
    ],
)
def test_a_call_needs_an_approval_by_what_its_tool_declares_and_else_by_the_beginning_of_its_name(
    approval: ApprovalPolicy,
    tool: str,
    read_only: bool | None,  # noqa: FBT001 - a table
    destructive: bool | None,  # noqa: FBT001
    named: bool,  # noqa: FBT001
    withheld: bool,  # noqa: FBT001
) -> None:
    reason = approval_reason(approval, tool, read_only=read_only, destructive=destructive, named=named)
    assert (reason is not None) is withheld


@pytest.mark.parametrize(
    ("name", "read_only", "may_change"),
    [
        ("k8s.pods_list", False, True),
        ("k8s.delete_logs", False, True),
        ("k8s.list_pods", False, False),
        ("k8s.getLogs", False, False),
        ("k8s.pods_exec", False, True),
        ("k8s.getaway", False, True),
        ("k8s.restart", False, True),
        ("k8s.restart", True, False),
        ("k8s.", False, True),
    ],
)
def test_a_tool_may_change_something_unless_it_or_its_name_says_that_it_reads(name: str, read_only: bool, may_change: bool) -> None:  # noqa: FBT001 - a table
    assert ToolDefinition(name, "", read_only=read_only).may_change is may_change
    # Its own word counts for more than its name.
    assert ToolDefinition(name, "", changes=True).may_change
