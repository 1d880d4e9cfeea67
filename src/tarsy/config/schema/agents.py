"""The `agents` entries, and the keys that more than one level of the hierarchy may set."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tarsy.config.schema.budget import BudgetKey
from tarsy.config.schema.providers import FallbackConfig, NativeToolsConfig
from tarsy.config.schema.values import (
    Backend,
    Count,
    Duration,
    ProviderName,
    Section,
    ServerName,
    SkillName,
    SubAgentName,
    Text,
)
from tarsy.domain.execution import AgentType
from tarsy.domain.tool import ToolCalling


class AgentKind(StrEnum):
    """The `type` of an entry. An orchestrator is an ordinary agent that can dispatch other agents."""

    DEFAULT = "default"
    ORCHESTRATOR = "orchestrator"
    SYNTHESIS = "synthesis"
    EXEC_SUMMARY = "exec_summary"
    SCORING = "scoring"
    ACTION = "action"

    @property
    def runs_as(self) -> AgentType:
        return AgentType.DEFAULT if self is AgentKind.ORCHESTRATOR else AgentType(self.value)


AgentKindName = Annotated[
    AgentKind,
    # Some configurations write an empty text for the default.
    BeforeValidator(lambda value: AgentKind.DEFAULT.value if value == "" else value),
    WithJsonSchema({"type": "string", "enum": [item.value for item in AgentKind]}),
]


class BackendKeys(Section):
    llm_backend: Backend | None = Field(
        default=None, description="SDK path to the model: `langchain` or `native-gemini` (also spelled `google-native`)."
    )
    tool_calling: ToolCalling | None = Field(
        default=None, description="How the model calls tools: `native` function calls, or `react` text for models without function calls."
    )


class ProviderKey(Section):
    llm_provider: ProviderName | None = Field(default=None, description="Name of an entry of `llm_providers`.")


class LimitKeys(Section):
    max_iterations: Count | None = Field(default=None, description="Model calls after which the agent must conclude.")
    iteration_timeout: Duration | None = Field(default=None, description="Longest time for one model call and the tools it asked for.")
    llm_call_timeout: Duration | None = Field(default=None, description="Longest time for one model call.")
    tool_call_timeout: Duration | None = Field(default=None, description="Longest time for one tool call.")


class ServersKey(Section):
    mcp_servers: tuple[ServerName, ...] | None = Field(
        default=None, description="The tool servers; a list replaces the lists of lower levels."
    )


class FallbackKey(Section):
    fallback_providers: tuple[FallbackConfig, ...] | None = Field(
        default=None, description="Providers to switch to when one keeps failing; `[]` clears what lower levels set."
    )


class SkillsKeys(Section):
    skills: tuple[SkillName, ...] | None = Field(
        default=None,
        description="The only skills that the agent may load; `[]`: none; unset: all, if the agent has tool servers. "
        "A stage agent adds to the list of its agent.",
    )
    required_skills: tuple[SkillName, ...] | None = Field(
        default=None, description="Skills whose text is part of the prompt. A stage agent adds to the list of its agent."
    )


class SubAgentConfig(ProviderKey, BackendKeys, ServersKey, SkillsKeys):
    """An agent that another one may send, and what is different when it does; a bare name is enough."""

    name: SubAgentName = Field(description="Name of an entry of `agents`, or of a built-in agent; it needs a description.")
    max_iterations: Count | None = Field(default=None, description="Model calls after which the agent must conclude.")

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(core_schema)]}


class OrchestratorConfig(Section):
    max_concurrent_agents: Count | None = Field(default=None, description="Sub-agents that run at the same time; unset: 5.")
    agent_timeout: Duration | None = Field(
        default=None, description="Longest time for one sub-agent; unset: what is left of the session's time."
    )
    max_budget: Duration | None = Field(
        default=None, description="Longest time for all sub-agents together; unset: what is left of the session's time."
    )


class OrchestratorKey(Section):
    orchestrator: OrchestratorConfig | None = Field(default=None, description="Limits for sub-agents.")


class SubAgentKeys(OrchestratorKey):
    sub_agents: tuple[SubAgentConfig, ...] | None = Field(
        default=None, description="Sub-agents that this agent may send: names, or mappings; the highest level that sets this wins."
    )


class AgentConfig(SubAgentKeys, BackendKeys, LimitKeys, ServersKey, SkillsKeys, BudgetKey):
    type: AgentKindName = Field(
        default=AgentKind.DEFAULT,
        description="What the agent does; one of type `action` may change something, in a stage after the analysis.",
    )
    description: Text = Field(default="", description="For people, and for agents that may send this one.")
    custom_instructions: Text = Field(default="", description="What this agent should do; part of its prompt.")
    native_tools: NativeToolsConfig = Field(
        default=NativeToolsConfig(), description="Tools that the model's vendor runs; overrides the provider's setting."
    )
