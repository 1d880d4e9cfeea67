"""The naive investigator: it describes what the alert names and blames the first thing that sounds like an error. Pure module."""

import re
from collections.abc import Mapping
from typing import Any

from tarsy.evals.case import Case
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
