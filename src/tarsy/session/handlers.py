"""The handlers of all work on sessions, put together from what they need."""

from collections.abc import Mapping
from dataclasses import replace

from tarsy.agent.budget.ledger import Ledgers
from tarsy.agent.execution import AgentServices, SessionOverrides
from tarsy.session.agent_runner import AgentRunner
from tarsy.session.executor import SessionExecutor
from tarsy.session.followup import CHAT_ANSWERS, SCORES, FollowUps
from tarsy.session.ports import History, ProgressReporter
from tarsy.session.run_scope import Cancellations
from tarsy.session.runbook import RunbookSource
from tarsy.session.stage_runner import StageRunner


def session_handlers(
    services: AgentServices,
    *,
    history: History,
    ledgers: Ledgers,
    runbooks: RunbookSource,
    progress: ProgressReporter,
    cancellations: Cancellations,
    overrides: Mapping[str, SessionOverrides] | None = None,
) -> tuple[SessionExecutor, FollowUps, FollowUps]:
    """Build the handlers of investigations, questions and scores; `overrides` are those of single sessions, by id."""
    journal, clock = services.journal, services.clock
    stages = StageRunner(AgentRunner(services, cancellations, overrides or {}), journal, clock)
    investigations = SessionExecutor(
        stages=stages,
        journal=journal,
        history=history,
        ledgers=ledgers,
        prices=services.prices,
        runbooks=runbooks,
        progress=progress,
        mask=services.mask,
        clock=clock,
    )
    answers = FollowUps(rules=CHAT_ANSWERS, stages=stages, journal=journal, history=history, ledgers=ledgers, clock=clock)
    return investigations, answers, replace(answers, rules=SCORES)
