"""A report: the trials of a measurement, what they come to, and how they compare with a baseline. Pure module."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tarsy.evals.comparison import Comparison, compare
from tarsy.evals.summary import Summary, by_model, summarise
from tarsy.evals.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    version: str
    created_at: datetime
    trials: tuple[Trial, ...]
    summaries: tuple[Summary, ...]
    comparisons: tuple[Comparison, ...] = ()
    # Trials that the budget did not allow.
    left_out: int = 0

    @property
    def is_regression(self) -> bool:
        return any(one.is_regression for one in self.comparisons)

    @property
    def digests(self) -> Mapping[str, Mapping[str, str]]:
        """What was measured, by hash: prompts, configuration and models."""
        identities = [one.identity for one in self.trials]
        return {
            "prompts": {"prompts": ", ".join(sorted({one.prompt_digest for one in identities}))},
            "configuration": {"chain": ", ".join(sorted({one.configuration_digest for one in identities}))},
            "models": {one.model: one.model_digest for one in identities},
        }


def report_of(trials: Sequence[Trial], baseline: Sequence[Trial] = (), *, version: str, created_at: datetime, left_out: int = 0) -> Report:
    """Put a report together."""
    models = by_model(trials)
    return Report(
        version=version,
        created_at=created_at,
        trials=tuple(one for of_model in models.values() for one in of_model),
        summaries=tuple(summarise(model, of_model) for model, of_model in models.items()),
        comparisons=comparisons(baseline, trials) if baseline else (),
        left_out=left_out,
    )


def comparisons(before: Sequence[Trial], after: Sequence[Trial]) -> tuple[Comparison, ...]:
    """Each model with itself; where each side has only one, those two, whatever they are called."""
    earlier, later = by_model(before), by_model(after)
    if len(earlier) == len(later) == 1:
        (old, old_trials), (new, new_trials) = *earlier.items(), *later.items()
        return (compare(old_trials, new_trials, names=(old, new)),)
    return tuple(compare(earlier[model], later[model], names=(model, model)) for model in later if model in earlier)
