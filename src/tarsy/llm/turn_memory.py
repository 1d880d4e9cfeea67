"""What a vendor wants back with the next turn and only the vendor can read: signatures, thinking blocks, kept per execution."""

import hashlib
import math
from typing import Generic, TypeVar

from cachetools import TTLCache

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
        timer = (clock or SystemClock()).monotonic
        # Without a limit: the executions that run at once are limited already, and one that lost its signatures would be refused.
        self._executions: TTLCache[str, dict[str, T]] = TTLCache(math.inf, TIME_TO_LIVE, timer)

    def recall(self, execution_id: str, key: str) -> T | None:
        return self._turns(execution_id).get(key)

    def keep(self, execution_id: str, key: str, value: T) -> None:
        self._turns(execution_id)[key] = value

    def forget(self, execution_id: str) -> None:
        self._executions.pop(execution_id, None)

    def _turns(self, execution_id: str) -> dict[str, T]:
        """What is kept for an execution, for another hour from now."""
        turns: dict[str, T] = self._executions.get(execution_id) or {}
        self._executions[execution_id] = turns
        return turns
