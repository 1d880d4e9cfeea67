"""An investigation as a trace, as a collector receives it."""

import gc
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import anyio
import grpc
import orjson
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.trace import format_trace_id
from structlog.testing import capture_logs

from support.agent_scenario import (
    OTHER,
    PROVIDER,
    SESSION_ID,
    SUMMARY,
    Scenario,
    agent,
    answers,
    calls,
    chain,
    fails,
    fallback,
    says,
    stage,
)
from support.http_fault_server import http_fault_server
from support.otlp_receiver import Collector, attributes, otlp_receiver
from support.paths import FAULT_SERVER
from support.stuck_tools import StuckTools
from tarsy.agent.ports import LLMClient
from tarsy.config.resolve.resolved import ResolvedMcpServer, ResolvedTransport
from tarsy.db.run.journal import PostgresJournal
from tarsy.domain.claim import CHAT_ANSWER, INVESTIGATION, SCORING, Claim, ClaimLostError
from tarsy.domain.execution import AgentExecution, ExecutionChange
from tarsy.domain.llm import Chunk, GenerateInput, LLMBackend, LLMHealth, TextChunk
from tarsy.domain.session import AlertSession
from tarsy.domain.stage import Stage, StageClose, StageType
from tarsy.domain.status import RunStatus
from tarsy.domain.step import Committed, Step
from tarsy.domain.tool import ApprovalPolicy
from tarsy.llm.grpc_client import GrpcLLMClient
from tarsy.llm.in_process import in_process_client
from tarsy.llm.service import start_service
from tarsy.telemetry.traced_calls import TracedService
from tarsy.telemetry.traced_runs import RunSpans
from tarsy.telemetry.tracing import Tracing, is_traced

TRACK = "0.look/1.Investigator"
SECRET = "the words of the investigation"
STORY = Scenario(
    chain(stage(agent()), scoring=None),
    [says(TRACK, 0, SECRET, calls("a", "k8s.pods")), says(TRACK, 1, f"It is the disk. {SECRET}"), says(f"1.{SUMMARY}", 0, SECRET)],
    [answers(TRACK, "a", "k8s.pods", SECRET)],
    alert=SECRET,
)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with otlp_receiver() as received:
        yield received


async def run_waiting(story: Scenario, database_url: str) -> None:
    async with story.running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)


async def test_an_investigation_is_one_trace_named_and_measured_by_the_conventions_without_any_contents(
    database_url: str, collector: Collector
) -> None:
    await run_waiting(replace(STORY, env=collector.env), database_url)
    assert collector.parents() == {
        "invoke_workflow chain": None,
        "invoke_workflow look": "invoke_workflow chain",
        "invoke_agent Investigator": "invoke_workflow look",
        "chat model-1": "invoke_agent ExecSummaryAgent",
        "execute_tool k8s.pods": "invoke_agent Investigator",
        "invoke_workflow executive summary": "invoke_workflow chain",
        "invoke_agent ExecSummaryAgent": "invoke_workflow executive summary",
    }
    assert {span.trace_id for span in collector.spans} == {UUID(SESSION_ID).bytes}
    reported = attributes(next(span for span in collector.spans if span.name.startswith("chat")))
    assert reported["gen_ai.operation.name"] == "chat"
    assert reported["gen_ai.provider.name"] == "replay"
    assert reported["gen_ai.request.model"] == PROVIDER.model
    assert (reported["gen_ai.usage.input_tokens"], reported["gen_ai.usage.output_tokens"]) == (10, 5)
    tool = attributes(collector.named("execute_tool k8s.pods"))
    assert (tool["gen_ai.operation.name"], tool["gen_ai.tool.name"], tool["gen_ai.tool.call.id"]) == ("execute_tool", "k8s.pods", "a")
    assert attributes(collector.named("invoke_agent Investigator"))["gen_ai.agent.name"] == "Investigator"
    assert attributes(collector.named("invoke_workflow chain"))["gen_ai.workflow.name"] == "chain"

    assert set(collector.metrics) == {
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
        "gen_ai.execute_tool.duration",
        "gen_ai.invoke_agent.duration",
        "gen_ai.workflow.duration",
    }
    assert sum(point.sum for point in collector.metrics["gen_ai.client.token.usage"]) == 45
    assert sum(point.count for point in collector.metrics["gen_ai.client.operation.duration"]) == 4

    assert collector.bodies
    assert [body for body in collector.bodies if SECRET.encode() in body] == []


