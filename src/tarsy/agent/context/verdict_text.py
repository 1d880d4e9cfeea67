"""A verdict in a few lines, for the agents that read an analysis: the analysis itself is kept without it. Pure module."""

from tarsy.domain.verdict import JudgedVerdict, Verdict


def verdict_text(verdict: Verdict | None) -> str:
    """The lines of a verdict that say something; empty without one."""
    if verdict is None:
        return ""
    lines = {
        "outcome": verdict.outcome.value,
        "object": str(verdict.object or ""),
        "mechanism": verdict.mechanism,
        "confidence": verdict.confidence.value,
        "since": verdict.since,
        "still happening": verdict.still_happening.value,
        "evidence": ", ".join(verdict.evidence),
        "ruled out": "; ".join(f"{one.hypothesis} [{', '.join(one.evidence)}]" for one in verdict.ruled_out),
        "category": verdict.category,
    }
    return "Verdict:\n" + "\n".join(f"- {name}: {value}" for name, value in lines.items() if value)


def judged_text(judged: JudgedVerdict | None) -> str:
    """The same with what checking made of its confidence, for the agent that sums it up."""
    if judged is None or not judged.confidence_reason:
        return verdict_text(judged.verdict if judged else None)
    return f"{verdict_text(judged.verdict)}\n- confidence after checking: {judged.confidence.value}, because {judged.confidence_reason}"
