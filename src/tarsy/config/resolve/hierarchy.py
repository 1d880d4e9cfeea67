"""The levels of the configuration, and the rule that decides between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Self, TypeVar

from tarsy.config.schema.agents import OrchestratorConfig, SubAgentConfig
from tarsy.config.schema.providers import FallbackConfig
from tarsy.config.schema.values import Section, has_effect
from tarsy.domain.llm import LLMBackend
from tarsy.domain.tool import ToolCalling

Value = TypeVar("Value")


class Level(StrEnum):
    """The places that can set a value, from low to high precedence."""

    BUILT_IN = "built-in"
    ENVIRONMENT = "environment"
    DEFAULTS = "defaults"
    AGENT = "agent"
    CHAIN = "chain"
    # Not a key: the chat has the servers of the chain's stages.
    STAGES = "stages of the chain"
    STAGE = "stage"
    STAGE_AGENT = "stage agent"
    DEFAULTS_SCORING = "defaults.scoring"
    SCORING = "chain scoring"
    CHAT = "chain chat"
    SYNTHESIS = "stage synthesis"
    SUB_AGENT = "sub_agents"
    EXECUTIVE_SUMMARY = "chain executive_summary_provider"
    ALERT = "alert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """The values that one level sets. None: this level does not set the value."""

    level: Level
    llm_backend: LLMBackend | None = None
    tool_calling: ToolCalling | None = None
    llm_provider: str | None = None
    max_iterations: int | None = None
    iteration_timeout: float | None = None
    llm_call_timeout: float | None = None
    tool_call_timeout: float | None = None
    mcp_servers: tuple[str, ...] | None = None
    fallback_providers: tuple[FallbackConfig, ...] | None = None
    sub_agents: tuple[SubAgentConfig, ...] | None = None
    orchestrator: OrchestratorConfig | None = None

    @classmethod
    def of(cls, level: Level, section: Section) -> Self:
        """Make a layer from the keys of a section; keys that have no effect do not count."""
        known = {field.name for field in fields(cls)}
        keys = (name for name, info in type(section).model_fields.items() if name in known and has_effect(info))
        return cls(level=level, **{key: getattr(section, key) for key in keys})


BUILT_IN = Layer(
    level=Level.BUILT_IN,
    llm_backend=LLMBackend.LANGCHAIN,
    tool_calling=ToolCalling.NATIVE,
    max_iterations=20,
    iteration_timeout=120.0,
    llm_call_timeout=100.0,
    tool_call_timeout=60.0,
    mcp_servers=(),
    fallback_providers=(),
)


def highest(layers: Sequence[Layer], field: Callable[[Layer], Value | None]) -> tuple[Value, Level] | None:
    """Return the value and level of the highest level that sets the field; `layers` go from low to high."""
    for layer in reversed(layers):
        value = field(layer)
        if value is not None:
            return value, layer.level
    return None
