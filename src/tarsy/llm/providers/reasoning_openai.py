"""ChatOpenAI that keeps the reasoning which OpenAI-compatible servers stream beside the text (vLLM, llama.cpp, Ollama, DeepSeek)."""

from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI

REASONING = "reasoning_content"


class ReasoningChatOpenAI(ChatOpenAI):
    """Carries a delta's reasoning on, under one name, whichever of the two the server uses."""

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: dict[str, Any] | None
    ) -> ChatGenerationChunk | None:
        made = super()._convert_chunk_to_generation_chunk(  # pyright: ignore[reportUnknownMemberType] - untyped in the library
            chunk, default_chunk_class, base_generation_info
        )
        choices = chunk.get("choices")
        if made is not None and choices:
            delta: dict[str, Any] = choices[0].get("delta") or {}
            reasoning = delta.get(REASONING) or delta.get("reasoning")
            if isinstance(reasoning, str) and reasoning:
                made.message.additional_kwargs[REASONING] = reasoning
        return made
