"""The `agents` entries, and the keys that more than one level of the hierarchy may set."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from tarsy.config.schema.budget import BudgetKey
from tarsy.config.schema.providers import FallbackConfig, NativeToolsConfig
from tarsy.config.schema.values import Backend, Count, Duration, ProviderName, Section, ServerName, SkillName, Text, later, refuse
from tarsy.domain.agent import AgentType, ToolCalling


def _supported_type(value: object) -> object:
    if value in ("action", "orchestrator"):
        raise refuse(f"type {value} is not supported yet", "leave type out for an agent that investigates")
    return value


AgentKind = Annotated[
    AgentType, BeforeValidator(_supported_type), WithJsonSchema({"type": "string", "enum": [item.value for item in AgentType]})
]


class BackendKeys(Section):
    llm_backend: Backend | None = Field(
        default=None, description="SDK path to the model: `langchain` or `native-gemini` (also spelled `google-native`)."
    )
    tool_calling: ToolCalling | None = Field(
        default=None, description="How tools are spoken: `native` function calls, or `react` text for models that have none."
    )


class ProviderKey(Section):
    llm_provider: ProviderName | None = Field(default=None, description="Name of an entry of `llm_providers`.")


class LimitKeys(Section):
    max_iterations: Count | None = Field(default=None, description="Model calls before a conclusion is forced.")
    iteration_timeout: Duration | None = Field(default=None, description="Longest time for one model call and the tools it asked for.")
    llm_call_timeout: Duration | None = Field(default=None, description="Longest time for one model call.")
    tool_call_timeout: Duration | None = Field(default=None, description="Longest time for one tool call.")


class ServersKey(Section):
    mcp_servers: tuple[ServerName, ...] | None = Field(
        default=None, description="The tool servers; a list replaces that of the levels below."
    )


class FallbackKey(Section):
    fallback_providers: tuple[FallbackConfig, ...] | None = Field(
        default=None, description="Providers to go on with when one has failed for good; `[]` clears what lower levels set."
    )


class SkillsKeys(Section):
    skills: tuple[SkillName, ...] | None = Field(
        default=None,
        description="The only skills that may be loaded; `[]`: none; unset: all, for an agent that has tool servers. "
        "A stage agent adds to its agent's.",
    )
    required_skills: tuple[SkillName, ...] | None = Field(
        default=None, description="Skills whose text is part of the prompt. A stage agent adds to its agent's."
    )


class AgentConfig(BackendKeys, LimitKeys, ServersKey, SkillsKeys, BudgetKey):
    type: AgentKind = Field(default=AgentType.DEFAULT, description="What the agent does. It cannot be changed by a chain.")
    description: Text = Field(default="", description="For people.")
    custom_instructions: Text = Field(default="", description="What this agent should do; part of its prompt.")
    native_tools: NativeToolsConfig = Field(
        default=NativeToolsConfig(), description="Tools that the model's vendor runs; over the provider's."
    )
    orchestrator: Mapping[str, Any] | None = later("Settings of an orchestrating agent.")
    sub_agents: tuple[Any, ...] | None = later("Agents that this one may call.")
