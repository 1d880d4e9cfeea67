"""What the model layer costs per chunk, in process and over gRPC, and how fast it lets go."""

import asyncio
import statistics
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from tarsy.agent.ports import LLMClient
from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import Chunk, GenerateInput, LLMBackend, ProviderType, TextChunk
from tarsy.llm.access import Access
from tarsy.llm.attempts import CallRetryPolicy, stream_answer
from tarsy.llm.grpc_client import GrpcLLMClient
from tarsy.llm.in_process import InProcessLLMClient
from tarsy.llm.service import start_service
from tarsy.llm.signals import Finished, Signal

CHUNKS = 3000
CHUNKS_PER_SECOND = 1000
ROUNDS = 20
# Milliseconds, the median of all chunks.
LIMITS = {"in process": 0.1, "gRPC": 1.0}
REQUEST = GenerateInput(
    session_id="bench",
    execution_id="bench",
    messages=(ConversationMessage(Role.USER, "Count."),),
    provider=ResolvedProvider(name="metronome", type=ProviderType.REPLAY, model="metronome"),
    backend=LLMBackend.LANGCHAIN,
)


class Metronome:
    """A provider that says at a steady pace what time it is, through the same machinery as the real ones."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        del access  # asked or not, it ticks
        async with aclosing(stream_answer(self._ticks, request.provider, CallRetryPolicy())) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        self.released.set()

    async def _ticks(self) -> AsyncGenerator[Signal]:
        start = time.monotonic()
        try:
            for tick in range(CHUNKS):
                await asyncio.sleep(max(0.0, start + tick / CHUNKS_PER_SECOND - time.monotonic()))
                yield TextChunk(f"{time.monotonic_ns()} ")
            yield Finished("stop")
        finally:
            self.released.set()


def local_client(metronome: Metronome) -> InProcessLLMClient:
    return InProcessLLMClient(lambda _route: metronome, {})


async def delays(client: LLMClient) -> list[float]:
    """Milliseconds from the sending of a chunk to its arrival."""
    received: list[float] = []
    async for chunk in client.generate(REQUEST):
        if isinstance(chunk, TextChunk):
            # Chunks in one packet arrive at once.
            received += [(time.monotonic_ns() - int(answered)) / 1e6 for answered in chunk.content.split()]
    assert len(received) == CHUNKS
    return received


async def hang_up(client: LLMClient, metronome: Metronome) -> float:
    """Milliseconds from cancelling the reader to the provider having let go."""
    metronome.released = asyncio.Event()
    begun = asyncio.Event()

    async def read() -> None:
        async for _ in client.generate(REQUEST):
            begun.set()

    reader = asyncio.ensure_future(read())
    await begun.wait()
    cancelled = time.monotonic()
    reader.cancel()
    await metronome.released.wait()
    return (time.monotonic() - cancelled) * 1000


async def serve() -> None:
    """The other end of the gRPC measurement, in a process of its own as in production."""
    service = await start_service(local_client(Metronome()), host="127.0.0.1", port=0)
    print(f"port {service.port}", flush=True)
    await service.wait()


async def over_grpc() -> list[float]:
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, "serve", stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    line = b""
    while not line.startswith(b"port "):
        line = await process.stdout.readline()
        assert line, "the service did not start"
    client = GrpcLLMClient(f"127.0.0.1:{int(line.split()[1])}", env={})
    try:
        return await delays(client)
    finally:
        await client.aclose()
        process.terminate()
        await process.wait()


def report(name: str, received: list[float]) -> bool:
    median, worst = statistics.median(received), statistics.quantiles(received, n=100)[98]
    good = median < LIMITS[name]
    print(f"llm chunk, {name}: median {median:.3f} ms, p99 {worst:.3f} ms at {CHUNKS_PER_SECOND} chunks/s (limit {LIMITS[name]} ms)")
    return good


async def measure() -> bool:
    metronome = Metronome()
    local = local_client(metronome)
    good = [report("in process", await delays(local)), report("gRPC", await over_grpc())]
    service = await start_service(local, host="127.0.0.1", port=0)
    remote = GrpcLLMClient(f"127.0.0.1:{service.port}", env={})
    clients: dict[str, LLMClient] = {"in process": local, "gRPC": remote}
    for name, client in clients.items():
        worst = max([await hang_up(client, metronome) for _ in range(ROUNDS)])
        print(f"llm cancellation, {name}: worst of {ROUNDS} {worst:.1f} ms (limit 100 ms)")
        good.append(worst < 100)
    await remote.aclose()
    await service.stop(grace=0)
    return all(good)


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        asyncio.run(serve())
        return
    sys.exit(0 if asyncio.run(measure()) else 1)


if __name__ == "__main__":
    main()
