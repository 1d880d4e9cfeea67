"""The `system` section: the installation's surroundings."""

from typing import Annotated, Any

from pydantic import Field

from tarsy.config.schema.budget import PeriodBudgetConfig
from tarsy.config.schema.cost import CostEstimationConfig
from tarsy.config.schema.values import Count, Duration, Name, Network, Origin, Section, Switch, Text, WebAddress, later


class GithubConfig(Section):
    token_env: Name = Field(
        default="GITHUB_TOKEN", description="Variable that holds the token for private runbooks; TARSy sends it only to GitHub's hosts."
    )


class RunbooksConfig(Section):
    repo_url: WebAddress | None = later("Repository of the runbooks that the dashboard offers.")
    cache_ttl: Duration = Field(default=60.0, description="How long TARSy caches a fetched runbook.")
    allowed_domains: tuple[Name, ...] = Field(
        default=("github.com", "raw.githubusercontent.com"), description="TARSy fetches runbooks only from these hosts."
    )


# A century: what lies further back than a few thousand years PostgreSQL cannot say.
Days = Annotated[Count, Field(le=36_500)]


class RetentionConfig(Section):
    session_retention_days: Days = Field(
        default=90,
        description="TARSy hides finished sessions older than this (soft delete) and erases alerts that were only recorded, changes, and incidents without sessions.",
    )
    hard_delete_after_days: Days | None = Field(
        default=None, description="TARSy erases hidden sessions after this many more days; unset: only `tarsy sessions purge` erases them."
    )
    event_ttl: Duration = Field(default=3600.0, description="How long live events stay available for catch-up.")
    cleanup_interval: Duration = Field(default=43200.0, description="How often TARSy looks for old data.")


class SlackConfig(Section):
    enabled: Switch = Field(default=False, description="Send notifications.")
    token_env: Name = Field(default="SLACK_BOT_TOKEN", description="Variable that holds the bot token.")
    channel: Text | None = Field(default=None, description="Channel id.")


class SystemConfig(Section):
    dashboard_url: WebAddress | None = Field(
        default=None,
        description="Public address of the dashboard. TARSy trusts pages from this origin and accepts requests for its host name.",
    )
    allowed_ws_origins: tuple[Origin, ...] = Field(
        default=(), description="Further origins whose pages may write and open the live connection; `*` allows any."
    )
    trusted_proxies: tuple[Network, ...] = Field(
        default=(), description="Addresses or networks of proxies whose `X-Forwarded-*` identity headers TARSy believes."
    )
    github: GithubConfig = Field(default=GithubConfig(), description="Access to GitHub.")
    runbooks: RunbooksConfig = Field(default=RunbooksConfig(), description="Where runbooks come from.")
    retention: RetentionConfig = Field(default=RetentionConfig(), description="How long data is kept.")
    slack: SlackConfig | None = later("Notifications to Slack.")
    cost_estimation: CostEstimationConfig = Field(default=CostEstimationConfig(), description="What model calls cost.")
    budgets: tuple[PeriodBudgetConfig, ...] = Field(default=(), description="What all investigations together may cost in a day or month.")
    holidays: tuple[Any, ...] | None = later("Days that count as off-duty.")
