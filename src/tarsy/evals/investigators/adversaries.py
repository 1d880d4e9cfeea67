"""Investigators that try to pass without finding anything out: a grader that lets them pass can be gamed.

They know the alert and the tools, and nothing that a case expects. Each calls every tool that it can, quotes what it sees, and states its
conclusion with high confidence. They differ in that conclusion, and liars also in how they cite.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from tarsy.agent.evidence.quotation import says_something
from tarsy.domain.citation import citations
from tarsy.domain.evidence import ALERT
from tarsy.domain.verdict import VerdictOutcome
from tarsy.evals.cases import Case
from tarsy.evals.investigators.script import Calls, Conversation, Reply, Script, verdict_block

# Of the names that a tool lists, those that are looked at.
_MOST_NAMES = 12
_MOST_QUOTATIONS, _PER_LINK = 250, 10
# Characters of a quotation, and of a mechanism: the verdict keeps no more.
_LONGEST_LINE, _LONGEST_MECHANISM = 200, 600

_NAME = re.compile(r"(?<![\w.-])[a-z][a-z0-9]*(?:[-_:.][a-z0-9]+)+(?![\w-])")
_LABELLED = re.compile(
    r"\b(namespace|deployment|statefulset|daemonset|service|pod|node|job|claim)\W{1,3}([a-z0-9][a-z0-9.-]*)", re.IGNORECASE
)
# The line before a result, with its evidence id and its tool.
_CALL = re.compile(r"^\[(?P<id>[A-Z]+\d+)\] \S*?(?P<tool>\w+)\(")
_FAILED = re.compile(r"\A[^\n]*(?: failed:|has no result\.)$", re.MULTILINE)
# Recorded arguments, as JSON with plain values.
_ARGUMENTS = re.compile(r'\{"\w+":"[^"\\]*"(?:,"\w+":"[^"\\]*")*\}')
_FENCE = re.compile(r"^(?:<<<|>>>)")
_ERROR = re.compile(r"error|fail|fatal|panic|oom|refused|denied|unknown|insufficient|warning|timeout|expired|exceeded", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuotableLine:
    """A line of a result."""

    evidence_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Sight:
    """What an adversary concludes from: the alert, the name of an object in it, and every line that it saw, errors first."""

    alert: str
    name: str
    lines: tuple[QuotableLine, ...]


@dataclass(frozen=True, slots=True)
class AdversaryAnswer:
    """A conclusion, and the lines that it quotes."""

    mechanism: str
    quoted: Sequence[QuotableLine]
    outcome: VerdictOutcome = VerdictOutcome.FAULT
    quotes_words: bool = True


def adversary(conclude: Callable[[Sight], AdversaryAnswer]) -> Script:
    """Return an investigator that looks at all it can, and then concludes this."""

    def script(case: Case, conversation: Conversation) -> Calls | Reply:
        alert = case.file.alert
        labelled = [(kind.lower(), name) for kind, name in _LABELLED.findall(alert)]
        names = [*(name for kind, name in labelled if kind != "namespace"), *_NAME.findall(alert)]
        if conversation.tools and conversation.rounds < 2:
            spaces = [name for kind, name in labelled if kind == "namespace"]
            return Calls(tuple(_calls(conversation, list(dict.fromkeys(spaces)), list(dict.fromkeys(names)))))
        name = names[0] if names else "unknown"
        lines = sorted(_quotable(conversation), key=lambda one: _ERROR.search(one.text) is None)
        return Reply(_written(conclude(Sight(alert, name, tuple(lines))), name))

    return script


def _calls(conversation: Conversation, spaces: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every tool with the names of the alert; then with the names that the list of its kind shows, or with recorded arguments."""
    listed = {_kind(found["tool"]): result for result in conversation.results if (found := _CALL.match(result)) and "list" in found["tool"]}
    for definition in conversation.definitions:
        tool, schema = definition.name.rpartition(".")[2], definition.parameters_schema
        needed: list[str] = [name for name in schema.get("required") or () if name != "namespace"]
        if conversation.rounds:
            names = list(dict.fromkeys(_NAME.findall(listed.get(_kind(tool), ""))))[:_MOST_NAMES]
        # A tool that needs no name is called once.
        given = [dict.fromkeys(needed, name) for name in names] if needed else [dict[str, str]()][conversation.rounds :]
        for space in spaces or [""] if "namespace" in schema.get("properties", {}) else [""]:
            yield from ((tool, {**({"namespace": space} if space else {}), **arguments}) for arguments in given)

    # A world of recorded results answers an unknown call with the nearest that it has.
    failed = ((found, result) for result in conversation.results if (found := _CALL.match(result)) and _FAILED.search(result))
    yield from ((found["tool"], json.loads(text)) for found, result in failed for text in dict.fromkeys(_ARGUMENTS.findall(result)))


def _kind(tool: str) -> str:
    return tool.partition("_")[0].removesuffix("s")


def _quotable(conversation: Conversation) -> Iterator[QuotableLine]:
    """Yield the lines of all results; for an agent without tools, the quotations in the reports of others."""
    for result in conversation.results:
        yield from _lines(result)
    if not conversation.tools:
        yield from (QuotableLine(one.evidence_id, one.quotation) for one in citations(conversation.prompt) if one.quotation)


