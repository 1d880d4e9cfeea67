"""An attempt: what one investigation of a case left behind. Pure module."""

from collections.abc import Sequence
from dataclasses import dataclass

from tarsy.domain.citation import CheckedCitation, CitationStatus
from tarsy.domain.verdict import Verdict


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A citation, how checking it came out, and the whole text of the result that it names; empty where there is none."""

    checked: CheckedCitation
    text: str

    @property
    def counts(self) -> bool:
        return self.checked.status is not CitationStatus.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    status: str
    analysis: str = ""
    verdict: Verdict | None = None
    cited: tuple[CitedEvidence, ...] = ()
    # Links of the chain of causes that neither cite nor say that they are inferences.
    uncited: int = 0
    # Names, figures and sweeping words that nothing cited supports.
    unsupported: int = 0
    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    # None: the price of the model is not known.
    cost_usd: float | None = None
    seconds: float = 0.0
    error: str = ""

    def count(self, status: CitationStatus) -> int:
        return sum(one.checked.status is status for one in self.cited)


def holding(cited: Sequence[CitedEvidence], text: str) -> tuple[CitedEvidence, ...]:
    """The citations of results that hold `text`, white space aside."""
    wanted = _plain(text)
    return tuple(one for one in cited if one.counts and wanted in _plain(one.text))


def quotes(one: CitedEvidence, text: str) -> bool:
    """Whether the quotation itself holds `text`."""
    return _plain(text) in _plain(one.checked.citation.quotation or "")


def _plain(text: str) -> str:
    """Tables are padded, and a padded row is quoted with single spaces."""
    return " ".join(text.split()).lower()