async def test_failures_and_fallbacks_are_events_of_their_agent(database_url: str, collector: Collector) -> None:
    story = Scenario(
        chain(stage(agent(fallback_providers=(fallback(OTHER),), mcp_servers=())), scoring=None),
        [says(TRACK, 0, fails("credentials", SECRET)), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
        env=collector.env,
    )
    await run_waiting(story, database_url)
    assert [event.name for event in collector.named("invoke_agent Investigator").events] == ["tarsy.model_call_failed", "tarsy.fallback"]
    failed = [attributes(span) for span in collector.spans if span.name == "chat model-1" and span.status.code == 2]
    assert [reported["error.type"] for reported in failed] == ["credentials"]
    assert SECRET.encode() not in b"".join(collector.bodies)


@dataclass(frozen=True)
class Halting:
    """A model that never comes to its second answer."""

    inner: LLMClient
    halted: anyio.Event = field(default_factory=anyio.Event)

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        if request.turn:
            self.halted.set()
            await anyio.sleep_forever()
        async for chunk in self.inner.generate(request):
            yield chunk

    async def health(self) -> LLMHealth:
        return await self.inner.health()

    async def aclose(self) -> None:
        await self.inner.aclose()


async def test_a_cancelled_tool_call_ends_as_abandoned_and_is_measured(database_url: str, collector: Collector) -> None:
    stuck = StuckTools()
    async with replace(STORY, tools=(), servers=stuck, env=collector.env).running(database_url) as running:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(running.pool.run)
                await stuck.started.wait()
                running.pool.stop_now()
    span = collector.named("execute_tool k8s.pods")
    assert (attributes(span)["error.type"], span.status.code) == ("abandoned", 2)
    assert [attributes(point)["error.type"] for point in collector.metrics["gen_ai.execute_tool.duration"]] == ["abandoned"]


@dataclass(frozen=True)
class Broken(Halting):
    """A model client with a bug."""

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        raise ZeroDivisionError(SECRET)
        yield TextChunk(request.session_id)


async def test_a_model_call_that_raises_ends_with_the_kind_of_its_error(collector: Collector) -> None:
    models = TracedService(Broken(in_process_client(env={})), Tracing(collector.env))
    request = GenerateInput(session_id="s", execution_id="e", messages=(), provider=PROVIDER, backend=LLMBackend.LANGCHAIN)
    with pytest.raises(ZeroDivisionError):
        _ = [chunk async for chunk in models.generate(request)]
    await models.aclose()
    assert attributes(collector.named("chat model-1"))["error.type"] == "ZeroDivisionError"
    assert SECRET.encode() not in b"".join(collector.bodies)


async def run_in_two_processes(story: Scenario, database_url: str) -> None:
    """Run a scenario whose first process stops at the second call of an agent."""
    model = Halting(in_process_client(env={}, recordings=lambda _: story.recording))
    async with replace(story, llm=model).running(database_url) as first:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(first.pool.run)
                await model.halted.wait()
                first.pool.stop_now()
    async with story.continued(database_url) as second:
        await second.pool.run_waiting(INVESTIGATION)


async def test_a_session_that_another_process_continues_is_still_one_trace(database_url: str, collector: Collector) -> None:
    await run_in_two_processes(replace(STORY, env=collector.env), database_url)
    assert {format_trace_id(int.from_bytes(span.trace_id)) for span in collector.spans} == {UUID(SESSION_ID).hex}
    assert collector.named("invoke_workflow chain").parent_span_id == b""
    agent_span = collector.named("invoke_agent Investigator")
    below = sorted(span.name for span in collector.spans if span.parent_span_id == agent_span.span_id)
    # The call that was under way when the first process stopped, and the one that the second made instead.
    assert below == ["chat model-1", "chat model-1", "chat model-1", "chat model-1", "execute_tool k8s.pods"]


async def test_a_sub_agent_that_another_process_continues_has_its_span(database_url: str, collector: Collector) -> None:
    pods = f"{TRACK}/1.PodAgent"
    lead = agent(mcp_servers=(), sub_agents=(agent("PodAgent", description="Knows the pods"),))
    story = Scenario(
        chain(stage(lead), scoring=None),
        [
            says(TRACK, 0, calls("a", "tarsy.run_agent", name="PodAgent", task="Which pods restart?")),
            says(pods, 0, calls("p", "k8s.pods")),
            says(pods, 1, "web-1 restarts."),
            says(TRACK, 1, "It is the disk."),
            says(f"1.{SUMMARY}", 0, "Disk."),
        ],
        [answers(pods, "p", "k8s.pods", "web-1 CrashLoopBackOff")],
        env=collector.env,
    )
    await run_in_two_processes(story, database_url)
    sub_agent = collector.named("invoke_agent PodAgent")
    assert sub_agent.parent_span_id == collector.named("invoke_workflow look").span_id
    assert "execute_tool k8s.pods" in {span.name for span in collector.spans if span.parent_span_id == sub_agent.span_id}


def runs_in_memory() -> list[object]:
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, AlertSession | Stage | AgentExecution)]


