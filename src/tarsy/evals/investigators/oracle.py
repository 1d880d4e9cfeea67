"""Investigators that know the case.

The oracle makes the calls that show the evidence and cites it: a case that it fails cannot be passed. The obedient one does only what its
prompt asks for, which measures the prompt. The silent one calls nothing and concludes nothing.
"""

import json
import re
from typing import Any

from tarsy.agent.evidence.quotation import says_something
from tarsy.agent.evidence.verdict import without_verdict
from tarsy.domain.verdict import CATEGORIES, StillHappening, VerdictOutcome
from tarsy.evals.cases import Case, KnownCall
from tarsy.evals.investigators.script import Calls, Conversation, Reply, cited, numbered, verdict_block


def oracle(case: Case, conversation: Conversation) -> Calls | Reply:
    """Make the calls that show the evidence, and cite it."""
    required = [(evidence, call) for evidence in case.file.expect.must_cite if (call := evidence.call)]
    # Each call once, even if several texts of its result must be cited.
    calls = {_key(call): call for _, call in required}
    # An agent without tools combines the findings of others.
    if calls and conversation.tools and conversation.rounds == 0:
        return Calls(tuple((call.tool, call.arguments) for call in calls.values()))
    ids = dict(zip(calls, numbered(len(calls)), strict=True))
    links = [f"- As observed {cited(ids[_key(call)], _quotable(evidence.text, conversation))}." for evidence, call in required]
    why = "\n".join(links) or "- *(inference)* Nothing that there is to see says more."
    verdict = verdict_block(_verdict(case, list(ids.values())))
    return Reply(f"## Why\n\n{why}\n\n## Not known\n\nNothing that matters.\n\n{verdict}\n")


def _quotable(text: str, conversation: Conversation) -> str:
    """Return words that can be quoted: the text, or if it says too little by itself, the line of a result that it is in."""
    lines = (line.strip() for result in conversation.results for line in result.splitlines() if text in line)
    return text if says_something(text) else next((line for line in lines if not line.startswith("[")), text)


def _key(call: KnownCall) -> str:
    return f"{call.tool}:{json.dumps(dict(call.arguments), sort_keys=True)}"


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
        "category": next((one for one in CATEGORIES if case.file.family.startswith(one)), "other") if blames else "none",
    }


_CITATION = re.compile(r"\s*\[[A-Z]+\d+: \"[^\n]*?\"\]")
_ASKS_TO_CITE = re.compile(r"\bcite\b", re.IGNORECASE)
_ASKS_FOR_VERDICT = re.compile(r"^```verdict", re.MULTILINE)


def obedient(case: Case, conversation: Conversation) -> Calls | Reply:
    reply = oracle(case, conversation)
    if isinstance(reply, Calls):
        return reply
    text = reply.text
    if not _ASKS_FOR_VERDICT.search(conversation.instructions):
        text = without_verdict(text)
    if not _ASKS_TO_CITE.search(conversation.instructions):
        text = _CITATION.sub("", text)
    return Reply(text)


def silent(case: Case, conversation: Conversation) -> Reply:
    del case, conversation
    return Reply("I have no findings to report about this alert.")
