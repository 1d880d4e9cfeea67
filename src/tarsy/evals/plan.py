"""The plan of a measurement: a trial for every case, model and run, and the budget for them."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import uuid4

from tarsy.agent.execution import SessionOverrides
from tarsy.config.load.loader import LoadedConfig
from tarsy.config.resolve.resolved import ResolvedChain, ResolvedChallenge
from tarsy.demo.samples import load_sample
from tarsy.domain.llm import ResolvedProvider
from tarsy.domain.session import NewSession
from tarsy.domain.tool import ToolCalling
from tarsy.evals.cases import Case, EvalError, WorldKind
from tarsy.evals.chain import chain_for, configuration_digest, configured_chain, model_digest, prompt_digest, with_native_tool_calls
from tarsy.evals.fork import Fork, forked, source_of
from tarsy.evals.investigators.adversaries import ADVERSARIES
from tarsy.evals.models import Model
from tarsy.evals.trials import TrialIdentity
from tarsy.evals.worlds.world import World
from tarsy.kit.clock import FixedClock, SystemClock
from tarsy.session.playback import recorded_chain, session_from

_AMOUNT = re.compile(r"\s*\$?\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<scale>[kM]?)\s*(?P<unit>usd|\$|tokens?|)\s*", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, slots=True)
class EvalBudget:
    """An amount of dollars or tokens. Models without a known price can only have a budget in tokens."""

    amount: float
    in_tokens: bool

    def spent_by(self, model: str, tokens: int, usd: float | None) -> float:
        """Return how much of the budget the calls of a model spent.

        Raises:
            EvalError: it is in dollars, and the cost of the calls is not known.
        """
        if self.in_tokens:
            return tokens
        if usd is None:
            raise EvalError(f"The price of {model} is not known: give the budget in tokens, such as --budget 2Mtokens.")
        return usd


def read_budget(text: str) -> EvalBudget:
    """Read `5usd`, `$5`, `5` or `2Mtokens`.

    Raises:
        EvalError: it is none of these.
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise EvalError(f'"{text}" is no budget: write 5usd or 2Mtokens.')
    return EvalBudget(float(found["number"]) * _FACTORS[found["scale"].lower()], found["unit"].lower().startswith("token"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure."""

    cases: tuple[Case, ...]
    models: tuple[Model, ...]
    runs: int = 1
    jobs: int = 4
    # None: the configured chain for the case's alert type.
    chain_id: str | None = None
    # No trial begins once it is spent.
    budget: EvalBudget | None = None
    # A model that gives a second opinion on verdicts; it never decides whether a trial passes.
    judge: ResolvedProvider | None = None
    # The number of recorded calls that are played before the model continues. Cases without a recording are left out.
    fork_at: int | None = None
    # Whether verdicts are challenged; None: as the chain is configured.
    challenge: bool | None = None


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """A trial to make, unless a kept one has the same identity."""

    identity: TrialIdentity
    case: Case
    session: NewSession
    # Replaces the clock and the inputs of the session; None: the real ones.
    overrides: SessionOverrides | None
    fork: Fork | None = None


def trials_of(plan: Plan, loaded: LoadedConfig, worlds: Mapping[str, World]) -> Iterator[PlannedTrial]:
    """Yield every trial of the plan.

    Raises:
        UnknownEntryError: there is no such chain.
        EvalError: a case cannot be forked there, none can be forked at all, or a model is an adversary.
    """
    prompts, cases = prompt_digest(), plan.cases
    if plan.fork_at is not None:
        if adversaries := [model.name for model in plan.models if model.name in ADVERSARIES]:
            # With recorded evidence they would no longer be investigators that find nothing out.
            raise EvalError(f"Adversaries, such as {adversaries[0]}, investigate from the beginning: run them without --fork.")
        cases = tuple(case for case in cases if case.file.world.kind in (WorldKind.RECORDING, WorldKind.SAMPLE))
        if not cases:
            raise EvalError("None of these cases has a recording to fork: make one of a session with `tarsy eval add`.")
    # Run by run, so that a measurement that is stopped early has seen every case.
    for run in range(1, plan.runs + 1):
        for case in cases:
            for model in (model for model in plan.models if model.fits(case)):
                world, provider = worlds[case.name], model.provider(case)
                chain = _chain(plan, loaded, case, model, world)
                identity = TrialIdentity(
                    case=case.name,
                    model=model.name if plan.fork_at is None else f"{model.name} from call {plan.fork_at}",
                    run=run,
                    case_digest=case.digest,
                    model_digest=model_digest(provider),
                    prompt_digest=prompts,
                    configuration_digest=configuration_digest(chain),
                )
                yield _planned(plan, identity, case, model, world, chain)


def _chain(plan: Plan, loaded: LoadedConfig, case: Case, model: Model, world: World) -> ResolvedChain:
    """Return the chain of a recording or a sample, or else the configured one, for this model and this world."""
    provider, kind = model.provider(case), case.file.world.kind
    source = source_of(case) if kind is WorldKind.RECORDING and plan.chain_id is None else None
    if kind is WorldKind.SAMPLE and plan.chain_id is None:
        chain = load_sample(case.file.world.file).chain
    elif source and source.recording.chain is not None:
        chain = recorded_chain(source.recording, lambda _: provider)
    else:
        chain = configured_chain(loaded.config, case, plan.chain_id)
    if model.is_script and plan.fork_at is None:
        chain = with_native_tool_calls(chain)
    chain = chain_for(chain, case, world, provider)
    if plan.challenge is None:
        return chain
    return chain.model_copy(update={"challenge": ResolvedChallenge() if plan.challenge else None})


def _planned(plan: Plan, identity: TrialIdentity, case: Case, model: Model, world: World, chain: ResolvedChain) -> PlannedTrial:
    now = world.now or SystemClock().now()
    session = NewSession(
        id=str(uuid4()),
        alert_data=case.file.alert,
        alert_type=case.file.alert_type,
        chain_id=chain.chain_id,
        chain_snapshot=chain.model_dump(mode="json"),
        author="eval",
        # The same in every run of the same trial, so that the model gets the same prompts.
        nonce=hashlib.sha256(f"{identity.case}/{identity.run}".encode()).hexdigest()[:32],
        runbook=case.file.runbook,
        created_at=now,
    )
    source = source_of(case) if plan.fork_at is not None else None
    if source is None or plan.fork_at is None:
        return PlannedTrial(identity, case, session, SessionOverrides(clock=FixedClock(now)) if world.now else None)
    if model.is_script and any(agent.tool_calling is ToolCalling.REACT for stage in chain.stages for agent in stage.agents):
        raise EvalError(f"{model.name} cannot go on where {case.name} was left: it is a script, and that recording is in ReAct.")
    fork = forked(case, source, chain, plan.fork_at)
    if source.recording.alert:
        session = session_from(source.recording, chain, now=now)
    return PlannedTrial(identity, case, session, fork.overrides(world.now), fork)
