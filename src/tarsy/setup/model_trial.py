"""One tiny call to a model: does it answer, and if not, what is to be done."""

from contextlib import aclosing

import anyio

from tarsy.agent.ports import LLMClient
from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import ErrorChunk, ErrorCode, GenerateInput, LLMBackend, TextChunk, ThinkingChunk
from tarsy.setup.finding import Finding, fail, ok

# A model that has to be loaded first takes its time; a person who waits for longer is better told.
CALL_SECONDS = 60.0


async def try_model(name: str, provider: ResolvedProvider, backend: LLMBackend, client: LLMClient) -> Finding:
    """Ask the model for one word."""
    messages = (ConversationMessage(Role.USER, "Answer with the single word: ready"),)
    request = GenerateInput(session_id="doctor", execution_id="doctor", messages=messages, provider=provider, backend=backend)
    answer = ""
    with anyio.move_on_after(CALL_SECONDS):
        async with aclosing(client.generate(request)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, ErrorChunk):
                    return fail("call", f"{name}: {chunk.message}", _cure(chunk.code, provider))
                if isinstance(chunk, TextChunk | ThinkingChunk):
                    answer += chunk.content
        return ok("call", f"{name} answers ({len(answer)} characters)")
    return fail("call", f"{name} did not answer within {CALL_SECONDS:.0f} s", "try again, or name another provider")


def _cure(code: ErrorCode, provider: ResolvedProvider) -> str:
    match code:
        case ErrorCode.CREDENTIALS:
            return f"check the key in {provider.api_key_env or 'its variable'}"
        case ErrorCode.RATE_LIMITED:
            return "wait, or raise the vendor's limit; fallback_providers keeps investigations going meanwhile"
        case ErrorCode.PROVIDER_UNAVAILABLE | ErrorCode.TIMEOUT | ErrorCode.STALLED:
            return f"check that {provider.base_url or 'the vendor'} can be reached from here"
        case _:
            return f"check that the vendor has the model {provider.model}"
