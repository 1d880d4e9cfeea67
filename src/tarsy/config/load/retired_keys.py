"""Keys of older and of other versions of TARSy: the exact lines to write instead."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tarsy.config.parsed_data import as_list, as_mapping, mapping_at
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
class UnknownKey:
    """An unknown key: its path and value, the valid keys at its place, and the whole document."""

    path: KeyPath
    value: Any
    known: Collection[str]
    document: Any


def replacement(found: UnknownKey) -> str | None:
    """Return what to write instead of the key; None: neither older nor other versions of TARSy have it there."""
    key = str(found.path[-1])
    remedy, places = _REMEDIES.get(key), _PLACES.get(key)
    parent = str(found.path[-2]) if len(found.path) > 1 else ""
    return remedy(found) if remedy and (places is None or parent in places) else None


def strategy_remedy(strategy: object, keys: Collection[str]) -> str:
    """Return what to write instead of an `iteration_strategy` at a place where `keys` are valid.

    Only an agent's definition has a type; in other places the block (synthesis, scoring) or the named agent determines it.
    """
    if str(strategy) not in STRATEGIES:
        return f"use type, llm_backend and tool_calling; {did_you_mean(str(strategy), STRATEGIES)}"
    lines = [line for line in STRATEGIES[str(strategy)] if line.split(":")[0] in keys]
    return "\n".join(["write instead:", *lines]) if lines else "remove it: this level cannot choose how TARSy reaches the model"


def _fallback_list(found: UnknownKey) -> str:
    if "fallback_providers" not in found.known:
        return "remove it: the fallback_providers of the stage, the chain or defaults apply here too"
    lines: list[str] = []
    for item in as_list(mapping_at(found.document, FALLBACK_LISTS).get(str(found.value))) or []:
        entry = as_mapping(item) or {}
        backend = f", backend: {entry['llm_backend']}" if entry.get("llm_backend") else ""
        lines.append(f"  - {{provider: {entry.get('llm_provider', 'NAME')}{backend}}}")
    return "\n".join(["write instead:", "fallback_providers:", *lines]) if lines else "write fallback_providers: [{provider: NAME}]"


def _summary_provider(found: UnknownKey) -> str:
    """Return the key for the model of the executive summary, which other versions set for all chains or in a block."""
    value = found.value if isinstance(found.value, str) else mapping_at({"block": found.value}, "block").get("llm_provider") or "NAME"
    where = f"at {dotted(found.path[:2])}" if found.path[0] == "agent_chains" else "at every chain"
    return f"write {where}:\nexecutive_summary_provider: {value}"


def _agent_pairs(found: UnknownKey) -> str:
    lines = ["write it where the agent is named in a stage:"]
    for name, pair in (as_mapping(found.value) or {}).items():
        keys = {key: value for key, value in (as_mapping(pair) or {}).items() if key in {"llm_provider", "llm_backend"}}
        lines.append("- {" + ", ".join(f"{key}: {value}" for key, value in {"name": name, **keys}.items()) + "}")
    return "\n".join(lines)


def _fixed(remedy: str) -> Callable[[UnknownKey], str]:
    return lambda _found: remedy


_NO_COMPOSING = _fixed("remove it: the list of actions is not written by a model")
_BACKEND_FOLLOWS = _fixed("remove it: the summary's provider determines how TARSy reaches its model")
_NO_LABELS = _fixed("remove it: sessions have no labels here")
_REMEDIES: Mapping[str, Callable[[UnknownKey], str]] = {
    FALLBACK_LISTS: _fixed("write the entries where a list is used, as fallback_providers, and remove this"),
    "fallback_list": _fallback_list,
    "executive_summary_provider": _summary_provider,
    "executive_summary": _summary_provider,
    "llm_provider": _summary_provider,
    "llm_backend": _BACKEND_FOLLOWS,
    "executive_summary_backend": _BACKEND_FOLLOWS,
    "executive_summary_fallback_list": _fixed("remove it: the fallback_providers of the chain apply to its summary too"),
    "compose": _NO_COMPOSING,
    "compose_provider": _NO_COMPOSING,
    "compose_backend": _NO_COMPOSING,
    "compose_fallback_list": _NO_COMPOSING,
    "label_maps": _NO_LABELS,
    "label_map": _NO_LABELS,
    "prompt_caching": _fixed("remove it: TARSy uses the vendors' caches by itself"),
    "reasoning_effort": _fixed("remove it: TARSy keeps the model's default"),
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
