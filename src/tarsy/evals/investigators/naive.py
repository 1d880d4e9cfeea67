"""The naive investigator: it describes what the alert names and blames the first thing that sounds like an error. Pure module."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tarsy.agent.prompt import instructions
from tarsy.evals.cases import Case
from tarsy.evals.investigators.script import Calls, Conversation, Says, cited, numbered, verdict_block

_NAMESPACE = re.compile(r"namespace\W{1,6}([a-z0-9-]+)", re.IGNORECASE)
_ERROR = re.compile(r"error|fail|fatal|panic|oom|refused|denied|unknown|insufficient|no space", re.IGNORECASE)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# Lines around a result that are not part of it: its fence, and what says which call it is of.
_AROUND = re.compile(r"<<<|^(?:Error: )?\[[A-Z]+\d+\]")
# The longest that a quotation of one line should be.
_LONGEST = 160


def naive(case: Case, conversation: Conversation) -> Calls | Says:
    namespace = namespace_of(case.file.alert)
    if not conversation.tools:
        return Says(_blame(case.file.alert, namespace, conversation))
    match conversation.rounds:
        case 0:
            return Calls((("pods_list", {"namespace": namespace}),))
        case 1:
            return _look_at(_pod(case.file.alert, conversation.results[-1]), namespace)
        case _:
            return Says(_blame(case.file.alert, namespace, conversation))


def namespace_of(alert: str) -> str:
    found = _NAMESPACE.search(alert)
    return found[1] if found else ""


def _pod(alert: str, listing: str) -> str:
    """The first pod whose name begins with a word of the alert, the longest word first."""
    words = sorted(set(_NAME.findall(alert)), key=lambda word: (-len(word), word))
    rows = [row.split() for row in listing.splitlines()]
    # A row is namespace, name, ready, status, …; what stands around the list is not.
    names = [row[1] for row in rows if len(row) > 7 and row[0] != "NAMESPACE"]
    return next(
        (name for word in words if len(word) > 3 for name in names if name == word or name.startswith(f"{word}-")),
        names[0] if names else "none",
    )


def _look_at(pod: str, namespace: str) -> Calls:
    arguments: Mapping[str, Any] = {"namespace": namespace, "name": pod}
    return Calls((("pods_log", arguments), ("pods_get", arguments)))


def _blame(alert: str, namespace: str, conversation: Conversation) -> str:
    ids = numbered(len(conversation.results))
    told = [(evidence_id, line.strip()) for evidence_id, text in zip(ids, conversation.results, strict=True) for line in text.splitlines()]
    # A list of pods is not looked at twice.
    errors = [
        (evidence_id, line) for evidence_id, line in told if _ERROR.search(line) and not _AROUND.search(line) and evidence_id != ids[0]
    ]
    if not errors:
        return f"## Why\n\n- *(inference)* Nothing stands out.\n\n{verdict_block({'outcome': 'no_fault', 'evidence': []})}\n"
    evidence_id, line = errors[0]
    # A quotation ends at a quote, so the longest piece between two of them is quoted.
    quotation = max(line[:_LONGEST].split('"'), key=len).strip()
    fields = {
        "outcome": "fault",
        "object": f"Pod/{namespace}/{_pod(alert, conversation.results[0])}",
        "mechanism": line[:_LONGEST],
        "confidence": "high",
        "still_happening": "yes",
        "evidence": [evidence_id],
    }
    return f"## Why\n\n- The log says it {cited(evidence_id, quotation)}.\n\n{verdict_block(fields)}\n"


# What changed longer ago is not what an alert is about.
_LATELY = timedelta(hours=3)
_NOW = re.compile(r"^Now: (\S+)$", re.MULTILINE)
_ID = re.compile(r"^(?:Error: )?\[(?P<id>[A-Z]+\d+)\]", re.MULTILINE)
_WORKLOAD = re.compile(r"^\S+\s+(?P<kind>[A-Z][A-Za-z]+)/(?P<name>\S+)\s+(?P<ready>\d+)/(?P<wanted>\d+)", re.MULTILINE)
_CONFIG_MAP = re.compile(r"^\S+\s+(?P<name>[a-z0-9-]+)\s+\d+\s+\S+\s+(?P<at>\d{4}-\S+Z)$", re.MULTILINE)
_REVISION = re.compile(r"^Revision \d+\s+(?P<at>\S+Z)[^\n]*\n(?P<body>(?:  [^\n]*\n?)*)", re.MULTILINE)
_TOUCHED = re.compile(r"^Name:\s+(?P<name>\S+)\n(?:.*\n)*?(?P<line>Last Modified:\s+(?P<at>\S+Z).*)$", re.MULTILINE)
_POD = re.compile(r"\bPod/(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9-]+)")
_OBJECTION = re.compile(r"^objection: (.+)$", re.MULTILINE)
_OBJECT = re.compile(r"^object: (\S+)$", re.MULTILINE)


def overconfident(case: Case, conversation: Conversation) -> Calls | Says:
    if instructions.CHALLENGE_ROLE in conversation.instructions:
        return _challenge(case, conversation)
    if instructions.SYNTHESIS in conversation.instructions and (found := _OBJECTION.findall(conversation.told)):
        return Says(_revised(found[-1], conversation.told))
    return naive(case, conversation)


def _challenge(case: Case, conversation: Conversation) -> Calls | Says:
    namespace, results = namespace_of(case.file.alert), conversation.results
    match conversation.rounds:
        case 0:
            return Calls((("deployments_list", {"namespace": namespace}), ("configmaps_list", {"namespace": namespace})))
        case 1:
            wanted = (*_suspects(case.file.alert, namespace, results, _now(conversation.told)), *_died(conversation.told))
            return Calls(wanted) if wanted else Says(_upheld(results))
        case _:
            return Says(_objection(namespace, results, _now(conversation.told)))


def _now(told: str) -> datetime | None:
    found = _NOW.search(told)
    return datetime.fromisoformat(found[1]) if found else None


def _is_late(time: str, now: datetime | None) -> bool:
    at = datetime.fromisoformat(time)
    return now is not None and timedelta(0) <= now - at <= _LATELY


def _suspects(alert: str, namespace: str, results: Sequence[str], now: datetime | None) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Workloads that are not ready or that the alert names, and configuration that was touched."""
    workloads = [found for found in _WORKLOAD.finditer(results[0]) if found["ready"] != found["wanted"] or found["name"] in alert]
    changed = [found["name"] for found in _CONFIG_MAP.finditer(results[1]) if _is_late(found["at"], now)]
    histories = [("deployment_history", {"namespace": namespace, "name": found["name"]}) for found in workloads]
    return (*histories, *(("configmaps_get", {"namespace": namespace, "name": name}) for name in changed))


