"""The oracle knows the case: it makes the calls that show the evidence and cites it. What it does not pass cannot be passed. Pure module."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tarsy.agent.evidence.verdict import without_verdict
from tarsy.domain.verdict import StillHappening, VerdictOutcome
from tarsy.evals.cases import Case, KnownCall, RequiredEvidence
from tarsy.evals.investigators.script import Calls, Conversation, Says, cited, numbered, verdict_block


def oracle(case: Case, conversation: Conversation) -> Calls | Says:
    calls = _calls(case)
    # An agent without tools brings together what others saw.
    if calls and conversation.tools and conversation.rounds == 0:
        return Calls(tuple((call.tool, call.arguments) for call in calls.values()))
    return Says(_answer(case, dict(zip(calls, numbered(len(calls)), strict=True))))


def _calls(case: Case) -> Mapping[str, KnownCall]:
    """Each call once, however much of its result has to be cited."""
    wanted = (required.call for required in case.file.expect.must_cite)
    return {_key(call): call for call in wanted if call is not None}


def _key(call: KnownCall) -> str:
    return f"{call.tool}:{json.dumps(dict(call.arguments), sort_keys=True)}"


def _answer(case: Case, ids: Mapping[str, str]) -> str:
    links = [f"- {_link(required, ids)}" for required in case.file.expect.must_cite if required.call]
    why = "\n".join(links) or "- *(inference)* Nothing that there is to see says more."
    return f"## Why\n\n{why}\n\n## Not known\n\nNothing that matters.\n\n{verdict_block(_verdict(case, list(ids.values())))}\n"


def _link(required: RequiredEvidence, ids: Mapping[str, str]) -> str:
    return f"As observed {cited(ids[_key(required.call)], required.text)}." if required.call else ""


def _verdict(case: Case, ids: list[str]) -> dict[str, Any]:
    expected = case.file.expect
    outcome = expected.outcome[0]
    blames = outcome is VerdictOutcome.FAULT
    return {
        "outcome": outcome.value,
        "object": expected.object[0].replace("*", "") if blames and expected.object else "",
        "mechanism": case.file.reference,
        "confidence_object": "low" if outcome is VerdictOutcome.INCONCLUSIVE else "high",
        "confidence_mechanism": "low" if outcome is VerdictOutcome.INCONCLUSIVE else "high",
        "still_happening": (expected.still_happening or StillHappening.UNKNOWN).value,
        "evidence": ids,
        "category": case.file.family if blames else "",
    }


_CITATION = re.compile(r"\s*\[[A-Z]+\d+: \"[^\n]*?\"\]")
_ASKS_TO_CITE = re.compile(r"\bcite\b", re.IGNORECASE)
_ASKS_FOR_VERDICT = re.compile(r"^```verdict", re.MULTILINE)


def obedient(case: Case, conversation: Conversation) -> Calls | Says:
    said = oracle(case, conversation)
    if isinstance(said, Calls):
        return said
    text = said.text
    if not _ASKS_FOR_VERDICT.search(conversation.instructions):
        text = without_verdict(text)
    if not _ASKS_TO_CITE.search(conversation.instructions):
        text = _CITATION.sub("", text)
    return Says(text)


def silent(case: Case, conversation: Conversation) -> Says:
    del case, conversation
    return Says("I have no findings to report about this alert.")
