"""The `agent_chains` entries and the `defaults` section: which agents investigate an alert, in which order and with which settings."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, GetJsonSchemaHandler, ValidationInfo, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tarsy.config.schema.agents import (
    AgentKind,
    AgentKindName,
    BackendKeys,
    FallbackKey,
    LimitKeys,
    OrchestratorKey,
    ProviderKey,
    ServersKey,
    SkillsKeys,
    SubAgentKeys,
)
from tarsy.config.schema.budget import BudgetKey
from tarsy.config.schema.mcp_servers import PatternGroupName
from tarsy.config.schema.values import (
    AgentName,
    AlertTypeName,
    Backend,
    ChatAgentName,
    Count,
    Name,
    ProviderName,
    Section,
    ServerName,
    StageAgentName,
    Switch,
    Text,
    ignored_key,
    known_names,
    planned_key,
    refuse,
)
from tarsy.domain.stage import SuccessPolicy
from tarsy.domain.verdict import Confidence


class StageAgentConfig(SubAgentKeys, ProviderKey, BackendKeys, LimitKeys, ServersKey, FallbackKey, SkillsKeys, BudgetKey):
    name: StageAgentName = Field(description="Name of an entry of `agents`, or of a built-in agent.")
    type: AgentKindName | None = Field(
        default=None,
        description="The same type as in the agent's definition; or `orchestrator` for an agent that has `sub_agents` here, or `action`.",
    )

    @field_validator("type")
    @classmethod
    def _is_the_agents_own(cls, kind: AgentKind | None, info: ValidationInfo) -> AgentKind | None:
        names, name = known_names(info), info.data.get("name")
        own = names.agents.get(name) if names and isinstance(name, str) else None
        may_become = {AgentKind.DEFAULT: {AgentKind.ORCHESTRATOR, AgentKind.ACTION}, AgentKind.ORCHESTRATOR: {AgentKind.DEFAULT}}
        if own and kind and kind not in {own, *may_become.get(AgentKind(own), ())}:
            lines = f"define another agent and name it here:\nagents:\n  {name}-{kind}: {{type: {kind}}}"
            raise refuse(f'agent "{name}" has type {own}, and a stage cannot change it', lines)
        return kind


class SynthesisConfig(ProviderKey, BackendKeys):
    agent: AgentName = Field(default="SynthesisAgent", description="Who brings the parallel analyses together.")


class StageConfig(SubAgentKeys, LimitKeys, ServersKey, FallbackKey, BudgetKey):
    name: Name = Field(description="The stage's name, for people and for the context of later stages.")
    agents: tuple[StageAgentConfig, ...] = Field(
        min_length=1, description="The agents; they run at the same time, and a synthesis combines their analyses."
    )
    replicas: Count = Field(default=1, description="Run the one agent of this stage several times.")
    success_policy: SuccessPolicy | None = Field(
        default=None, description="`any`: one success is enough; `all`: every agent has to succeed."
    )
    synthesis: SynthesisConfig = Field(default=SynthesisConfig(), description="How TARSy combines several analyses into one.")
    min_confidence: Confidence | None = Field(
        default=None,
        description="For a stage with an agent of type `action`: the verdict's confidence below which it does not begin; unset: `high`.",
    )
    dry_run: Switch | None = Field(
        default=None, description="For such a stage: TARSy shows the calls that would change something, and does not make them; unset: no."
    )


class ChatConfig(SubAgentKeys, ProviderKey, BackendKeys, LimitKeys, ServersKey):
    enabled: Switch = Field(default=True, description="Allow questions after the investigation.")
    agent: ChatAgentName = Field(default="ChatAgent", description="The agent that answers.")


class ExecutiveSummaryConfig(Section):
    enabled: Switch = Field(default=True, description="Summarise a finished analysis; off: the session ends with its last stage.")


class ChallengeConfig(Section):
    """Another agent tries to refute the verdict; `true` is enough."""

    enabled: Switch = Field(default=True, description="Challenge verdicts.")
    when_below: Confidence | None = Field(
        default=None, description="Challenge only verdicts with less confidence than this; unset: every verdict."
    )
    # Enough for two or three rounds of tool calls, and an answer.
    max_iterations: Count = Field(default=6, description="Model calls after which the challenger must conclude.")

    @model_validator(mode="before")
    @classmethod
    def _by_switch(cls, data: Any) -> Any:
        return {"enabled": data} if isinstance(data, bool | str) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "boolean"}, handler(core_schema)]}


_JUDGES = "the scoring agent reads the stored session, in one call without tools"


class ScoringConfig(ProviderKey, BackendKeys):
    enabled: Switch | None = Field(default=None, description="Score finished sessions; unset: no.")
    agent: AgentName | None = Field(default=None, description="The agent that scores; unset: ScoringAgent.")
    mcp_servers: tuple[ServerName, ...] | None = ignored_key("Tool servers of the scoring agent.", _JUDGES)
    max_iterations: Count | None = ignored_key("Model calls of the scoring agent.", _JUDGES)


class ChainConfig(SubAgentKeys, ProviderKey, BackendKeys, LimitKeys, ServersKey, FallbackKey, BudgetKey):
    alert_types: Annotated[tuple[Name, ...], Field(min_length=1)] = Field(
        description="Alert types that this chain handles; a type belongs to one chain only."
    )
    description: Text = Field(default="", description="For people.")
    stages: Annotated[tuple[StageConfig, ...], Field(min_length=1)] = Field(description="The stages; they run one after the other.")
    challenge: ChallengeConfig | None = Field(
        default=None, description="A second agent tries to refute the verdict: `true`, or `{when_below: high}`; unset: no."
    )
    executive_summary: ExecutiveSummaryConfig = Field(
        default=ExecutiveSummaryConfig(), description="The executive summary: the result in a few sentences."
    )
    executive_summary_provider: ProviderName | None = Field(default=None, description="Unset: the chain's provider.")
    chat: ChatConfig = Field(default=ChatConfig(), description="Questions after the investigation.")
    scoring: ScoringConfig = Field(default=ScoringConfig(), description="Scoring the finished investigation.")


class AlertMaskingConfig(Section):
    enabled: Switch = Field(default=True, description="Mask secrets in alerts before TARSy stores them.")
    pattern_group: PatternGroupName = Field(default="security", description="Which ones.")


class SummarizationDefaults(Section):
    llm_provider: ProviderName | None = Field(
        default=None, description="The provider that shortens large tool results; unset: the agent's own."
    )
    llm_backend: Backend | None = Field(default=None, description="Unset: as for the provider.")


class EvidenceConfig(Section):
    support: Switch = Field(
        default=False, description="Have a model judge whether the quotations of *Why* and of the verdict support what they are cited for."
    )
    llm_provider: ProviderName | None = Field(
        default=None, description="The model that judges; unset: that of `defaults.summarization`, else the agent's own."
    )
    llm_backend: Backend | None = Field(default=None, description="Unset: as for the provider.")


class DefaultsConfig(OrchestratorKey, ProviderKey, BackendKeys, LimitKeys, FallbackKey, BudgetKey):
    success_policy: SuccessPolicy | None = Field(default=None, description="For parallel stages: `any` (the default) or `all`.")
    alert_type: AlertTypeName = Field(default="kubernetes", description="The type of alerts that have none.")
    runbook: Text = Field(default="", description="Runbook text for alerts without a runbook.")
    alert_masking: AlertMaskingConfig = Field(default=AlertMaskingConfig(), description="Masking secrets in alerts.")
    scoring: ScoringConfig = Field(default=ScoringConfig(), description="Scoring finished investigations, for every chain.")
    summarization: SummarizationDefaults = Field(default=SummarizationDefaults(), description="Shortening large tool results.")
    evidence: EvidenceConfig = Field(default=EvidenceConfig(), description="Checking what analyses cite, beyond the checks by code.")
    memory: Mapping[str, Any] | None = planned_key("What agents remember between sessions.")
