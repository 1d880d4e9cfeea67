"""Keys that older configurations of TARSy have, and those of other TARSys: the exact lines to write instead. Pure module."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tarsy.config.parsed_data import listing, mapping, mapping_at
from tarsy.config.problems import KeyPath, did_you_mean, dotted

FALLBACK_LISTS = "fallback_lists"
ITERATION_STRATEGY = "iteration_strategy"

STRATEGIES: Mapping[str, tuple[str, ...]] = {
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


@dataclass(frozen=True, slots=True)
class Found:
    """A key that is not known where it stands: its place and value, what may stand there, and the whole document."""

    path: KeyPath
    value: Any
    known: Collection[str]
    document: Any


def replacement(found: Found) -> str | None:
    """What to write instead of the key; None: it is no key of ours, nor of any other TARSy."""
    key = str(found.path[-1])
    cure = _CURES.get(key)
    return cure(found) if cure and _fits(key, found.path) else None


def strategy_cure(strategy: object, keys: Collection[str]) -> str:
    """What to write instead of an `iteration_strategy`, where the keys in `keys` may stand.

    Only an agent's definition has a type: elsewhere the block (synthesis, scoring) or the agent that is named brings it.
    """
    if str(strategy) not in STRATEGIES:
        return f"use type, llm_backend and tool_calling; {did_you_mean(str(strategy), STRATEGIES)}"
    lines = [line for line in STRATEGIES[str(strategy)] if line.split(":")[0] in keys]
    return "\n".join(["write instead:", *lines]) if lines else "remove it: this level cannot choose how TARSy reaches the model"


def _fits(key: str, path: KeyPath) -> bool:
    """Whether the key stands where other TARSys have it: `agents` is a section of `defaults` there, and a typing error elsewhere."""
    places = _PLACES.get(key)
    return places is None or (str(path[-2]) if len(path) > 1 else "") in places


def _fallback_lists(found: Found) -> str:
    del found
    return "write the entries where a list is used, as fallback_providers, and remove this"


def _fallback_list(found: Found) -> str:
    if "fallback_providers" not in found.known:
        return "remove it: the fallback_providers of the stage, the chain or defaults apply here too"
    entries = listing(mapping_at(found.document, FALLBACK_LISTS).get(str(found.value))) or []
    lines = [f"  - {_fallback(mapping(entry) or {})}" for entry in entries]
    return "\n".join(["write instead:", "fallback_providers:", *lines]) if lines else "write fallback_providers: [{provider: NAME}]"


def _fallback(entry: Mapping[str, Any]) -> str:
    backend = f", backend: {entry['llm_backend']}" if entry.get("llm_backend") else ""
    return f"{{provider: {entry.get('llm_provider', 'NAME')}{backend}}}"


def _summary_provider(found: Found) -> str:
    """The model of the executive summary, said for all chains or in a block of its own."""
    value = found.value if isinstance(found.value, str) else mapping_at({"block": found.value}, "block").get("llm_provider") or "NAME"
    where = f"at {dotted(found.path[:2])}" if found.path[0] == "agent_chains" else "at every chain"
    return f"write {where}:\nexecutive_summary_provider: {value}"


def _agent_pairs(found: Found) -> str:
    lines = ["write it where the agent is named in a stage:"]
    for name, pair in (mapping(found.value) or {}).items():
        keys = {key: value for key, value in (mapping(pair) or {}).items() if key in {"llm_provider", "llm_backend"}}
        lines.append("- {" + ", ".join(f"{key}: {value}" for key, value in {"name": name, **keys}.items()) + "}")
    return "\n".join(lines)


def _removed(reason: str) -> Callable[[Found], str]:
    def cure(found: Found) -> str:
        del found
        return f"remove it: {reason}"

    return cure


_NO_ACTIONS = _removed("there are no action agents yet")
_BACKEND_FOLLOWS = _removed("the summary's provider determines how TARSy reaches its model")
_NO_LABELS = _removed("sessions have no labels here")
_CURES: Mapping[str, Callable[[Found], str]] = {
    FALLBACK_LISTS: _fallback_lists,
    "fallback_list": _fallback_list,
    "executive_summary_provider": _summary_provider,
    "executive_summary": _summary_provider,
    "llm_provider": _summary_provider,
    "llm_backend": _BACKEND_FOLLOWS,
    "executive_summary_backend": _BACKEND_FOLLOWS,
    "executive_summary_fallback_list": _removed("the fallback_providers of the chain apply to its summary too"),
    "compose": _NO_ACTIONS,
    "compose_provider": _NO_ACTIONS,
    "compose_backend": _NO_ACTIONS,
    "compose_fallback_list": _NO_ACTIONS,
    "label_maps": _NO_LABELS,
    "label_map": _NO_LABELS,
    "prompt_caching": _removed("TARSy uses the vendors' caches by itself"),
    "reasoning_effort": _removed("TARSy keeps the model's default"),
    "agents": _agent_pairs,
}
_PLACES: Mapping[str, frozenset[str]] = {
    "agents": frozenset({"defaults"}),
    "executive_summary": frozenset({"defaults"}),
    "executive_summary_provider": frozenset({"defaults"}),
    "llm_provider": frozenset({"executive_summary"}),
    "llm_backend": frozenset({"executive_summary"}),
    "prompt_caching": frozenset({"system"}),
    FALLBACK_LISTS: frozenset({""}),
    "label_maps": frozenset({""}),
}
