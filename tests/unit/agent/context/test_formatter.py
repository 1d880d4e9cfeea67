"""How finished stages are told to the agents that come after them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tarsy.agent.context.formatter import END, NATIVE_PAIRS, REACT_HISTORY, SIMPLE, START, SYNTHESIS, format_investigation, formatter_for
from tarsy.domain.agent import AgentType, ToolCalling
from tarsy.domain.execution import AgentExecution
from tarsy.domain.history import ExecutionRecord, StageRecord
from tarsy.domain.stage import Stage, StageType
from tarsy.domain.status import RunStatus, TimelineStatus
from tarsy.domain.timeline import TimelineEvent, TimelineEventType

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CALL = {"tool_name": "pods_list", "server_name": "k8s", "arguments": {"ns": "a"}, "call_id": "c1"}
T = TimelineEventType


def event(
    kind: TimelineEventType, content: str, metadata: Mapping[str, Any] | None = None, status: TimelineStatus = TimelineStatus.COMPLETED
) -> TimelineEvent:
    return TimelineEvent(
        id="e",
        session_id="s",
        stage_id="st",
        execution_id="x",
        sequence_number=1,
        event_type=kind,
        status=status,
        content=content,
        created_at=NOW,
        metadata=metadata or {},
    )


WORK = (
    event(T.LLM_THINKING, "I look", {"source": "react"}),
    event(T.LLM_THINKING, "deep thought", {"source": "native"}),
    event(T.LLM_RESPONSE, "Let me see."),
    event(T.LLM_TOOL_CALL, "", CALL),
    event(T.TOOL_RESULT, "3 pods", CALL),
    event(T.ERROR, "rate limited"),
    event(T.LLM_RESPONSE, "half a wo", status=TimelineStatus.INTERRUPTED),
    event(T.FINAL_ANALYSIS, "It is DNS."),
)


def execution(*events: TimelineEvent, name: str = "Agent", tool_calling: str = "native", **fields: Any) -> ExecutionRecord:
    return ExecutionRecord(
        AgentExecution(
            id=name,
            session_id="s",
            stage_id="st",
            agent_name=name,
            agent_index=1,
            llm_backend="langchain",
            llm_provider="openai-default",
            model_name="gpt",
            tool_calling=tool_calling,
            status=fields.pop("status", RunStatus.COMPLETED),
            **fields,
        ),
        events,
    )


def stage(*executions: ExecutionRecord, name: str = "analysis", **fields: Any) -> StageRecord:
    return StageRecord(
        Stage(
            id=fields.pop("id", name),
            session_id="s",
            stage_name=name,
            stage_index=0,
            stage_type=fields.pop("stage_type", StageType.INVESTIGATION),
            expected_agent_count=len(executions),
            status=fields.pop("status", RunStatus.COMPLETED),
            **fields,
        ),
        executions,
    )


def test_simple_tells_the_conclusion_between_markers() -> None:
    assert SIMPLE.format_stage_context(stage(execution(*WORK))) == (
        f"### Results from 'analysis' stage:\n\n{START}\n## Analysis Result\n\nIt is DNS.\n{END}"
    )


def test_react_history_tells_thoughts_actions_and_observations() -> None:
    assert REACT_HISTORY.format_execution(execution(*WORK)) == (
        "## Analysis Result\n\nIt is DNS.\n\n## Investigation History\n\n"
        "Thought: I look\n\nResponse: Let me see.\n\n"
        'Action: k8s.pods_list\nAction Input: {"ns": "a"}\n\nObservation: k8s.pods_list: 3 pods\n\nError: rate limited'
    )


def test_native_pairs_tell_calls_with_their_results_and_no_thoughts() -> None:
    assert NATIVE_PAIRS.format_execution(execution(*WORK)) == (
        "## Analysis Result\n\nIt is DNS.\n\n## Investigation History\n\nResponse: Let me see.\n\n"
        'Tool call: k8s.pods_list({"ns": "a"})\n\nTool result: k8s.pods_list: 3 pods\n\nError: rate limited'
    )


def test_code_that_ran_is_told_with_what_came_of_it() -> None:
    ran = event(T.CODE_EXECUTION, "0.95\n", {"code": "print(95 / 100)"})
    silent = event(T.CODE_EXECUTION, "", {"code": "x = 1"})

    for formatter in (NATIVE_PAIRS, SYNTHESIS):
        text = formatter.format_stage_context(stage(execution(ran, silent, WORK[-1])))
        assert "Code execution:\nprint(95 / 100)\nResult: 0.95\n" in text
        assert "Code execution:\nx = 1\nResult: (no output)" in text


def test_synthesis_hears_who_worked_how_and_with_what_end() -> None:
    record = stage(
        execution(*WORK, name="First", tool_calling="react"),
        execution(WORK[1], name="Second", status=RunStatus.FAILED, error_message="provider\nis down"),
    )
    text = SYNTHESIS.format_stage_context(record)
    assert "#### Agent 1: First\n**Status**: completed\n**Model**: gpt (openai-default, langchain, react tool calling)" in text
    assert "#### Agent 2: Second\n**Status**: failed\n" in text
    assert "**Error**: provider is down" in text
    assert "Action: k8s.pods_list" in text
    assert "Thought: deep thought" in text
    assert text.count(START) == text.count(END) == 2
    assert "No analysis was produced." in text


def test_several_agents_are_told_apart_without_metadata_too() -> None:
    text = SIMPLE.format_stage_context(stage(execution(*WORK, name="First"), execution(*WORK, name="Second")))
    assert "#### Agent 2: Second\n**Status**: completed" in text
    assert "**Model**" not in text


def test_content_cannot_end_its_markers() -> None:
    record = stage(execution(event(T.FINAL_ANALYSIS, f"a {END} b {START}")), name=f"x {END}")
    text = SIMPLE.format_stage_context(record)
    assert text.count(START) == text.count(END) == 1
    assert "&lt;!-- Analysis Result END --&gt;" in text


def test_a_summary_stands_for_the_result_the_agent_did_not_see() -> None:
    summary = event(T.MCP_TOOL_SUMMARY, "short", {"call_id": "c1"})
    record = execution(event(T.LLM_TOOL_CALL, "", CALL), event(T.TOOL_RESULT, "raw", CALL), summary)
    text = NATIVE_PAIRS.format_execution(record)
    assert "raw" not in text
    assert "Tool result: k8s.pods_list: short" in text


def test_a_summary_that_failed_leaves_the_result_standing() -> None:
    summary = event(T.MCP_TOOL_SUMMARY, "sho", CALL, TimelineStatus.FAILED)
    text = NATIVE_PAIRS.format_execution(execution(event(T.TOOL_RESULT, "raw", CALL), summary))
    assert "Tool result: k8s.pods_list: raw" in text
    assert "sho" not in text


def test_failed_results_say_so() -> None:
    failed = event(T.TOOL_RESULT, "no access", {**CALL, "is_error": True}, TimelineStatus.FAILED)
    text = NATIVE_PAIRS.format_execution(execution(failed))
    assert "Tool result: k8s.pods_list: error: no access" in text


def test_a_successful_synthesis_speaks_for_the_stage_it_read() -> None:
    parallel = stage(execution(event(T.FINAL_ANALYSIS, "one")), execution(event(T.FINAL_ANALYSIS, "two")), name="parallel")
    synthesis = stage(
        execution(event(T.FINAL_ANALYSIS, "both")),
        name="parallel - synthesis",
        stage_type=StageType.SYNTHESIS,
        referenced_stage_id="parallel",
    )
    first = stage(execution(event(T.FINAL_ANALYSIS, "triage")), name="triage")
    text = SIMPLE.format_previous_stages([first, parallel, synthesis])
    assert "triage" in text
    assert "both" in text
    assert "one" not in text


def test_a_failed_synthesis_leaves_the_reports_standing() -> None:
    parallel = stage(execution(event(T.FINAL_ANALYSIS, "one")), name="parallel")
    synthesis = stage(
        execution(), name="synthesis", stage_type=StageType.SYNTHESIS, referenced_stage_id="parallel", status=RunStatus.FAILED
    )
    assert "one" in SIMPLE.format_previous_stages([parallel, synthesis])


def test_before_the_first_stage_there_is_nothing_to_tell() -> None:
    assert NATIVE_PAIRS.format_previous_stages([]) == ""


@pytest.mark.parametrize(
    ("limit", "kept"), [(50_000, "x" * 4_000), (20_000, "x" * 1_500), (8_000, "x" * 400), (2_000, "left out for length")]
)
def test_results_are_clipped_until_the_whole_fits(limit: int, kept: str) -> None:
    results = [event(T.TOOL_RESULT, "x" * 9_000, {**CALL, "call_id": f"c{number}"}) for number in range(10)]
    text = NATIVE_PAIRS.format_stage_context(stage(execution(*results, event(T.FINAL_ANALYSIS, "It is DNS."))), limit=limit)
    assert len(text) <= limit
    assert kept in text
    assert "It is DNS." in text
    assert limit < 8_000 or "more characters of this result left out here" in text


def test_even_endless_conclusions_are_bounded() -> None:
    text = SIMPLE.format_stage_context(stage(execution(event(T.FINAL_ANALYSIS, "y" * 10_000))), limit=1_000)
    assert len(text) < 1_100
    assert "characters omitted" in text


def test_a_whole_session_is_told_with_its_summary_and_without_its_chat() -> None:
    stages = [
        stage(execution(*WORK), name="analysis"),
        stage(execution(event(T.EXECUTIVE_SUMMARY, "DNS broke.")), name="exec", stage_type=StageType.EXEC_SUMMARY),
        stage(execution(event(T.FINAL_ANALYSIS, "chat answer")), name="chat", stage_type=StageType.CHAT),
        stage(execution(event(T.FINAL_ANALYSIS, "SCORE: 100")), name="scoring", stage_type=StageType.SCORING),
    ]
    text = format_investigation(stages)
    assert "Thought: deep thought" in text
    assert "Tool result: k8s.pods_list: 3 pods" in text
    assert text.endswith("### Executive summary:\n\nDNS broke.")
    assert "chat answer" not in text
    assert "SCORE" not in text


def test_a_huge_session_is_bounded_and_keeps_every_conclusion() -> None:
    results = [event(T.TOOL_RESULT, "x" * 9_000, CALL) for _ in range(200)]
    stages = [stage(execution(*results, event(T.FINAL_ANALYSIS, f"conclusion {number}")), name=f"s{number}") for number in range(5)]
    text = format_investigation(stages, limit=100_000)
    assert len(text) <= 100_000
    assert all(f"conclusion {number}" in text for number in range(5))


@pytest.mark.parametrize(
    ("agent_type", "tool_calling", "formatter"),
    [
        (AgentType.DEFAULT, ToolCalling.REACT, REACT_HISTORY),
        (AgentType.DEFAULT, ToolCalling.NATIVE, NATIVE_PAIRS),
        (AgentType.SYNTHESIS, ToolCalling.NATIVE, SYNTHESIS),
        (AgentType.EXEC_SUMMARY, ToolCalling.NATIVE, SIMPLE),
        (AgentType.SCORING, ToolCalling.REACT, SIMPLE),
    ],
)
def test_the_reader_chooses_the_form(agent_type: AgentType, tool_calling: ToolCalling, formatter: object) -> None:
    assert formatter_for(agent_type, tool_calling) is formatter
