"""Investigators that know nothing about the case but its alert.

The naive one describes the pod that the alert names and blames the first line that looks like an error. The overconfident one begins as
that one; as challenger it blames the latest change, and as reviser it adopts the objection. It shows whether challenges improve verdicts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tarsy.agent.prompt import instructions
from tarsy.domain.citation import citations
from tarsy.evals.cases import Case
from tarsy.evals.investigators.script import Calls, Conversation, Reply, cited, numbered, verdict_block

_NAMESPACE = re.compile(r"namespace\W{1,6}([a-z0-9-]+)", re.IGNORECASE)
_ERROR = re.compile(r"error|fail|fatal|panic|oom|refused|denied|unknown|insufficient|no space", re.IGNORECASE)
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
# Lines that are not content of a result: its fence, and the line with its evidence id.
_NOT_CONTENT = re.compile(r"<<<|^(?:Error: )?\[[A-Z]+\d+\]")
# In characters.
_MAX_QUOTATION = 160


def naive(case: Case, conversation: Conversation) -> Calls | Reply:
    namespace = namespace_of(case.file.alert)
    if not conversation.tools:
        return Reply(_blame(case.file.alert, namespace, conversation))
    match conversation.rounds:
        case 0:
            return Calls((("pods_list", {"namespace": namespace}),))
        case 1:
            arguments = {"namespace": namespace, "name": _pod(case.file.alert, conversation.results[-1])}
            return Calls((("pods_log", arguments), ("pods_get", arguments)))
        case _:
            return Reply(_blame(case.file.alert, namespace, conversation))


def namespace_of(alert: str) -> str:
    found = _NAMESPACE.search(alert)
    return found[1] if found else ""


def _pod(alert: str, listing: str) -> str:
    """Return the first pod whose name begins with a word of the alert, the longest word first."""
    words = sorted(set(_NAME.findall(alert)), key=lambda word: (-len(word), word))
    rows = [row.split() for row in listing.splitlines()]
    # A row is namespace, name, ready, status, …
    names = [row[1] for row in rows if len(row) > 7 and row[0] != "NAMESPACE"]
    return next(
        (name for word in words if len(word) > 3 for name in names if name == word or name.startswith(f"{word}-")),
        names[0] if names else "none",
    )


def _blame(alert: str, namespace: str, conversation: Conversation) -> str:
    ids = numbered(len(conversation.results))
    lines = [(evidence_id, line.strip()) for evidence_id, text in zip(ids, conversation.results, strict=True) for line in text.splitlines()]
    # The first result is the list of pods.
    errors = [
        (evidence_id, line)
        for evidence_id, line in lines
        if _ERROR.search(line) and not _NOT_CONTENT.search(line) and evidence_id != ids[0]
    ]
    if not errors:
        return f"## Why\n\n- *(inference)* Nothing stands out.\n\n{verdict_block({'outcome': 'no_fault', 'evidence': []})}\n"
    evidence_id, line = errors[0]
    fields = {
        "outcome": "fault",
        "object": f"Pod/{namespace}/{_pod(alert, conversation.results[0])}",
        "mechanism": line[:_MAX_QUOTATION],
        "confidence": "high",
        "still_happening": "yes",
        "evidence": [evidence_id],
    }
    return f"## Why\n\n- The log says it {cited(evidence_id, line[:_MAX_QUOTATION].rstrip())}.\n\n{verdict_block(fields)}\n"


# Older changes are not the cause of an alert.
_RECENT = timedelta(hours=3)
_NOW = re.compile(r"^Now: (\S+)$", re.MULTILINE)
_ID = re.compile(r"^(?:Error: )?\[(?P<id>[A-Z]+\d+)\]", re.MULTILINE)
_WORKLOAD = re.compile(r"^\S+\s+(?P<kind>[A-Z][A-Za-z]+)/(?P<name>\S+)\s+(?P<ready>\d+)/(?P<wanted>\d+)", re.MULTILINE)
_CONFIG_MAP = re.compile(r"^\S+\s+(?P<name>[a-z0-9-]+)\s+\d+\s+\S+\s+(?P<at>\d{4}-\S+Z)$", re.MULTILINE)
_REVISION = re.compile(r"^Revision \d+\s+(?P<at>\S+Z)[^\n]*\n(?P<body>(?:  [^\n]*\n?)*)", re.MULTILINE)
_TOUCHED = re.compile(r"^Name:\s+(?P<name>\S+)\n(?:.*\n)*?(?P<line>Last Modified:\s+(?P<at>\S+Z).*)$", re.MULTILINE)
_POD = re.compile(r"\bPod/(?P<namespace>[a-z0-9-]+)/(?P<name>[a-z0-9-]+)")
_OBJECTION = re.compile(r"^objection: (.+)$", re.MULTILINE)
_OBJECT = re.compile(r"^object: (\S+)$", re.MULTILINE)


def overconfident(case: Case, conversation: Conversation) -> Calls | Reply:
    if instructions.CHALLENGE_ROLE in conversation.instructions:
        return _challenge(case, conversation)
    if instructions.SYNTHESIS in conversation.instructions and (found := _OBJECTION.findall(conversation.prompt)):
        return Reply(_revised(found[-1], conversation.prompt))
    return naive(case, conversation)


def _challenge(case: Case, conversation: Conversation) -> Calls | Reply:
    namespace, results, prompt = namespace_of(case.file.alert), conversation.results, conversation.prompt
    found = _NOW.search(prompt)
    now = datetime.fromisoformat(found[1]) if found else None
    if conversation.rounds == 0:
        return Calls((("deployments_list", {"namespace": namespace}), ("configmaps_list", {"namespace": namespace})))
    if conversation.rounds == 1:
        # The histories of workloads that are not ready or that the alert names, config maps that were changed,
        # and the log of the blamed pod from before its restart.
        calls: list[tuple[str, Mapping[str, Any]]] = [
            ("deployment_history", {"namespace": namespace, "name": found["name"]})
            for found in _WORKLOAD.finditer(results[0])
            if found["ready"] != found["wanted"] or found["name"] in case.file.alert
        ]
        calls += [
            ("configmaps_get", {"namespace": namespace, "name": found["name"]})
            for found in _CONFIG_MAP.finditer(results[1])
            if _is_recent(found["at"], now)
        ]
        calls += [
            ("pods_log", {"namespace": found["namespace"], "name": found["name"], "previous": True})
            for found in list(_POD.finditer(prompt))[-1:]
        ]
        return Calls(tuple(calls)) if calls else Reply(_upheld(results))
    # The first two results are the lists.
    changes = [change for text in results[2:] if (change := _change(namespace, text, now))]
    if not changes:
        return Reply(_upheld(results))
    # Configuration is changed less often than versions are, and is the likelier cause.
    change = min(changes, key=lambda change: not change.object.startswith("ConfigMap/"))
    objection = f"{change.object} was changed shortly before: {change.description}"
    return Reply(
        f"This is what changed {' '.join(cited(change.evidence_id, line) for line in change.lines)}.\n"
        f"And this is what followed {' '.join(_first_errors(results))}.\n\n"
        f"```ruling\nresult: refuted\nobjection: {objection}\nobject: {change.object}\n```\n"
    )


def _first_errors(results: Sequence[str]) -> Iterator[str]:
    """Yield a citation of the first line of each result that looks like an error."""
    for text in results:
        found = _ID.search(text)
        errors = [line.strip() for line in text.splitlines() if _ERROR.search(line) and not _NOT_CONTENT.search(line)]
        if found and errors:
            yield cited(found["id"], errors[0][:_MAX_QUOTATION].rstrip())


def _is_recent(time: str, now: datetime | None) -> bool:
    return now is not None and timedelta(0) <= now - datetime.fromisoformat(time) <= _RECENT


@dataclass(frozen=True, slots=True)
class _Change:
    evidence_id: str
    object: str
    lines: tuple[str, ...]
    description: str


def _change(namespace: str, text: str, now: datetime | None) -> _Change | None:
    """Return the newest change in a deployment's history or in a config map, or None."""
    found = _ID.search(text)
    if found is None:
        return None
    if touched := _TOUCHED.search(text):
        # The lines of the config map that its previous value does not have.
        value, _, before = text.partition("Previous value of ")
        known = {line.strip() for line in before.splitlines()}
        body = [line.strip() for line in value.partition("----\n")[2].splitlines()]
        description = "the config map now says " + "; ".join(line for line in body if line and line not in known)[:_MAX_QUOTATION]
        change = _Change(found["id"], f"ConfigMap/{namespace}/{touched['name']}", (touched["line"],), description)
        return change if _is_recent(touched["at"], now) else None
    recent = [revision for revision in _REVISION.finditer(text) if _is_recent(revision["at"], now)]
    lines = [line.strip() for line in recent[-1]["body"].splitlines() if re.match(r"\s+[+-] ", line)] if recent else []
    named = re.search(r"^(?P<kind>[A-Z]\w+) \S+/(?P<name>\S+):", text, re.MULTILINE)
    if not lines or named is None:
        return None
    return _Change(found["id"], f"{named['kind']}/{namespace}/{named['name']}", tuple(lines), "; ".join(lines))


def _upheld(results: Sequence[str]) -> str:
    found, listed = _ID.search(results[0]), _WORKLOAD.search(results[0])
    seen = f" {cited(found['id'], listed[0])}" if found and listed else ""
    return f"*(inference)* Nothing here was changed lately{seen}.\n\n```ruling\nresult: upheld\n```\n"


def _revised(objection: str, prompt: str) -> str:
    """Return the objection as the new conclusion, with the quotations of both."""
    quoted = dict.fromkeys(cited(one.evidence_id, one.quotation) for one in citations(prompt) if one.quotation)
    ids = list(dict.fromkeys(one.evidence_id for one in citations(prompt)))
    blamed = _OBJECT.findall(prompt)
    fields = {
        "outcome": "fault",
        "object": blamed[-1] if blamed else "",
        "mechanism": objection,
        "confidence": "high",
        "still_happening": "yes",
        "evidence": ids,
    }
    return f"## Why\n\n- {objection} {' '.join(quoted)}.\n\n{verdict_block(fields)}\n"