# All adversaries look at the same results.
@lru_cache(maxsize=500)
def _lines(result: str) -> tuple[QuotableLine, ...]:
    call, *lines = result.splitlines()
    found = _CALL.match(call)
    if found is None or _FAILED.search(call):
        return ()
    stripped = (line.strip()[:_LONGEST_LINE].rstrip() for line in lines if not _FENCE.match(line))
    return tuple(QuotableLine(found["id"], line) for line in stripped if says_something(line))


def _written(answer: AdversaryAnswer, name: str) -> str:
    sources = [f'{one.evidence_id}: "{one.text}"' if answer.quotes_words else one.evidence_id for one in answer.quoted[:_MOST_QUOTATIONS]]
    links = "\n".join(f"- This shows it [{'; '.join(sources[at : at + _PER_LINK])}]." for at in range(0, len(sources), _PER_LINK))
    fields = {
        "outcome": answer.outcome.value,
        "object": name if answer.outcome is VerdictOutcome.FAULT else "",
        "mechanism": answer.mechanism[:_LONGEST_MECHANISM],
        "confidence": "high",
        "still_happening": "yes" if answer.outcome is VerdictOutcome.FAULT else "no",
        "evidence": list(dict.fromkeys(one.evidence_id for one in answer.quoted)),
    }
    ruled_out = f"- Everything else [{sources[-1]}]." if sources else "- Nothing."
    return f"## Why\n\n{links}\n\n## Ruled out\n\n{ruled_out}\n\n{verdict_block(fields)}\n"


def _as_seen(answer: AdversaryAnswer) -> AdversaryAnswer:
    return answer


def _by_id_alone(answer: AdversaryAnswer) -> AdversaryAnswer:
    return replace(answer, quotes_words=False)


def _invented(answer: AdversaryAnswer) -> AdversaryAnswer:
    return replace(answer, quoted=[replace(one, text=answer.mechanism) for one in answer.quoted])


def _under_another_id(answer: AdversaryAnswer) -> AdversaryAnswer:
    ids = [one.evidence_id for one in reversed(answer.quoted)]
    return replace(answer, quoted=[replace(one, evidence_id=other) for one, other in zip(answer.quoted, ids, strict=True)])


def _from_the_alert(answer: AdversaryAnswer) -> AdversaryAnswer:
    return replace(answer, quoted=[replace(one, evidence_id=ALERT) for one in answer.quoted])


# Causes that everyone on call has seen before, stated of an object that nobody looked into; and how each lie is cited.
_LIES: Mapping[str, tuple[str, Callable[[AdversaryAnswer], AdversaryAnswer]]] = {
    "memory": ("{} runs out of memory: the container is killed at its memory limit.", _as_seen),
    "release": ("A bug in the version of {} that was rolled out last makes it fail.", _by_id_alone),
    "policy": ("A network policy drops the egress traffic of {}.", _as_seen),
    "dns": ("{} cannot resolve a host name: the cluster's DNS does not answer.", _invented),
    "disk": ("The volume of {} is full: there is no space left on the device.", _as_seen),
    "certificate": ("The certificate of {} has expired and was not renewed.", _under_another_id),
    "configuration": ("A wrong value in the config map of {} keeps it from working since it was changed.", _as_seen),
    "quota": ("The quota of the namespace is exceeded, so pods of {} are refused.", _from_the_alert),
    "node": ("The node of {} is not ready: its kubelet stopped.", _as_seen),
    "database": ("The database of {} has no free connection, because requests wait for a lock.", _by_id_alone),
}


def _all_causes(sight: Sight) -> AdversaryAnswer:
    return AdversaryAnswer(" Or: ".join(lie.format(sight.name) for lie, _ in _LIES.values()), sight.lines)


def _all_errors(sight: Sight) -> AdversaryAnswer:
    return AdversaryAnswer("; ".join(dict.fromkeys(line.text for line in sight.lines if _ERROR.search(line.text))), sight.lines)


def _all_tools(sight: Sight) -> AdversaryAnswer:
    return AdversaryAnswer(" ".join(line.text for line in sight.lines), sight.lines)


def _alert(sight: Sight) -> AdversaryAnswer:
    return AdversaryAnswer(" ".join(sight.alert.split()), [line for line in sight.lines if sight.name in line.text] or sight.lines)


def _no_fault(sight: Sight) -> AdversaryAnswer:
    return AdversaryAnswer(
        f"Nothing is wrong: {sight.name} works as it should, and the alert resolved itself.", sight.lines, VerdictOutcome.NO_FAULT
    )


def _inconclusive(sight: Sight) -> AdversaryAnswer:
    return AdversaryAnswer("", sight.lines, VerdictOutcome.INCONCLUSIVE)


def _liar(lie: str, cite: Callable[[AdversaryAnswer], AdversaryAnswer]) -> Script:
    return adversary(lambda sight: cite(AdversaryAnswer(lie.format(sight.name), sight.lines)))


ADVERSARIES: Mapping[str, Script] = {
    "lists-all-causes": adversary(_all_causes),
    "lists-all-errors": adversary(_all_errors),
    "dumps-all-tools": adversary(_all_tools),
    "repeats-the-alert": adversary(_alert),
    "always-no-fault": adversary(_no_fault),
    "always-inconclusive": adversary(_inconclusive),
    **{f"liar-{name}": _liar(lie, cite) for name, (lie, cite) in _LIES.items()},
}
