"""New cases: from a finished session, or from recorded tool results."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import yaml

from tarsy.domain.alert import alert_title
from tarsy.domain.citation import CitationStatus
from tarsy.domain.recording import RecordedTool, Recording
from tarsy.domain.review import Accuracy
from tarsy.domain.verdict import VerdictOutcome, verdict_of
from tarsy.evals.attempts import attempt_of
from tarsy.evals.cases import CaseFile, EvalError, WorldKind
from tarsy.evals.worlds.snapshot import Snapshot

# The keys of `--expect KEY=VALUE`.
EXPECT_KEYS = ("outcome", "object", "mechanism", "not", "cite", "no-cite", "still-happening", "forbid", "turns", "tokens", "usd", "seconds")
_CEILINGS: Mapping[str, type[int | float]] = {"turns": int, "tokens": int, "usd": float, "seconds": float}
# More words or quotations make a case that only its own session passes.
_MOST_WORDS, _MOST_QUOTATIONS = 3, 9
_WORD = re.compile(r"[\w./-]*\w{4}")


@dataclass(frozen=True, slots=True)
class Description:
    """A person's description of a new case."""

    title: str = ""
    family: str = "production"
    reference: str = ""
    expect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SuggestedAnswers:
    """What the verdict of a session suggests for the mechanism and the evidence of its case."""

    outcome: str = ""
    reference: str = ""
    # The causes that were ruled out.
    must_not_say: tuple[str, ...] = ()
    # Verified quotations of tool results, those that the verdict names first.
    quotations: tuple[str, ...] = ()

    def must_say(self, reference: str) -> tuple[str, ...]:
        """Return words of a reference, if possible some that occur in the evidence too."""
        words, shown = list(dict.fromkeys(_WORD.findall(reference.lower()))), " ".join(self.quotations).lower()
        return tuple([word for word in words if word in shown][:_MOST_WORDS] or words[:_MOST_WORDS])


def suggested_answers(recording: Recording) -> SuggestedAnswers:
    attempt = attempt_of(recording, seconds=0)
    verdict = attempt.verdict
    if verdict is None:
        return SuggestedAnswers()
    verified = [one.checked.citation for one in attempt.cited if one.checked.status is CitationStatus.QUOTE_FOUND]
    verified.sort(key=lambda one: one.evidence_id not in verdict.evidence)
    quotations = dict.fromkeys(one.quotation for one in verified if one.quotation and _result_with(one.quotation, recording.tools))
    return SuggestedAnswers(
        outcome=verdict.outcome.value,
        reference=verdict.mechanism,
        must_not_say=tuple(one.hypothesis.replace(",", " ") for one in verdict.ruled_out),
        quotations=tuple(quotations)[:_MOST_QUOTATIONS],
    )


def reviewed_answers(suggested: SuggestedAnswers, accuracy: Accuracy, actual_cause: str) -> SuggestedAnswers:
    """Return what a person's review says about the mechanism and the evidence, completed by the verdict as far as it was right.

    Raises:
        EvalError: the verdict is wrong, and the review does not name the actual cause.
    """
    if accuracy is not Accuracy.WRONG:
        return replace(suggested, reference=actual_cause or suggested.reference)
    if not actual_cause:
        raise EvalError("The review says that the verdict is wrong, but not why: add the actual cause with `tarsy review --cause`.")
    wrong = (suggested.reference.replace(",", " "),) if suggested.reference else ()
    return SuggestedAnswers(outcome=VerdictOutcome.FAULT.value, reference=actual_cause, must_not_say=wrong)


