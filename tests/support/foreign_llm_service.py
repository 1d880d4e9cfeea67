"""An LLM service that another project wrote: it has the contract's one method and nothing else, and answers from a script."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from tarsy.llm.proto.llm.v1 import llm_pb2 as pb


@asynccontextmanager
async def foreign_llm_service(*answer: pb.GenerateResponse | Exception) -> AsyncGenerator[str]:
    """Serve `answer` to every call, on a free port; an exception among it is raised. Yields the address."""

    async def generate(_request: pb.GenerateRequest, _context: Any) -> AsyncGenerator[pb.GenerateResponse]:
        for message in answer:
            if isinstance(message, Exception):
                raise message
            yield message

    server = grpc.aio.server()
    # The type stubs do not know its asynchronous half.
    behavior: Any = generate
    handler = grpc.unary_stream_rpc_method_handler(behavior, pb.GenerateRequest.FromString, pb.GenerateResponse.SerializeToString)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("llm.v1.LLMService", {"Generate": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        # Not before the call under way has ended: gRPC would still have something to say to an event loop that is gone.
        await server.stop(grace=5)
