"""What a measurement may spend. Pure module."""

import re
from dataclasses import dataclass

from tarsy.evals.trial import Trial
from tarsy.session.playback import NotReplayableError

_AMOUNT = re.compile(r"\s*\$?\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<scale>[kM]?)\s*(?P<unit>usd|\$|tokens?|)\s*", re.IGNORECASE)
_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


class NoBudgetError(NotReplayableError):
    """A budget cannot be kept to; the person who gave it can act."""


@dataclass(frozen=True, slots=True)
class Budget:
    """An amount of dollars, or of tokens. Models whose price is not known can only be held to tokens."""

    amount: float
    in_tokens: bool

    def spent_by(self, trial: Trial) -> float:
        """What a trial took of it.

        Raises:
            NoBudgetError: it is in dollars, and what the trial cost is not known.
        """
        if self.in_tokens:
            return trial.total_tokens
        if trial.cost_usd is None:
            raise NoBudgetError(f"The price of {trial.identity.model} is not known: give the budget in tokens, such as --budget 2Mtokens.")
        return trial.cost_usd


def read_budget(text: str) -> Budget:
    """Read `5usd`, `$5`, `5` or `2Mtokens`.

    Raises:
        NoBudgetError: it is none of these.
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise NoBudgetError(f'"{text}" is no budget: write 5usd or 2Mtokens.')
    return Budget(float(found["number"]) * _SCALES[found["scale"].lower()], found["unit"].lower().startswith("token"))
