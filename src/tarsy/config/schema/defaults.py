"""The `defaults` section: what holds where nothing more specific is said."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from tarsy.config.schema.agents import BackendKeys, FallbackKey, LimitKeys, OrchestratorKey, ProviderKey
from tarsy.config.schema.budget import BudgetKey
from tarsy.config.schema.chains import ScoringConfig
from tarsy.config.schema.values import AlertTypeName, Backend, PatternGroupName, ProviderName, Section, Switch, Text, later
from tarsy.domain.stage import SuccessPolicy


class AlertMaskingConfig(Section):
    enabled: Switch = Field(default=True, description="Mask secrets in alerts before TARSy stores them.")
    pattern_group: PatternGroupName = Field(default="security", description="Which ones.")


class SummarizationDefaults(Section):
    llm_provider: ProviderName | None = Field(
        default=None, description="The provider that shortens large tool results; unset: the agent's own."
    )
    llm_backend: Backend | None = Field(default=None, description="Unset: as for the provider.")


class DefaultsConfig(OrchestratorKey, ProviderKey, BackendKeys, LimitKeys, FallbackKey, BudgetKey):
    success_policy: SuccessPolicy | None = Field(default=None, description="For parallel stages: `any` (the default) or `all`.")
    alert_type: AlertTypeName = Field(default="kubernetes", description="The type of alerts that have none.")
    runbook: Text = Field(default="", description="Runbook text for alerts without a runbook.")
    alert_masking: AlertMaskingConfig = Field(default=AlertMaskingConfig(), description="Masking secrets in alerts.")
    scoring: ScoringConfig = Field(default=ScoringConfig(), description="Scoring finished investigations, for every chain.")
    summarization: SummarizationDefaults = Field(default=SummarizationDefaults(), description="Shortening large tool results.")
    memory: Mapping[str, Any] | None = later("What agents remember between sessions.")
