"""The executive summary: what it is written from, and whether a model's text says more than that. Then code writes it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tarsy.agent.evidence.figures import any_agrees, between, clocks, counts, figures
from tarsy.agent.evidence.names import is_seen, names
from tarsy.agent.evidence.verdict import NO_TIME
from tarsy.agent.prompt.stage_context import judged_text
from tarsy.domain.action import Action
from tarsy.domain.citation import citations
from tarsy.domain.verdict import Confidence, JudgedVerdict, StillHappening, VerdictOutcome
from tarsy.kit.text import clip

# A section of more is an analysis; a summary names one thing to do.
_LONGEST_DO_NOW = 2_000
_LONGEST_STEP = 300
_DO_NOW = re.compile(r"^(#{1,6})[ \t]+\**[ \t]*(?:do now|what to do)\b.*$", re.IGNORECASE | re.MULTILINE)
_CERTAIN = re.compile(
    r"(?<!not )(?<!not yet )(?<!n't )\b(?:confirmed|definite(?:ly)?|certainly|is certain|undoubtedly|no doubt|proven|proved|clearly"
    r"|(?:the )?root cause (?:is|was)|root cause:)\b",
    re.IGNORECASE,
)
_FOUND = {Confidence.HIGH: "Found", Confidence.MEDIUM: "Probable", Confidence.LOW: "Suspected"}
_STILL = {StillHappening.YES: "It is still happening.", StillHappening.NO: "It has ended.", StillHappening.UNKNOWN: ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySource:
    """The checked verdict of a session and what to do now; without a verdict, its analysis. `partial` is why that is partial."""

    analysis: str
    judged: JudgedVerdict | None = None
    partial: str = ""
    # What was done about it, as sentences.
    actions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the author of the summary reads."""
        remark = f"[The analysis is partial. {self.partial}]" if self.partial else ""
        do_now = f"Do now:\n{self.do_now}" if self.do_now else ""
        taken = "\n".join(("Actions:", *self.actions)) if self.actions else ""
        parts = (remark, judged_text(self.judged), do_now, taken) if self.judged else (remark, self.analysis, taken)
        return "\n\n".join(part for part in parts if part)

    @property
    def do_now(self) -> str:
        """The section *Do now* of the analysis, without its heading and citations."""
        heading = _DO_NOW.search(self.analysis)
        if heading is None:
            return ""
        text = re.split(rf"^#{{1,{len(heading[1])}}}[ \t]", self.analysis[heading.end() :], maxsplit=1, flags=re.MULTILINE)[0]
        for one in reversed(citations(text)):
            text = f"{text[: one.start].rstrip()}{text[one.end :]}"
        return clip(text.strip(), _LONGEST_DO_NOW)

    def objection(self, summary: str) -> str:
        """Return what a summary says that its source does not hold; empty if it may stand. Without a verdict, nothing could replace it."""
        if self.judged is None:
            return ""
        source = self.text
        is_certain = self.judged.confidence is Confidence.HIGH and self.judged.verdict.outcome is not VerdictOutcome.INCONCLUSIVE
        if not is_certain and (word := _CERTAIN.search(summary)):
            return f"it says “{word[0]}”, with {self.judged.confidence} confidence"
        lower = source.lower()
        if unseen := next((name for name in names(summary) if not is_seen(name, lower)), ""):
            return f"{unseen} is not in the verdict"
        held = [*figures(source), *counts(source), *between(list(clocks(source)))]
        for figure in (*figures(summary), *counts(summary)):
            # The day of a date is a bare number too.
            if not any_agrees(figure, held) and not re.search(rf"(?<!\d)0*{re.escape(figure.text.strip())}(?!\d)", source):
                return f"{figure.text.strip()} is not in the verdict"
        return ""

    def written(self) -> str:
        """Return the summary that the verdict gives by itself; empty without a verdict."""
        if self.judged is None:
            return ""
        verdict = self.judged.verdict
        match verdict.outcome:
            case VerdictOutcome.FAULT:
                where = f" in {verdict.object}" if verdict.object else ""
                since = f", since {verdict.since}" if verdict.since and verdict.since.lower() not in NO_TIME else ""
                found = f"{_FOUND[self.judged.confidence]} fault{where}{since}"
            case VerdictOutcome.NO_FAULT:
                found = "No fault was found"
            case VerdictOutcome.INCONCLUSIVE:
                found = "The investigation was inconclusive"
        mechanism = verdict.mechanism.strip().rstrip(".")
        first = f"{found}: {mechanism}." if mechanism else f"{found}."
        step = next((line for line in self.do_now.splitlines() if re.search(r"\w", line) and not line.startswith("```")), "")
        step = clip(re.sub(r"^(?:[\s>*+-]|\d+[.)]\s)+", "", step).replace("**", "").replace("`", "").rstrip(":"), _LONGEST_STEP, notice="…")
        still = _STILL[verdict.still_happening] if verdict.outcome is VerdictOutcome.FAULT else ""
        partial = "The analysis is partial." if self.partial else ""
        to_do = f"To do now: {step}" if step else ""
        if self.actions:
            to_do = f"Actions: {'; '.join(self.actions)}."
        return " ".join(part for part in (first, still, partial, to_do) if part)


def summary_source(analysis: str, judged: JudgedVerdict | None, partial: str | None, actions: Sequence[Action] = ()) -> SummarySource:
    """Return the source of a summary. The ids of evidence are no part of it: a summary has no citations."""
    if judged:
        judged = replace(judged, verdict=replace(judged.verdict, evidence=(), ruled_out=()))
    return SummarySource(analysis=analysis, judged=judged, partial=partial or "", actions=tuple(map(str, actions)))