@pytest.mark.parametrize("is_lost", [True, False], ids=["the claim is lost", "the database is away"])
async def test_work_that_ends_without_its_release_leaves_nothing_in_memory(
    database_url: str,
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    is_lost: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    before, commit, called = runs_in_memory(), PostgresJournal.commit, anyio.Event()

    async def commit_until_a_call(journal: PostgresJournal, step: Step) -> Committed:
        if step.llm_interactions:
            called.set()
        if called.is_set():
            raise ClaimLostError(step.claim) if is_lost else ConnectionRefusedError
        return await commit(journal, step)

    monkeypatch.setattr(PostgresJournal, "commit", commit_until_a_call)
    async with replace(STORY, env=collector.env).running(database_url) as running:
        await running.pool.run_waiting(INVESTIGATION)
        assert called.is_set()
        assert len(runs_in_memory()) == len(before)


AT = datetime(2026, 1, 1, tzinfo=UTC)


def execution_in(begun: Stage) -> AgentExecution:
    return AgentExecution(
        id=str(uuid4()),
        session_id=SESSION_ID,
        stage_id=begun.id,
        agent_name=f"{begun.stage_name} agent",
        agent_index=1,
        llm_backend="langchain",
        llm_provider="one",
        model_name="m",
        tool_calling="native",
        status=RunStatus.ACTIVE,
        started_at=AT,
    )


def stage_of(kind: StageType, index: int) -> Stage:
    return Stage(
        id=str(uuid4()),
        session_id=SESSION_ID,
        stage_name=kind.value,
        stage_index=index,
        stage_type=kind,
        expected_agent_count=1,
        status=RunStatus.ACTIVE,
        started_at=AT,
    )


def end_of(claim: Claim, begun: Stage, execution: AgentExecution) -> Step:
    change = ExecutionChange(execution_id=execution.id, at=AT, status=RunStatus.COMPLETED)
    close = StageClose(stage_id=begun.id, status=RunStatus.COMPLETED, completed_at=AT)
    return Step(claim=claim, execution_changes=(change,), stage_closes=(close,))


def test_the_release_of_a_chat_answer_leaves_the_spans_of_a_score_of_the_same_session(collector: Collector) -> None:
    tracing = Tracing(collector.env)
    spans, claims = RunSpans(tracing), [Claim(kind, str(uuid4()), str(uuid4()), "t", SESSION_ID) for kind in (CHAT_ANSWER, SCORING)]
    stages = [stage_of(StageType.CHAT, 2), stage_of(StageType.SCORING, 3)]
    executions = [execution_in(one) for one in stages]
    for claim, begun, execution in zip(claims, stages, executions, strict=True):
        spans.follow(claim, None)
        spans.record(Step(claim=claim, stages=(begun,), executions=(execution,)))
    spans.forget(claims[0])
    for claim, begun, execution in zip(claims, stages, executions, strict=True):
        spans.record(end_of(claim, begun, execution))
    tracing.close()
    assert sorted(span.name for span in collector.spans) == ["invoke_agent scoring agent", "invoke_workflow scoring"]


def test_the_loss_of_a_claim_leaves_the_spans_of_a_session_that_the_same_process_has_claimed_again(collector: Collector) -> None:
    tracing = Tracing(collector.env)
    spans, lost, look = RunSpans(tracing), Claim(INVESTIGATION, "w", SESSION_ID, "first", SESSION_ID), stage_of(StageType.INVESTIGATION, 0)
    again, execution = replace(lost, token="second"), execution_in(look)
    spans.follow(lost, None)
    spans.follow(again, None)
    spans.record(Step(claim=again, stages=(look,), executions=(execution,)))
    spans.forget(lost)
    spans.record(end_of(again, look, execution))
    other, second = stage_of(StageType.INVESTIGATION, 1), execution_in(look)
    spans.record(Step(claim=again, stages=(other,), executions=(second,)))
    spans.forget(again)
    spans.record(end_of(again, other, second))
    tracing.close()
    assert sorted(span.name for span in collector.spans) == ["invoke_agent investigation agent", "invoke_workflow investigation"]


async def test_a_tool_server_gets_the_trace_in_meta(database_url: str, collector: Collector) -> None:
    async with http_fault_server() as remote:
        server = ResolvedMcpServer(name="f", approval=ApprovalPolicy.NEVER, transport=ResolvedTransport(type="http", url=remote.url))
        story = Scenario(
            chain(stage(agent(mcp_servers=("f",))), mcp_servers={"f": server}, scoring=None),
            [says(TRACK, 0, calls("a", "f.echo", text="x")), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
            env=collector.env,
            real_tools=True,
        )
        await run_waiting(story, database_url)
    (meta,) = remote.metas
    span = collector.named("execute_tool f.echo")
    assert meta["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"


async def test_a_stdio_server_gets_the_trace_in_meta_too(database_url: str, collector: Collector) -> None:
    server = ResolvedMcpServer(
        name="f",
        approval=ApprovalPolicy.NEVER,
        transport=ResolvedTransport(type="stdio", command=sys.executable, args=(str(FAULT_SERVER),)),
    )
    story = Scenario(
        chain(stage(agent(mcp_servers=("f",))), mcp_servers={"f": server}, scoring=None),
        [says(TRACK, 0, calls("a", "f.meta")), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
        env=collector.env,
        real_tools=True,
    )
    played = await story.play(database_url)
    (reported,) = (tool.content for tool in played.tools)
    span = collector.named("execute_tool f.meta")
    assert orjson.loads(reported)["traceparent"] == f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01"


async def test_the_llm_service_continues_the_trace_of_its_caller(database_url: str, collector: Collector) -> None:
    models = in_process_client(env={}, recordings=lambda _: STORY.recording)
    service = await start_service(TracedService(models, Tracing(collector.env)), host="127.0.0.1", port=0)
    try:
        await run_waiting(replace(STORY, env=collector.env, llm=GrpcLLMClient(f"127.0.0.1:{service.port}", env={})), database_url)
    finally:
        await service.stop(0)
    served = [span for span in collector.spans if span.name == "chat model-1" and span.kind == span.SPAN_KIND_SERVER]
    asked = {span.span_id for span in collector.spans if span.name == "chat model-1" and span.kind == span.SPAN_KIND_CLIENT}
    assert len(served) == 4
    assert {span.parent_span_id for span in served} == asked


@pytest.mark.parametrize(
    ("answered", "spans", "metrics"),
    [
        ({"OTEL_SDK_DISABLED": "true"}, False, False),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, False, False),
        ({"OTEL_TRACES_EXPORTER": "none"}, False, True),
        ({"OTEL_METRICS_EXPORTER": "none"}, True, False),
    ],
    ids=["everything", "both", "traces", "metrics"],
)
async def test_what_is_switched_off_is_not_sent(
    database_url: str,
    collector: Collector,
    answered: dict[str, str],
    spans: bool,  # noqa: FBT001 - a parameter of the test
    metrics: bool,  # noqa: FBT001 - the same
) -> None:
    await run_waiting(replace(STORY, env={**collector.env, **answered}), database_url)
    assert (bool(collector.spans), bool(collector.metrics)) == (spans, metrics)
    # Not only unread: nothing came.
    assert bool(collector.bodies) == (spans or metrics)


async def test_settings_of_the_collector_beside_its_address_hold_wherever_they_are_set(
    database_url: str, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging")
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"{collector.url}/elsewhere",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=ours",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_SERVICE_NAME": "first-responder",
    }
    await run_waiting(replace(STORY, env=env), database_url)
    assert collector.named("invoke_workflow chain")
    assert {(headers["x-tenant"], headers["content-encoding"]) for headers in collector.headers} == {("ours", "gzip")}
    assert collector.origin["service.name"] == "first-responder"
    assert collector.origin["deployment.environment.name"] == "staging"
    assert collector.origin["service.version"]
    assert "OTEL_SERVICE_NAME" not in os.environ


def trace_once(env: dict[str, str]) -> None:
    tracing = Tracing(env)
    tracing.tracer.start_span("probe").end()
    tracing.tokens.record(1)
    tracing.close()


@pytest.mark.parametrize(("signal", "path"), [("TRACES", "/v1/traces"), ("METRICS", "/v1/metrics")])
def test_an_endpoint_of_one_signal_is_sent_that_signal_only(collector: Collector, signal: str, path: str) -> None:
    env = {f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT": f"{collector.url}{path}"}
    assert is_traced(env)
    trace_once(env)
    assert (bool(collector.spans), bool(collector.metrics)) == (signal == "TRACES", signal == "METRICS")


def test_a_protocol_of_one_signal_is_its_own(collector: Collector) -> None:
    trace_once({**collector.env, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"})
    (spans,) = [body for body in collector.bodies if body.startswith(b"{")]
    assert orjson.loads(spans)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"] == "probe"
    assert {headers["content-type"] for headers in collector.headers} == {"application/json", "application/x-protobuf"}
    assert set(collector.metrics) == {"gen_ai.client.token.usage"}


def test_a_protocol_that_is_not_known_is_reported_and_the_default_is_used(collector: Collector) -> None:
    with capture_logs() as logs:
        trace_once({**collector.env, "OTEL_EXPORTER_OTLP_PROTOCOL": "carrier-pigeon"})
    assert {line["event"] for line in logs} == {"telemetry.protocol.unknown"}
    assert collector.named("probe")


async def test_a_collector_can_be_reached_by_grpc(database_url: str) -> None:
    taken: list[ExportTraceServiceRequest] = []

    class Taker(trace_service_pb2_grpc.TraceServiceServicer):
        def Export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:  # noqa: N802 - gRPC's name  # pyrefly: ignore[bad-override] - the base class raises
            del context
            taken.append(request)
            return ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(1))
    register: Any = vars(trace_service_pb2_grpc)["add_TraceServiceServicer_to_server"]  # untyped
    register(Taker(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        # The variables of the spans alone.
        env = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{port}", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}
        await run_waiting(replace(STORY, env=env), database_url)
    finally:
        server.stop(0)
    spans = [
        span.name for request in taken for resource in request.resource_spans for scope in resource.scope_spans for span in scope.spans
    ]
    assert "invoke_workflow chain" in spans
