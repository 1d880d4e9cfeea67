"""The provider that plays a recording: no key, no network, the same words every time.

A call is found by its track and turn, so a resumed investigation goes on where the recording does; an answer in chat by its question
besides. What was not recorded is refused, with what to set to have it answered by a model.
"""

import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import yaml
from pydantic import ValidationError

from tarsy.config.schema.configuration import vendor_variables, ways_to_a_model
from tarsy.domain.conversation import Role
from tarsy.domain.llm import Chunk, ErrorChunk, ErrorCode, GenerateInput, TextChunk, ThinkingChunk
from tarsy.domain.recording import RecordedCall, RecordedChunk, Recording, UnplayableChunkError, recorded_to_chunk
from tarsy.llm.access import Access

# A fast hosted model writes about this many words a second.
WORDS_PER_SECOND = 40.0
_NUMBER = re.compile(r"^# Question (\d+)$", re.MULTILINE)
WORD = re.compile(r"\s*\S+\s*")

RecordingLoader = Callable[[str], Recording]


class RecordingUnreadableError(Exception):
    """The recording a provider names cannot be read; the operator who configured it can act."""


class RecordingFiles:
    """Reads recordings from files, JSON or YAML, and again only when they change."""

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
                self._read[name] = (version, _recording_at(Path(name)))
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
            raise RecordingUnreadableError(f"the recording {name} cannot be read: {error}") from error
        return self._read[name][1]


def _recording_at(path: Path) -> Recording:
    return Recording.model_validate(yaml.load(path.read_text(encoding="utf-8"), Loader=_YAML_LOADER))  # noqa: S506 - a safe loader either way


# The C parser reads a large recording ten times faster; both are safe loaders.
_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class _Index:
    """A recording, and its calls by their places."""

    recording: Recording
    places: Mapping[tuple[str, int], RecordedCall]

    @classmethod
    def of(cls, recording: Recording) -> "_Index":
        return cls(recording, {(call.track, call.turn): call for call in recording.calls})

    def find(self, request: GenerateInput) -> RecordedCall | None:
        """The call at the request's place, or the one that answers the same question: questions may be asked in any order."""
        call = self.places.get((request.track, request.turn))
        if call is not None and (call.question is None or _asks(request, call.question)):
            return call
        same_turn = (call for call in self.recording.calls if call.turn == request.turn and call.question)
        return next((call for call in same_turn if _asks(request, call.question or "")), None)

    def refusal(self, name: str, request: GenerateInput) -> str:
        questions = tuple(dict.fromkeys(call.question for call in self.recording.calls if call.question))
        by_place = {call.track for call in self.recording.calls if call.question is None}
        if questions and request.track not in by_place:
            return _other_question(name, questions)
        return _not_recorded(name, self.recording, request)


def _asks(request: GenerateInput, question: str) -> bool:
    """Whether the conversation was opened with `question`: it is the last thing said in a message, on lines of its own."""
    asked = f"\n{question.strip()}"
    return any(f"\n{message.content.strip()}".endswith(asked) for message in request.messages if message.role is Role.USER)


def _renumbering(recording: Recording, call: RecordedCall, request: GenerateInput) -> Callable[[TextChunk], TextChunk]:
    """An answer cites its own results by its question's number: where that is another one now, the citations are too."""
    asked = [found for message in request.messages if (found := _NUMBER.search(message.content))]
    if call.question is None or call.question not in recording.questions or not asked:
        return lambda chunk: chunk
    before, now = recording.questions.index(call.question) + 1, asked[-1][1]
    return lambda chunk: replace(chunk, content=re.sub(rf"\bQ{before}\.(?=\d)", f"Q{now}.", chunk.content))


class ReplayProvider:
    """Plays recorded answers, at once or, with `speed` above zero, in a natural rhythm that many times as fast. A session may bring its own."""

    def __init__(self, recordings: RecordingLoader, *, speed: float = 0.0) -> None:
        self._recordings = recordings
        self._speed = speed
        self._indexes: dict[str, _Index] = {}

    async def generate(self, request: GenerateInput, access: Access) -> AsyncGenerator[Chunk]:
        del access  # a recording needs none
        found = await self._find(request)
        if isinstance(found, ErrorChunk):
            yield found
            return
        renumber = _renumbering(self._indexes[request.provider.recording or ""].recording, found, request)
        speed = self._speed if request.provider.replay_speed is None else request.provider.replay_speed
        for recorded in found.chunks:
            try:
                chunk = recorded_to_chunk(recorded)
            except UnplayableChunkError as error:
                yield _refusal(f"the recording {request.provider.recording} cannot be played: {error}")
                return
            if isinstance(chunk, TextChunk):
                chunk = renumber(chunk)
            if speed <= 0:
                yield chunk
                continue
            for delay, piece in paced(recorded, chunk):
                await anyio.sleep(delay / speed)
                yield piece

    async def aclose(self) -> None:
        self._indexes.clear()

    async def _find(self, request: GenerateInput) -> RecordedCall | ErrorChunk:
        name = request.provider.recording
        if not name:
            return _refusal(f"the provider {request.provider.name} is of type replay and names no recording: set `recording`")
        try:
            recording = await anyio.to_thread.run_sync(self._recordings, name)
        except RecordingUnreadableError as error:
            return _refusal(str(error))
        index = self._index(name, recording)
        return index.find(request) or _refusal(index.refusal(name, request))

    def _index(self, name: str, recording: Recording) -> _Index:
        known = self._indexes.get(name)
        if known is None or known.recording is not recording:
            known = self._indexes[name] = _Index.of(recording)
        return known


def paced(recorded: RecordedChunk, chunk: Chunk) -> Iterator[tuple[float, Chunk]]:
    """Cut long text into words, each with the seconds to wait before it."""
    if not isinstance(chunk, TextChunk | ThinkingChunk):
        yield recorded.after, chunk
        return
    delay = recorded.after
    for word in WORD.findall(chunk.content) or [chunk.content]:
        yield delay, replace(chunk, content=word)
        delay = 1 / WORDS_PER_SECOND


def _refusal(message: str) -> ErrorChunk:
    return ErrorChunk(message, ErrorCode.INVALID_REQUEST)


def _other_question(name: str, questions: Sequence[str]) -> str:
    known = ", ".join(f'"{question}"' for question in questions)
    cure = f"{ways_to_a_model(vendor_variables())}; then send the alert again, because this session keeps its recorded model."
    return f"The model of this session is the recording {name}, which has answers to these questions only: {known}. For others: {cure}"


def _not_recorded(name: str, recording: Recording, request: GenerateInput) -> str:
    turns: dict[str, list[int]] = {}
    for call in recording.calls:
        turns.setdefault(call.track, []).append(call.turn)
    has = "; ".join(f"{track} turns {', '.join(map(str, sorted(numbers)))}" for track, numbers in turns.items()) or "no calls at all"
    return f"the recording {name} has no call for track {request.track!r} turn {request.turn}; it has {has}"