def _died(told: str) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """What the blamed pod said before it was restarted."""
    return tuple(
        ("pods_log", {"namespace": found["namespace"], "name": found["name"], "previous": True}) for found in list(_POD.finditer(told))[-1:]
    )


@dataclass(frozen=True, slots=True)
class _Change:
    evidence_id: str
    object: str
    line: str
    told: str


def _objection(namespace: str, results: Sequence[str], now: datetime | None) -> str:
    # After the two lists that it began with.
    changes = [change for text in results[2:] if (change := _change(namespace, text, now))]
    if not changes:
        return _upheld(results)
    # Configuration is touched less often than versions are, and says more.
    return _refuted(min(changes, key=lambda change: not change.object.startswith("ConfigMap/")))


def _change(namespace: str, text: str, now: datetime | None) -> _Change | None:
    """The newest change that a history or a config map tells of."""
    found = _ID.search(text)
    if found is None:
        return None
    if touched := _TOUCHED.search(text):
        late = _is_late(touched["at"], now)
        return _Change(found["id"], f"ConfigMap/{namespace}/{touched['name']}", touched["line"], _edited(text)) if late else None
    late = [revision for revision in _REVISION.finditer(text) if _is_late(revision["at"], now)]
    lines = [line.strip() for line in late[-1]["body"].splitlines() if re.match(r"\s+[+-] ", line)] if late else []
    named = re.search(r"^(?P<kind>[A-Z]\w+) \S+/(?P<name>\S+):", text, re.MULTILINE)
    if not lines or named is None:
        return None
    return _Change(found["id"], f"{named['kind']}/{namespace}/{named['name']}", lines[-1], "; ".join(lines))


def _edited(text: str) -> str:
    """The lines of a config map that are not as they were."""
    now, _, before = text.partition("Previous value of ")
    known = {line.strip() for line in before.splitlines()}
    body = [line.strip() for line in now.partition("----\n")[2].splitlines()]
    return "the config map now says " + "; ".join(line for line in body if line and line not in known)[:_LONGEST]


def _upheld(results: Sequence[str]) -> str:
    found, listed = _ID.search(results[0]), _WORKLOAD.search(results[0])
    seen = f" {cited(found['id'], listed[0])}" if found and listed else ""
    return f"*(inference)* Nothing here was changed lately{seen}.\n\n```ruling\nresult: upheld\n```\n"


def _refuted(change: _Change) -> str:
    seen = f"This is what changed {cited(change.evidence_id, change.line)}."
    objection = f"{change.object} was changed shortly before: {change.told}"
    return f"{seen}\n\n```ruling\nresult: refuted\nobjection: {objection}\nobject: {change.object}\n```\n"


def _revised(objection: str, told: str) -> str:
    """The objection in place of the first conclusion, with everything that both have looked at."""
    ids = list(dict.fromkeys(_ID.findall(told)))
    blamed = _OBJECT.findall(told)
    fields = {
        "outcome": "fault",
        "object": blamed[-1] if blamed else "",
        "mechanism": objection,
        "confidence": "high",
        "still_happening": "yes",
        "evidence": ids,
    }
    return f"## Why\n\n- {objection} [{', '.join(ids)}].\n\n{verdict_block(fields)}\n"
