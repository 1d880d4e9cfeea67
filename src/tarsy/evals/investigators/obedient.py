"""The obedient investigator knows what the oracle knows and does only what its prompt asks for: it measures the prompt. Pure module."""

import re

from tarsy.agent.evidence.verdict_block import without_verdict
from tarsy.evals.case import Case
from tarsy.evals.investigators.oracle import oracle
from tarsy.evals.investigators.script import Calls, Conversation, Says

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
