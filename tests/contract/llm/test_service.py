"""The LLM service as a process and as a peer: what an orchestrator meets at its port."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
import trustme
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from support.vendor_server import Act, Reply, VendorServer
from support.vendors import USAGE, Answer, ChatCompletions
from tarsy.agent.ports import LLMClient
from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, LLMBackend, LLMHealth, ProviderType, TextChunk
from tarsy.llm.grpc_client import ClientTLS, GrpcLLMClient
from tarsy.llm.in_process import in_process_client
from tarsy.llm.proto.llm.v1 import llm_pb2 as pb
from tarsy.llm.service import LLMService, ServerTLS, start_service

PROTO = Path(__file__).parents[3] / "proto"
VENDOR = ChatCompletions()

# The contract's table: message → field → number.
NUMBERS = {
    "GenerateRequest": {"session_id": 1, "messages": 2, "llm_config": 3, "tools": 4, "execution_id": 5, "clear_cache": 6},
    "ConversationMessage": {"role": 1, "content": 2, "tool_calls": 3, "tool_call_id": 4, "tool_name": 5},
    "ToolDefinition": {"name": 1, "description": 2, "parameters_schema": 3},
    "ToolCall": {"id": 1, "name": 2, "arguments": 3},
    "LLMConfig": {
        "provider": 1,
        "model": 2,
        "api_key_env": 3,
        "credentials_env": 4,
        "base_url": 5,
        "native_tools": 7,
        "project": 8,
        "location": 9,
        "backend": 10,
    },
    "GenerateResponse": {
        "text": 1,
        "thinking": 2,
        "tool_call": 3,
        "usage": 4,
        "error": 5,
        "code_execution": 6,
        "grounding": 7,
        "is_final": 10,
        "finish_reason": 11,
    },
    "TextDelta": {"content": 1},
    "ThinkingDelta": {"content": 1},
    "ToolCallDelta": {"call_id": 1, "name": 2, "arguments": 3},
    "UsageInfo": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3, "thinking_tokens": 4, "cached_tokens": 5},
    "ErrorInfo": {"message": 1, "code": 2, "retryable": 3},
    "CodeExecutionDelta": {"code": 1, "result": 2},
    "GroundingDelta": {"web_search_queries": 1, "grounding_chunks": 2, "grounding_supports": 3, "search_entry_point_html": 4},
    "GroundingChunkInfo": {"uri": 1, "title": 2},
    "GroundingSupport": {"start_index": 1, "end_index": 2, "text": 3, "grounding_chunk_indices": 4},
}


@pytest.fixture
async def service() -> AsyncGenerator[LLMService]:
    running = await start_service(in_process_client(env={}), host="127.0.0.1", port=0)
    yield running
    await running.stop(grace=0)


def question(url: str, text: str = "Why?") -> GenerateInput:
    message = ConversationMessage(Role.USER, text)
    return GenerateInput(session_id="s", execution_id="e", messages=(message,), provider=VENDOR.provider(url), backend=LLMBackend.LANGCHAIN)


async def receive(client: LLMClient, request: GenerateInput) -> list[Chunk]:
    return [chunk async for chunk in client.generate(request)]


async def test_the_descriptor_keeps_every_field_number() -> None:
    messages = pb.DESCRIPTOR.message_types_by_name
    assert {name: {field.name: field.number for field in message.fields} for name, message in messages.items()} == NUMBERS
    method = pb.DESCRIPTOR.services_by_name["LLMService"].methods_by_name["Generate"]
    assert (pb.DESCRIPTOR.package, method.input_type.name, method.output_type.name) == ("llm.v1", "GenerateRequest", "GenerateResponse")
    assert (method.client_streaming, method.server_streaming) == (False, True)
    assert [oneof.name for oneof in messages["GenerateResponse"].oneofs] == ["content"]
    config = FileDescriptorProto.FromString(pb.DESCRIPTOR.serialized_pb).message_type
    assert [(span.start, span.end) for message in config if message.name == "LLMConfig" for span in message.reserved_range] == [(6, 7)]


def test_the_generated_code_is_that_of_the_proto_file(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={tmp_path}", str(PROTO / "llm/v1/llm.proto")]
    subprocess.run(command, check=True)
    fresh = (tmp_path / "llm/v1/llm_pb2.py").read_text()
    assert fresh == Path(str(pb.__file__)).read_text()


async def test_it_says_that_it_is_there_and_what_it_offers(service: LLMService) -> None:
    address = f"127.0.0.1:{service.port}"
    client = GrpcLLMClient(address, env={})
    assert await client.health() == LLMHealth(ok=True, detail=f"the LLM service at {address} is serving")
    await client.aclose()

    async with grpc.aio.insecure_channel(address) as channel:
        stub: Any = cast("Any", reflection_pb2_grpc.ServerReflectionStub)(channel)
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        listed = [service.name async for answer in stub.ServerReflectionInfo(asked) for service in answer.list_services_response.service]
    assert set(listed) == {"llm.v1.LLMService", "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}


async def test_another_orchestrator_is_served_without_our_metadata(service: LLMService, server: VendorServer) -> None:
    server.replies.append(VENDOR.reply(Answer(text=("Because.",))))
    request = pb.GenerateRequest(
        session_id="s",
        execution_id="e",
        messages=[pb.ConversationMessage(role="user", content="Why?")],
        llm_config=pb.LLMConfig(provider="openai", model="qwen3:8b", base_url=f"{server.url}/v1"),
    )
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        ask: Any = channel.unary_stream("/llm.v1.LLMService/Generate", pb.GenerateRequest.SerializeToString, pb.GenerateResponse.FromString)
        answers = [answer async for answer in ask(request)]

    assert [answer.WhichOneof("content") for answer in answers] == ["text", "usage", None]
    assert [answer.is_final for answer in answers] == [False, False, True]


async def test_a_request_outside_the_contract_is_refused_with_the_reason(service: LLMService) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        ask: Any = channel.unary_stream("/llm.v1.LLMService/Generate", pb.GenerateRequest.SerializeToString, pb.GenerateResponse.FromString)
        answers = [answer async for answer in ask(pb.GenerateRequest(llm_config=pb.LLMConfig(provider="nobody")))]

    assert [(answer.error.code, answer.is_final) for answer in answers] == [("invalid_request", True)]
    assert "nobody" in answers[0].error.message


async def test_conversations_far_above_grpcs_own_limit_pass(service: LLMService, server: VendorServer) -> None:
    long = "x" * 20_000_000
    server.replies.append(VENDOR.reply(Answer(text=(long,))))
    client = GrpcLLMClient(f"127.0.0.1:{service.port}", env={})

    assert await receive(client, question(server.url, long)) == [TextChunk(long), USAGE]
    await client.aclose()


async def test_a_service_that_is_away_is_an_error_chunk_and_its_return_is_noticed(server: VendorServer) -> None:
    first = await start_service(in_process_client(env={}), host="127.0.0.1", port=0)
    client = GrpcLLMClient(f"127.0.0.1:{first.port}", env={})
    server.replies.extend([VENDOR.reply(Answer(text=("Because.",)))] * 2)
    assert await receive(client, question(server.url)) == [TextChunk("Because."), USAGE]
    await first.stop(grace=0)

    chunks = await receive(client, question(server.url))
    assert [(chunk.code, chunk.retryable) for chunk in chunks if isinstance(chunk, ErrorChunk)] == [(ErrorCode.PROVIDER_UNAVAILABLE, True)]
    assert not (await client.health()).ok

    second = await start_service(in_process_client(env={}), host="127.0.0.1", port=first.port)
    async with asyncio.timeout(30):
        while not (await client.health()).ok:  # noqa: ASYNC110 - the health check itself is what is waited for
            await asyncio.sleep(0.05)
    assert await receive(client, question(server.url)) == [TextChunk("Because."), USAGE]
    await client.aclose()
    await second.stop(grace=0)


async def test_a_service_that_stops_lets_answers_finish(server: VendorServer) -> None:
    running = await start_service(in_process_client(env={}), host="127.0.0.1", port=0)
    client = GrpcLLMClient(f"127.0.0.1:{running.port}", env={})
    events = VENDOR.events(Answer(text=("Bec", "ause.")))
    server.replies.append(Reply((*events[:2], Act.WAIT, *events[2:])))
    answer = client.generate(question(server.url))
    assert await anext(answer) == TextChunk("Bec")

    stopping = asyncio.ensure_future(running.stop(grace=30))
    server.gate.set()

    assert [chunk async for chunk in answer] == [TextChunk("ause."), USAGE]
    await asyncio.wait_for(stopping, 30)
    await client.aclose()


async def test_a_service_that_cannot_wait_longer_breaks_the_answer_off(server: VendorServer) -> None:
    running = await start_service(in_process_client(env={}), host="127.0.0.1", port=0)
    client = GrpcLLMClient(f"127.0.0.1:{running.port}", env={})
    server.replies.append(Reply((*VENDOR.events(Answer(text=("Bec",), ends=False)), Act.HANG)))
    answer = client.generate(question(server.url))
    assert await anext(answer) == TextChunk("Bec")

    await running.stop(grace=0)

    assert [(chunk.code, chunk.retryable) async for chunk in answer if isinstance(chunk, ErrorChunk)] == [(ErrorCode.PARTIAL_STREAM, True)]
    await asyncio.wait_for(server.abandoned.wait(), 60)
    await client.aclose()


async def test_tls_is_used_when_there_is_a_certificate(server: VendorServer, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    certificate.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    (tmp_path / "cert.pem").write_bytes(b"".join(blob.bytes() for blob in certificate.cert_chain_pems))
    running = await start_service(
        in_process_client(env={}), host="127.0.0.1", port=0, tls=ServerTLS(tmp_path / "cert.pem", tmp_path / "key.pem")
    )
    server.replies.append(VENDOR.reply(Answer(text=("Because.",))))
    trusting = GrpcLLMClient(f"localhost:{running.port}", tls=ClientTLS(ca=tmp_path / "ca.pem"), env={})
    doubting = GrpcLLMClient(f"grpcs://localhost:{running.port}", env={})
    plain = GrpcLLMClient(f"grpc://localhost:{running.port}", env={})

    assert await receive(trusting, question(server.url)) == [TextChunk("Because."), USAGE]
    for client in (doubting, plain):
        refused = await receive(client, question(server.url))
        assert [chunk.code for chunk in refused if isinstance(chunk, ErrorChunk)] == [ErrorCode.PROVIDER_UNAVAILABLE]
    for client in (trusting, doubting, plain):
        await client.aclose()
    await running.stop(grace=0)


async def test_a_recording_is_played_by_the_service_too_at_the_pace_of_its_session(service: LLMService, tmp_path: Path) -> None:
    recording = tmp_path / "recording.json"
    recording.write_text(json.dumps({"calls": [{"track": "0.a/0.Ä", "turn": 2, "chunks": [{"text": "It is so."}]}]}))
    client = GrpcLLMClient(f"127.0.0.1:{service.port}", env={})
    request = GenerateInput(
        session_id="s",
        execution_id="e",
        messages=(),
        provider=ResolvedProvider(name="tape", type=ProviderType.REPLAY, model="tape", recording=str(recording), replay_speed=1000),
        backend=LLMBackend.LANGCHAIN,
        track="0.a/0.Ä",
        turn=2,
    )

    assert await receive(client, request) == [TextChunk("It "), TextChunk("is "), TextChunk("so.")]
    await client.aclose()


async def test_a_port_that_is_taken_is_reported_as_such(service: LLMService) -> None:
    with pytest.raises(OSError, match=str(service.port)):
        await start_service(in_process_client(env={}), host="127.0.0.1", port=service.port)


async def test_the_command_serves_until_it_is_stopped() -> None:
    program = "import typer; from tarsy.cli.serve import llm_service; typer.run(llm_service)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, "--port", "0", "--grace", "1", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            while not (line := (await process.stdout.readline()).decode()).startswith("LLM service listening on"):
                assert line
        client = GrpcLLMClient(line.split()[-1], env={})
        assert (await client.health()).ok
        await client.aclose()
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
