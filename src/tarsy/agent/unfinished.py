"""The analysis of an execution whose model could not conclude any more: written by code, it lists what was seen and judges nothing."""

from collections.abc import Sequence

from tarsy.agent.prompt.fence import result_line
from tarsy.domain.evidence import Evidence
from tarsy.kit.text import clip

# Results that are listed, and characters of each: as much as fits on two pages. All of them are on the timeline.
_MOST_LISTED = 40
_LONGEST_EXCERPT = 200
_LONGEST_DRAFT = 8_000


def unfinished_analysis(ceiling: str, results: Sequence[Evidence], begun: str) -> str:
    """Return the analysis of an execution that `ceiling` ended; `begun` is the part of its conclusion that the model had written."""
    parts = [f"The investigation was ended by {ceiling} before its model had concluded. Code wrote this list; nobody has judged it."]
    if begun.strip():
        parts.append(f"## Beginning of the conclusion\n\n{clip(begun.strip(), _LONGEST_DRAFT)}")
    seen = [one for one in results if not (one.is_input or one.refused)]
    lines = [f"- {result_line(one.id, one.tool, one.arguments, None)}: {_excerpt(one)}" for one in seen[:_MOST_LISTED]]
    if len(seen) > _MOST_LISTED:
        lines.append(f"- and {len(seen) - _MOST_LISTED} more")
    parts.append("## What was seen\n\n" + ("\n".join(lines) or "No tool had returned a result."))
    return "\n\n".join(parts)


def _excerpt(result: Evidence) -> str:
    text = clip(" ".join(result.text[: 4 * _LONGEST_EXCERPT].split()), _LONGEST_EXCERPT, notice="…")
    return f"failed: {text}" if result.failed else text or "no output"
