"""The provider that replays a recording: without key or network, with the same words every time.

A call is found by its track and turn, so that a resumed investigation goes on where the recording does; an answer in chat also by its
question. A call that was not recorded is refused with what to set to have it answered by a model.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import orjson
import yaml
from pydantic import ValidationError

from tarsy.config.schema.configuration import model_setup_hint, vendor_variables
from tarsy.domain.conversation import Role
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, TextChunk, ThinkingChunk
from tarsy.domain.recording import RecordedCall, RecordedChunk, Recording, UnplayableChunkError, recorded_to_chunk
from tarsy.kit.validation import reason
from tarsy.kit.yaml_limits import check_yaml
from tarsy.llm.access import Access

# The pace of a fast hosted model.
WORDS_PER_SECOND = 40.0
_NUMBER = re.compile(r"^# Question (\d+)$", re.MULTILINE)
WORD = re.compile(r"\s*\S+\s*")

RecordingLoader = Callable[[str], Recording]


class RecordingUnreadableError(Exception):
    """The recording that a provider names cannot be read; the operator can act."""


class RecordingFiles:
    """Loads recordings from files, JSON or YAML, and again only when they change."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[int, Recording]] = {}

    def __call__(self, name: str) -> Recording:
        """Load the recording at path `name`.

        Raises:
            RecordingUnreadableError: there is no such file, or it is not a recording.
        """
        try:
            version = Path(name).stat().st_mtime_ns
            if self._read.get(name, (None, None))[0] != version:
                text = Path(name).read_text(encoding="utf-8")
                self._read[name] = (version, Recording.model_validate(_parsed(text)))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "it"
            raise RecordingUnreadableError(f"{name} is not a recording of TARSy: {where} {reason(first)}.") from error
        except yaml.MarkedYAMLError as error:
            raise RecordingUnreadableError(f"{name} is not a recording of TARSy: it is neither JSON nor YAML.") from error
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise RecordingUnreadableError(f"the recording {name} cannot be read: {error}") from error
        return self._read[name][1]


def _parsed(text: str) -> Any:
    """Parse JSON, as exports are written, or YAML.

    Raises:
        yaml.YAMLError: it is neither.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        check_yaml(text)
        return yaml.load(text, Loader=yaml.CSafeLoader)


class ReplayProvider:
    """Replays recorded answers, at once or, with `speed` above zero, that many times as fast as a model. A provider may set its own speed."""

    def __init__(self, recordings: RecordingLoader, *, speed: float = 0.0) -> None:
        self._recordings = recordings
        self._speed = speed

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        del access  # a recording needs none
        name = request.provider.recording
        if not name:
            yield _refusal(f"the provider {request.provider.name} is of type replay and names no recording: set `recording`")
            return
        try:
            recording = await anyio.to_thread.run_sync(self._recordings, name)
        except RecordingUnreadableError as error:
            yield _refusal(str(error))
            return
        call = _find(recording, request)
        if call is None:
            yield _refusal(_not_recorded(name, recording, request))
            return
        speed = self._speed if request.provider.replay_speed is None else request.provider.replay_speed
        for recorded in call.chunks:
            try:
                chunk = recorded_to_chunk(recorded)
            except UnplayableChunkError as error:
                yield _refusal(f"the recording {name} cannot be played: {error}")
                return
            if isinstance(chunk, TextChunk):
                chunk = _renumbered(chunk, recording, call, request)
            if speed <= 0:
                yield chunk
                continue
            for delay, piece in paced(recorded, chunk):
                await anyio.sleep(delay / speed)
                yield piece

    async def aclose(self) -> None:
        """Nothing is open."""


def _find(recording: Recording, request: GenerateInput) -> RecordedCall | None:
    """Return the call at the request's place, or one that answers the same question: questions may be asked in any order."""
    at_place = next((call for call in reversed(recording.calls) if (call.track, call.turn) == (request.track, request.turn)), None)
    if at_place is not None and (at_place.question is None or _ends_with_question(request, at_place.question)):
        return at_place
    same_turn = (call for call in recording.calls if call.turn == request.turn and call.question)
    return next((call for call in same_turn if _ends_with_question(request, call.question or "")), None)


def _ends_with_question(request: GenerateInput, question: str) -> bool:
    """Return whether a user message ends with `question`, on lines of its own."""
    ending = f"\n{question.strip()}"
    return any(f"\n{message.content.strip()}".endswith(ending) for message in request.messages if message.role is Role.USER)


def _renumbered(chunk: TextChunk, recording: Recording, call: RecordedCall, request: GenerateInput) -> TextChunk:
    """Change the citations of an answer, which begin with the number of its question, if the question now has another number."""
    numbers = [found for message in request.messages if (found := _NUMBER.search(message.content))]
    if call.question is None or call.question not in recording.questions or not numbers:
        return chunk
    before, now = recording.questions.index(call.question) + 1, numbers[-1][1]
    return replace(chunk, content=re.sub(rf"\bQ{before}\.(?=\d)", f"Q{now}.", chunk.content))


def paced(recorded: RecordedChunk, chunk: Chunk) -> Iterator[tuple[float, Chunk]]:
    """Split text into words, each with the seconds to wait before it."""
    if not isinstance(chunk, TextChunk | ThinkingChunk):
        yield recorded.after, chunk
        return
    delay = recorded.after
    for word in WORD.findall(chunk.content) or [chunk.content]:
        yield delay, replace(chunk, content=word)
        delay = 1 / WORDS_PER_SECOND


def _refusal(message: str) -> ErrorChunk:
    return ErrorChunk(message, ErrorCode.INVALID_REQUEST)


def _not_recorded(name: str, recording: Recording, request: GenerateInput) -> str:
    questions = tuple(dict.fromkeys(call.question for call in recording.calls if call.question))
    if questions and request.track not in {call.track for call in recording.calls if call.question is None}:
        known = ", ".join(f'"{question}"' for question in questions)
        remedy = f"{model_setup_hint(vendor_variables())}; then send the alert again, because this session keeps its recorded model."
        return (
            f"The model of this session is the recording {name}, which has answers to these questions only: {known}. For others: {remedy}"
        )
    turns: dict[str, list[int]] = {}
    for call in recording.calls:
        turns.setdefault(call.track, []).append(call.turn)
    has = "; ".join(f"{track} turns {', '.join(map(str, sorted(numbers)))}" for track, numbers in turns.items()) or "no calls at all"
    return f"the recording {name} has no call for track {request.track!r} turn {request.turn}; it has {has}"
