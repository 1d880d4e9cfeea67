"""Keys that older configurations have, and the lines to write instead. Pure module."""

from collections.abc import Collection, Mapping

from tarsy.config.problems import did_you_mean

ITERATION_STRATEGY = "iteration_strategy"

REPLACEMENTS: Mapping[str, tuple[str, ...]] = {
    "react": ("tool_calling: react",),
    "react-stage": ("tool_calling: react",),
    "react-final-analysis": ("tool_calling: react",),
    "native-thinking": ("llm_backend: native-gemini",),
    "langchain": ("llm_backend: langchain",),
    "synthesis": ("type: synthesis", "llm_backend: langchain"),
    "synthesis-native-thinking": ("type: synthesis", "llm_backend: native-gemini"),
    "scoring": ("type: scoring", "llm_backend: langchain"),
    "scoring-native-thinking": ("type: scoring", "llm_backend: native-gemini"),
}


def replacement(strategy: str, keys: Collection[str]) -> tuple[str, ...]:
    """The lines that take the place of `iteration_strategy: strategy` where the keys in `keys` may stand; empty if there are none.

    Only an agent's definition has a type: elsewhere the block (synthesis, scoring) or the agent that is named brings it.
    """
    return tuple(line for line in REPLACEMENTS.get(strategy, ()) if line.split(":")[0] in keys)


def cure(strategy: object, keys: Collection[str]) -> str:
    """What to write instead."""
    lines = replacement(str(strategy), keys)
    if lines:
        return "\n".join(["write instead:", *lines])
    if str(strategy) in REPLACEMENTS:
        return "remove it: this level has no say in how the model is reached"
    return f"use type, llm_backend and tool_calling; {did_you_mean(str(strategy), REPLACEMENTS)}"
