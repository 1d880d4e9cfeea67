"""Making cases: of a finished session, or of recorded tool results. Pure module."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from tarsy.domain.alert import alert_title
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.verdict import Verdict, verdict_of
from tarsy.evals.cases import CaseFile, WorldKind
from tarsy.evals.worlds.snapshot import Snapshot
from tarsy.session.playback import NotReplayableError

# What `--expect KEY=VALUE` may say, and where that stands in the case.
EXPECT_KEYS = ("outcome", "object", "mechanism", "cite", "no-cite", "still-happening", "forbid", "turns", "tokens", "usd")
_CEILINGS: Mapping[str, type[int | float]] = {"turns": int, "tokens": int, "usd": float}


class NoCaseError(NotReplayableError):
    """What was given does not make a case; the person who gave it can act."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a person says about a new case."""

    title: str = ""
    family: str = "production"
    difficulty: str = "medium"
    tags: tuple[str, ...] = ()
    reference: str = ""
    expect: tuple[str, ...] = ()


def case_of_session(recording: Recording, description: Description, file: str) -> str:
    """The text of `case.yaml` for a session. What is not said about the expectation is taken from the session's own verdict.

    Raises:
        NoCaseError: the session holds no alert, or neither a verdict nor an expected outcome.
    """
    if recording.alert is None:
        raise NoCaseError("The session holds no alert.")
    said = read_expect(description.expect, recording.tools)
    verdict = _verdict(recording)
    if verdict is not None:
        concluded: dict[str, Any] = {"outcome": verdict.outcome.value}
        concluded |= {"object": [str(verdict.object)]} if verdict.object else {}
        said = concluded | said
    data = recording.alert.data
    fields = _fields(description, alert_title(data, fallback="A session of production"), said)
    fields |= {"alert": data, "alert_type": recording.alert.alert_type, "world": {"kind": WorldKind.RECORDING.value, "file": file}}
    fields |= {"runbook": recording.alert.runbook} if recording.alert.runbook else {}
    fields["reference"] = description.reference or (verdict.mechanism if verdict else "")
    return _written(fields)


def _verdict(recording: Recording) -> Verdict | None:
    told = recording.outcome.verdict if recording.outcome else None
    return verdict_of(told) if told else None


def case_of_snapshot(snapshot: Snapshot, alert: str, description: Description, file: str, *, recorded_at: datetime) -> str:
    """The text of `case.yaml` for recorded tool results; to its investigators it is the time at which they were recorded.

    Raises:
        NoCaseError: no outcome is expected.
    """
    results = [
        RecordedTool(track="", call_id="", name=one.tool, arguments=yaml.safe_dump(dict(one.arguments)), content=one.text)
        for one in snapshot.results
    ]
    fields = _fields(description, alert_title(alert, fallback="Recorded tool results"), read_expect(description.expect, results))
    world = {"kind": WorldKind.SNAPSHOT.value, "file": file, "now": recorded_at.isoformat(timespec="seconds")}
    fields |= {"alert": alert, "world": world, "reference": description.reference}
    return _written(fields)


def _fields(description: Description, title: str, expect: Mapping[str, Any]) -> dict[str, Any]:
    if "outcome" not in expect:
        raise NoCaseError("What should an investigation come to? Say it with --expect outcome=fault, no_fault or inconclusive.")
    tags = {"tags": list(description.tags)} if description.tags else {}
    head = {"title": description.title or title, "family": description.family, "difficulty": description.difficulty, **tags}
    return {**head, "expect": dict(expect)}


def _written(fields: Mapping[str, Any]) -> str:
    text = {**fields, "reference": fields["reference"] or "Not written yet: say in a sentence what is really wrong."}
    try:
        CaseFile.model_validate(text)
    except ValueError as error:
        raise NoCaseError(f"This makes no case: {error}") from error
    return yaml.safe_dump(text, sort_keys=False, allow_unicode=True, width=140)


def read_expect(entries: Iterable[str], results: Sequence[RecordedTool]) -> dict[str, Any]:
    """An expectation out of `KEY=VALUE` entries; `cite` finds the call whose result holds the words.

    Raises:
        NoCaseError: an entry is none, or no result holds the words to be cited.
    """
    expect: dict[str, Any] = {}
    for entry in entries:
        key, sign, value = entry.partition("=")
        if not sign or not value.strip() or key.strip() not in EXPECT_KEYS:
            raise NoCaseError(f'"{entry}" is no expectation: write KEY=VALUE with one of {", ".join(EXPECT_KEYS)}.')
        _add(expect, key.strip(), value.strip(), results)
    return expect


def _add(expect: dict[str, Any], key: str, value: str, results: Sequence[RecordedTool]) -> None:
    match key:
        case "mechanism":
            words = [word.strip() for word in value.split(",") if word.strip()]
            expect.setdefault("mechanism", {"any_of": []})["any_of"].append(words)
        case "cite":
            expect.setdefault("must_cite", []).append(_required(value, results))
        case "still-happening":
            expect["still_happening"] = value
        case "turns" | "tokens" | "usd":
            expect.setdefault("ceilings", {})[key] = _number(key, value)
        case _:
            name = {"no-cite": "must_not_cite", "forbid": "forbidden_actions"}.get(key, key)
            expect.setdefault(name, []).append(value)


def _required(text: str, results: Sequence[RecordedTool]) -> dict[str, Any]:
    plain = " ".join(text.lower().split())
    found = next((one for one in results if plain in " ".join(one.content.lower().split())), None)
    if found is None:
        raise NoCaseError(f'No tool result holds "{text}", so it cannot be cited.')
    return {
        "text": text,
        "call": {"tool": found.name.partition(".")[2] or found.name, "arguments": yaml.safe_load(found.arguments or "{}") or {}},
    }


def _number(key: str, value: str) -> float:
    try:
        return _CEILINGS[key](value)
    except ValueError as error:
        raise NoCaseError(f'"{value}" is no number of {key}.') from error
