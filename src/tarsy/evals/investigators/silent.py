"""The silent investigator looks at nothing and concludes nothing. Pure module."""

from tarsy.evals.case import Case
from tarsy.evals.investigators.script import Conversation, Says


def silent(case: Case, conversation: Conversation) -> Says:
    del case, conversation
    return Says("I have no findings to report about this alert.")
