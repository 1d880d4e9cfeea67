"""What models cost. Pure module: US dollars, as exact decimals."""

from dataclasses import dataclass
from decimal import Decimal

from tarsy.domain.usage import TokenUsage

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens. Thinking is output; cached input is input that the vendor had kept."""

    input: Decimal
    cached_input: Decimal
    output: Decimal

    def cost(self, usage: TokenUsage) -> Decimal:
        """What a call with this usage costs."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        return (fresh * self.input + cached * self.cached_input + usage.output_tokens * self.output) / _MILLION


# A model of one's own, and a recording: nothing is paid for the tokens.
FREE = Price(Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class Spending:
    """What several calls cost together. Calls whose model has no known price are counted, and not guessed at."""

    # None: no call of known price.
    usd: Decimal | None = None
    unpriced_calls: int = 0

    def __add__(self, other: "Spending") -> "Spending":
        known = [usd for usd in (self.usd, other.usd) if usd is not None]
        return Spending(sum(known, Decimal(0)) if known else None, self.unpriced_calls + other.unpriced_calls)

    def __str__(self) -> str:
        """For people: `$0.0123`, and what is missing in it."""
        missing = f"{self.unpriced_calls} call{'s' if self.unpriced_calls > 1 else ''} of unknown price"
        if self.usd is None:
            return missing if self.unpriced_calls else ""
        return f"{dollars(self.usd)} and {missing}" if self.unpriced_calls else dollars(self.usd)


def dollars(usd: Decimal) -> str:
    """Cents where they say enough, more digits where the amount is small."""
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"
