"""Keys that older configurations have, and the lines to write instead. Pure module."""

from collections.abc import Mapping

from tarsy.config.problems import Path, did_you_mean

ITERATION_STRATEGY = "iteration_strategy"

_BACKEND_AND_TYPE: Mapping[str, tuple[str, ...]] = {
    "react": ("tool_calling: react",),
    "native-thinking": ("llm_backend: native-gemini",),
    "langchain": ("llm_backend: langchain",),
    "synthesis": ("type: synthesis", "llm_backend: langchain"),
    "synthesis-native-thinking": ("type: synthesis", "llm_backend: native-gemini"),
    "scoring": ("type: scoring", "llm_backend: langchain"),
    "scoring-native-thinking": ("type: scoring", "llm_backend: native-gemini"),
}


def replacement(strategy: str, path: Path) -> tuple[str, ...]:
    """The lines that take the place of `iteration_strategy: strategy` at `path`; empty for a strategy that never was.

    Only an agent's definition has a type: elsewhere the block (synthesis, scoring) or the agent that is named brings it.
    """
    lines = _BACKEND_AND_TYPE.get(strategy, ())
    in_definition = len(path) == 3 and path[0] == "agents"
    return lines if in_definition else tuple(line for line in lines if not line.startswith("type:"))


def cure(strategy: object, path: Path) -> str:
    lines = replacement(strategy, path) if isinstance(strategy, str) else ()
    if lines:
        return "\n".join(["write instead:", *lines])
    return f"use type, llm_backend and tool_calling; {did_you_mean(str(strategy), _BACKEND_AND_TYPE)}"
