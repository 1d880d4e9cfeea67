"""The sample incidents: an alert, the chain that investigates it, and a recording. Files are read on first use."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tarsy.config.resolve.resolved import ResolvedChain, ResolvedProvider
from tarsy.demo.chain import RECORDING_SCHEME, StageOutline, build_chain, chain_id_of, replay_provider, skills_of
from tarsy.demo.incident_files import INCIDENTS, FilePart, read_yaml
from tarsy.domain.recording import RecordedAlert, Recording
from tarsy.domain.skill import text_hash
from tarsy.llm.providers.replay import RecordingLoader, RecordingUnreadableError


class UnknownSampleError(LookupError):
    """There is no sample incident of that name; the text lists the known ones."""


class IncidentFile(FilePart):
    """The content of `incident.yaml`; the alert, the world and the recording have their own files."""

    # Its position in the list: the simplest incident first.
    order: int
    title: str
    description: str
    alert: str
    stages: tuple[StageOutline, ...]
    questions: tuple[str, ...]
    # Quotations of the analysis; each occurs verbatim in a tool result.
    evidence: tuple[str, ...]
    # Tool calls of the recording that are meant to fail.
    planned_errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample incident. Its alert and recording are read when they are used."""

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
    def questions(self) -> tuple[str, ...]:
        """Follow-up questions, in any order, that the recording has answers to."""
        return self.incident.questions

    @property
    def skill_texts(self) -> tuple[str, ...]:
        """The texts of the skills that its agents may load."""
        return tuple(text for skill in skills_of(self.incident.stages) for text in skill.files.values())

    @property
    def directory(self) -> Path:
        return INCIDENTS / self.name

    @property
    def alert_data(self) -> str:
        return (self.directory / self.incident.alert).read_text(encoding="utf-8")

    @property
    def chain(self) -> ResolvedChain:
        """The chain with the recorded model."""
        return self.chain_with(replay_provider(self.name, None))

    def chain_with(self, provider: ResolvedProvider, settings: Mapping[str, Any] | None = None) -> ResolvedChain:
        """Return the chain on the same simulated cluster, with `provider` and `settings` for every agent."""
        return build_chain(self.name, self.incident.stages, provider, settings)

    @property
    def recording(self) -> Recording:
        return _recording(self.name)


@cache
def load_sample(name: str) -> Sample:
    """Find a sample incident by name.

    Raises:
        UnknownSampleError: there is none.
    """
    if name not in _names():
        raise UnknownSampleError(f'there is no sample incident "{name}"; there are: {", ".join(_names())}')
    return Sample(name, IncidentFile.model_validate(read_yaml(INCIDENTS / name / "incident.yaml")))


def list_samples() -> tuple[Sample, ...]:
    """Return all sample incidents, the simplest first."""
    return tuple(sorted((load_sample(name) for name in _names()), key=lambda sample: sample.incident.order))


def recording_loader(otherwise: RecordingLoader) -> RecordingLoader:
    """Return a loader for `sample:NAME`, which passes all other names to `otherwise`."""

    def load(source: str) -> Recording:
        if not source.startswith(RECORDING_SCHEME):
            return otherwise(source)
        try:
            return load_sample(source.removeprefix(RECORDING_SCHEME)).recording
        except UnknownSampleError as error:
            raise RecordingUnreadableError(str(error)) from error

    return load


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in INCIDENTS.glob("*/incident.yaml")))


@cache
def _recording(name: str) -> Recording:
    sample = load_sample(name)
    # Parsed with types, unlike the other files: arguments of tools are numbers and booleans.
    written: dict[str, Any] = yaml.load((sample.directory / "recording.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    recording = Recording.model_validate(written)
    # The questions belong to the recorded chat answers, in the order of both.
    chats = dict.fromkeys(call.track for call in recording.calls if call.track.endswith(".chat/1.ChatAgent"))
    asked = dict(zip(chats, sample.questions, strict=True))
    return recording.model_copy(
        update={
            "title": sample.title,
            "alert": RecordedAlert(alert_type=sample.alert_type, data=sample.alert_data, author="sample"),
            "chain": json.loads(sample.chain.model_dump_json()),
            "skills": {text_hash(text): text for text in sample.skill_texts},
            "questions": sample.questions,
            "calls": tuple(call.model_copy(update={"question": asked.get(call.track)}) for call in recording.calls),
        }
    )
