"""What a vendor wants back with the next turn and only the vendor can read: signatures, thinking blocks, kept per execution."""

import hashlib
from typing import Generic, TypeVar

from tarsy.domain.conversation import ConversationMessage
from tarsy.kit.clock import Clock, SystemClock

T = TypeVar("T")

# Well above the time between two turns of one execution.
TIME_TO_LIVE = 3600.0


def turn_key(message: ConversationMessage) -> str:
    """Recognise an assistant's turn: by the ids of its calls, or by its words."""
    return key_of(tuple(call.id for call in message.tool_calls), message.content)


def key_of(call_ids: tuple[str, ...], text: str) -> str:
    if call_ids:
        return "calls:" + "\n".join(call_ids)
    return "text:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class TurnMemory(Generic[T]):
    """Values by execution and turn, forgotten an hour after the execution's last turn."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        # In order of last use, the oldest first.
        self._executions: dict[str, tuple[float, dict[str, T]]] = {}

    def recall(self, execution_id: str, key: str) -> T | None:
        self._forget_old()
        _, turns = self._executions.get(execution_id, (0.0, {}))
        return turns.get(key)

    def keep(self, execution_id: str, key: str, value: T) -> None:
        self._forget_old()
        _, turns = self._executions.pop(execution_id, (0.0, {}))
        turns[key] = value
        self._executions[execution_id] = (self._clock.monotonic(), turns)

    def forget(self, execution_id: str) -> None:
        self._executions.pop(execution_id, None)

    def _forget_old(self) -> None:
        limit = self._clock.monotonic() - TIME_TO_LIVE
        while self._executions:
            execution_id, (used, _) = next(iter(self._executions.items()))
            if used > limit:
                return
            del self._executions[execution_id]