def case_of_session(recording: Recording, description: Description, file: str, *, accuracy: Accuracy | None = None) -> str:
    """Return the text of `case.yaml` for a session. The session's verdict completes the expectation, as far as its review calls it right.

    Raises:
        EvalError: the session holds no alert, or neither a verdict nor an expected outcome.
    """
    if recording.alert is None:
        raise EvalError("The session has no alert.")
    expect = read_expect(description.expect, recording.tools)
    concluded = recording.outcome.verdict if recording.outcome else None
    verdict = verdict_of(concluded) if concluded else None
    if accuracy is Accuracy.WRONG:
        expect = {"outcome": VerdictOutcome.FAULT.value, **expect}
    elif verdict is not None:
        names_object = verdict.object is not None and accuracy is not Accuracy.PARTLY
        expect = {"outcome": verdict.outcome.value, **({"object": [str(verdict.object)]} if names_object else {}), **expect}
    data = recording.alert.data
    fields = _fields(description, alert_title(data, fallback="A session of production"), expect)
    fields |= {"alert": data, "alert_type": recording.alert.alert_type, "world": {"kind": WorldKind.RECORDING.value, "file": file}}
    fields |= {"runbook": recording.alert.runbook} if recording.alert.runbook else {}
    fields["reference"] = description.reference or (verdict.mechanism if verdict else "")
    return _written(fields)


def case_of_snapshot(snapshot: Snapshot, alert: str, description: Description, file: str, *, recorded_at: datetime) -> str:
    """Return the text of `case.yaml` for recorded tool results. The time of the world is the time of the recording.

    Raises:
        EvalError: no outcome is expected.
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
        raise EvalError("What is the right outcome? Give --expect outcome=fault, no_fault or inconclusive.")
    return {"title": description.title or title, "family": description.family, "difficulty": "medium", "expect": dict(expect)}


def _written(fields: Mapping[str, Any]) -> str:
    text = {**fields, "reference": fields["reference"] or "Not written yet: say in a sentence what is really wrong."}
    try:
        CaseFile.model_validate(text)
    except ValueError as error:
        raise EvalError(f"This is not a valid case: {error}") from error
    return yaml.safe_dump(text, sort_keys=False, allow_unicode=True, width=140)


def read_expect(entries: Iterable[str], results: Sequence[RecordedTool]) -> dict[str, Any]:
    """Parse `KEY=VALUE` entries into an expectation; for `cite`, the call whose result contains the text is added.

    Raises:
        EvalError: an entry is none, or no result holds the words to be cited.
    """
    expect: dict[str, Any] = {}
    for entry in entries:
        key, sign, value = entry.partition("=")
        if not sign or not value.strip() or key.strip() not in EXPECT_KEYS:
            raise EvalError(f'"{entry}" is no expectation: write KEY=VALUE with one of {", ".join(EXPECT_KEYS)}.')
        key, value = key.strip(), value.strip()
        match key:
            case "mechanism":
                words = [word.strip() for word in value.split(",") if word.strip()]
                expect.setdefault("mechanism", {"any_of": []})["any_of"].append(words)
            case "not":
                # Each wrong cause alone is enough to fail.
                wrong = [[word.strip()] for word in value.split(",") if word.strip()]
                expect.setdefault("mechanism", {"any_of": []}).setdefault("none_of", []).extend(wrong)
            case "cite":
                expect.setdefault("must_cite", []).append(_required_evidence(value, results))
            case "still-happening":
                expect["still_happening"] = value
            case "turns" | "tokens" | "usd" | "seconds":
                try:
                    expect.setdefault("ceilings", {})[key] = _CEILINGS[key](value)
                except ValueError as error:
                    raise EvalError(f'"{value}" is no number of {key}.') from error
            case _:
                name = {"no-cite": "must_not_cite", "forbid": "forbidden_actions"}.get(key, key)
                expect.setdefault(name, []).append(value)
    return expect


def _required_evidence(text: str, results: Sequence[RecordedTool]) -> dict[str, Any]:
    found = _result_with(text, results)
    if found is None:
        raise EvalError(f'No tool result holds "{text}", so it cannot be cited.')
    return {
        "text": text,
        "call": {"tool": found.name.partition(".")[2] or found.name, "arguments": yaml.safe_load(found.arguments or "{}") or {}},
    }


def _result_with(text: str, results: Sequence[RecordedTool]) -> RecordedTool | None:
    plain = " ".join(text.lower().split())
    return next((one for one in results if plain in " ".join(one.content.lower().split())), None)
