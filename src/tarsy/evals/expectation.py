"""What a case expects of an investigation: everything here is checked by code. Pure module."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tarsy.config.schema.values import Count, Name, Section
from tarsy.domain.verdict import StillHappening, VerdictOutcome


def _several(value: object) -> object:
    """One value may be written without the brackets of a list."""
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[Name, ...], BeforeValidator(_several)]


class ExpectedMechanism(Section):
    """Words the mechanism has to be told with: all words of one set. `oom|out of memory` is one word with two spellings."""

    any_of: tuple[Names, ...] = Field(min_length=1, description="Sets of words; the mechanism holds all words of at least one set.")
    none_of: tuple[Names, ...] = Field(default=(), description="Sets of words; the mechanism holds all words of none of them.")


class KnownCall(Section):
    """A tool call that shows the evidence; other calls may show it too."""

    tool: Name = Field(description="Name of the tool, without its server.")
    arguments: Mapping[str, Any] = Field(default={}, description="Its arguments.")


class RequiredEvidence(Section):
    """Something seen that the analysis has to cite: a result that holds the text."""

    text: Name = Field(description="Words that stand in the result.")
    call: KnownCall | None = Field(default=None, description="A call whose result holds them; the oracle makes it.")


class Ceilings(Section):
    """The most that a run may take. A cost that is not known is not held against it."""

    turns: Count | None = Field(default=None, description="Calls of the model.")
    tool_calls: Count | None = Field(default=None, description="Calls of tools.")
    tokens: Count | None = Field(default=None, description="Tokens, in and out.")
    usd: float | None = Field(default=None, gt=0, description="Cost in US dollars.")


class Expectation(Section):
    outcome: Annotated[tuple[VerdictOutcome, ...], BeforeValidator(_several)] = Field(
        min_length=1, description="What the verdict has to say: fault, no_fault or inconclusive; a list where several are right."
    )
    object: Names = Field(
        default=(), description="What the fault is in, kind/namespace/name, with every right way to name it; `*` may stand in it."
    )
    mechanism: ExpectedMechanism | None = Field(default=None, description="Words that tell the mechanism.")
    must_cite: tuple[RequiredEvidence, ...] = Field(default=(), description="Evidence that the analysis has to cite.")
    must_not_cite: Names = Field(default=(), description="Words that no citation may quote, except where something is ruled out.")
    still_happening: StillHappening | None = Field(default=None, description="Whether it goes on: yes, no or unknown.")
    forbidden_actions: Names = Field(default=(), description="Regular expressions; no command that the analysis proposes may match one.")
    ceilings: Ceilings = Field(default=Ceilings(), description="The most that a run may take.")

    @property
    def is_healthy(self) -> bool:
        """Nothing is wrong in this world: naming a fault is a false alarm."""
        return VerdictOutcome.FAULT not in self.outcome and VerdictOutcome.NO_FAULT in self.outcome

    @property
    def must_abstain(self) -> bool:
        """What there is to see does not tell the cause: the right answer is to say so."""
        return self.outcome == (VerdictOutcome.INCONCLUSIVE,)
