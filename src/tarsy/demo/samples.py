"""The sample incidents: an alert, the chain that investigates it, and what a recorded model said. Files are read on first use."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from tarsy.config.resolve.resolved import ResolvedChain, ResolvedProvider
from tarsy.demo.chain import RECORDING_SCHEME, StageOutline, build_chain, chain_id_of, replay_provider, skills_of
from tarsy.demo.incident_files import INCIDENTS, read_yaml
from tarsy.domain.recording import RecordedAlert, RecordedCall, Recording
from tarsy.domain.skill import text_hash
from tarsy.llm.providers.replay import RecordingLoader, RecordingUnreadableError


class UnknownSampleError(LookupError):
    """There is no sample incident of that name; the text lists those there are."""


class IncidentFile(BaseModel):
    """What `incident.yaml` says; the alert itself, the world and the recording stand in files of their own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Where it stands in the list: the plainest first.
    order: int
    title: str
    description: str
    alert: str
    stages: tuple[StageOutline, ...]
    questions: tuple[str, ...]
    # What the analysis quotes; each occurs word for word in what the tools answer.
    evidence: tuple[str, ...]
    # Tool calls of the recording that are meant to fail.
    planned_errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample incident. Its alert and title are at hand; the recording is read when it is asked for."""

    name: str
    incident: IncidentFile

    @property
    def title(self) -> str:
        return self.incident.title

    @property
    def description(self) -> str:
        return " ".join(self.incident.description.split())

    @property
    def alert_type(self) -> str:
        return chain_id_of(self.name)

    @property
    def chain_id(self) -> str:
        return chain_id_of(self.name)

    @property
    def questions(self) -> tuple[str, ...]:
        """Questions to ask afterwards, in any order: the recorded model has answers to these."""
        return self.incident.questions

    @property
    def skill_texts(self) -> tuple[str, ...]:
        """The texts that its agents may load."""
        return tuple(text for skill in skills_of(self.incident.stages) for text in skill.files.values())

    @property
    def directory(self) -> Path:
        return _folder(self.name)

    @property
    def alert_data(self) -> str:
        return (_folder(self.name) / self.incident.alert).read_text(encoding="utf-8")

    @property
    def chain(self) -> ResolvedChain:
        """The chain on the recorded model."""
        return self.recorded(None)

    def recorded(self, speed: float | None) -> ResolvedChain:
        """The chain on the recorded model, played at `speed`."""
        return self.live(replay_provider(self.name, speed))

    def live(self, provider: ResolvedProvider, settings: Mapping[str, Any] | None = None) -> ResolvedChain:
        """The same chain on the same simulated cluster, with `provider` and `settings` for every agent."""
        return build_chain(self.name, self.incident.stages, provider, settings)

    @property
    def recording(self) -> Recording:
        return _recording(self.name)


@cache
def load_sample(name: str) -> Sample:
    """Find a sample incident by name.

    Raises:
        UnknownSampleError: naming the ones there are.
    """
    if name not in _names():
        raise UnknownSampleError(f'there is no sample incident "{name}"; there are: {", ".join(_names())}')
    return Sample(name, IncidentFile.model_validate(read_yaml(_folder(name) / "incident.yaml")))


def list_samples() -> tuple[Sample, ...]:
    """Every sample incident, the plainest first."""
    return tuple(sorted((load_sample(name) for name in _names()), key=lambda sample: sample.incident.order))


def recording_loader(files: RecordingLoader) -> RecordingLoader:
    """Make a loader that knows `sample:NAME` and leaves every other name to `files`."""

    def load(source: str) -> Recording:
        if not source.startswith(RECORDING_SCHEME):
            return files(source)
        try:
            return load_sample(source.removeprefix(RECORDING_SCHEME)).recording
        except UnknownSampleError as error:
            raise RecordingUnreadableError(str(error)) from error

    return load


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in INCIDENTS.glob("*/incident.yaml")))


def _folder(name: str) -> Path:
    return INCIDENTS / name


@cache
def _recording(name: str) -> Recording:
    sample = load_sample(name)
    # Read with types, unlike the other files: a tool is particular about numbers and truth values.
    written: dict[str, Any] = yaml.load((_folder(name) / "recording.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    recording = Recording.model_validate(written)
    return recording.model_copy(
        update={
            "title": sample.title,
            "alert": RecordedAlert(alert_type=sample.alert_type, data=sample.alert_data, author="sample"),
            "chain": json.loads(sample.chain.model_dump_json()),
            "skills": {text_hash(text): text for text in sample.skill_texts},
            "questions": sample.questions,
            "calls": answering(recording.calls, sample.questions),
        }
    )


def answering(calls: Sequence[RecordedCall], questions: Sequence[str]) -> tuple[RecordedCall, ...]:
    """Give the recorded answers of the chat their questions, in the order of both."""
    chats = dict.fromkeys(call.track for call in calls if call.track.endswith(".chat/1.ChatAgent"))
    asked = dict(zip(chats, questions, strict=True))
    return tuple(call.model_copy(update={"question": asked.get(call.track)}) for call in calls)
