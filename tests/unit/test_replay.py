"""The models of a replay that goes on with a live model."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from support.agent_scenario import PROVIDER
from tarsy.domain.conversation import ConversationMessage, Role
from tarsy.domain.llm import Chunk, GenerateInput, LLMBackend, LLMHealth, TextChunk
from tarsy.replay import PartlyLiveClient

REQUEST = GenerateInput(
    session_id="s",
    execution_id="e",
    messages=(ConversationMessage(Role.USER, "Why?"),),
    provider=PROVIDER,
    backend=LLMBackend.LANGCHAIN,
)


@dataclass
class EndlessModel:
    """Answers until its call is stopped."""

    is_stopped: bool = False

    async def generate(self, request: GenerateInput) -> AsyncGenerator[Chunk]:
        del request
        try:
            while True:
                yield TextChunk("and ")
        finally:
            self.is_stopped = True

    async def health(self) -> LLMHealth:
        return LLMHealth(ok=True, detail="")

    async def aclose(self) -> None: ...


async def test_closing_a_partly_live_answer_stops_the_call_of_the_live_model() -> None:
    model = EndlessModel()
    answer = PartlyLiveClient((), PROVIDER, model).generate(REQUEST)
    await anext(answer)
    await answer.aclose()
    assert model.is_stopped
