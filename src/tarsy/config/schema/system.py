"""The `system` and `queue` sections."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

from tarsy.config.schema.budget import CostEstimationConfig, PeriodBudgetConfig
from tarsy.config.schema.oidc import OidcConfig
from tarsy.config.schema.values import (
    Count,
    Duration,
    DurationOrZero,
    Name,
    Network,
    Origin,
    Section,
    Switch,
    Text,
    WebAddress,
    ignored_key,
    planned_key,
    refuse,
)
from tarsy.domain.access_role import AccessRole


class GithubConfig(Section):
    token_env: Name = Field(
        default="GITHUB_TOKEN", description="Variable that holds the token for private runbooks; TARSy sends it only to GitHub's hosts."
    )


class RunbooksConfig(Section):
    repo_url: WebAddress | None = planned_key("Repository of the runbooks that the dashboard offers.")
    cache_ttl: Duration = Field(default=60.0, description="How long TARSy caches a fetched runbook.")
    allowed_domains: tuple[Name, ...] = Field(
        default=("github.com", "raw.githubusercontent.com"), description="TARSy fetches runbooks only from these hosts."
    )


# A century: a huge number would give a date before 4713 BC, which PostgreSQL cannot hold.
Days = Annotated[Count, Field(le=36_500)]


class RetentionConfig(Section):
    session_retention_days: Days = Field(
        default=90,
        description="TARSy hides finished sessions older than this (soft delete) and erases alerts that were only recorded, changes, and incidents without sessions.",
    )
    hard_delete_after_days: Days | None = Field(
        default=None, description="TARSy erases hidden sessions after this many more days; unset: only `tarsy sessions purge` erases them."
    )
    audit_log_days: Days = Field(default=365, description="TARSy erases older entries of the audit log; 36500 is a century.")
    event_ttl: Duration = Field(default=3600.0, description="How long live events stay available for catch-up.")
    cleanup_interval: Duration = Field(default=43200.0, description="How often TARSy looks for old data.")


class SlackConfig(Section):
    enabled: Switch = Field(default=False, description="Send notifications.")
    token_env: Name = Field(default="SLACK_BOT_TOKEN", description="Variable that holds the bot token.")
    channel: Text | None = Field(default=None, description="Id of the channel, such as `C0123456789`.")


class SystemConfig(Section):
    dashboard_url: WebAddress | None = Field(
        default=None,
        description="Public address of the dashboard. TARSy trusts pages from this origin and accepts requests for its host name.",
    )
    allowed_ws_origins: tuple[Origin, ...] = Field(
        default=(),
        description="Further origins whose pages may write and open the live connection. `*` stands for any characters: `https://*.example.com`.",
    )
    trusted_proxies: tuple[Network, ...] = Field(
        default=(), description="Addresses or networks of proxies whose `X-Forwarded-*` identity headers TARSy believes."
    )
    proxy_roles: Mapping[str, AccessRole] = Field(
        default={},
        description="Roles of the groups that trusted proxies pass in `X-Forwarded-Groups`. Unset: people behind a trusted proxy are responders. Set: people in none of these groups have no access.",
    )
    oidc: OidcConfig | None = Field(default=None, description="Sign-in with an OpenID Connect provider; see [Sign-in](sign-in.md).")
    max_webhook_bytes: Annotated[Count, Field(le=256 * 1024**2)] = Field(
        default=16 * 1024**2,
        description="TARSy answers 413 to webhook requests with a larger body (and to senders that do not authenticate, over 1 MiB).",
    )
    github: GithubConfig = Field(default=GithubConfig(), description="Access to GitHub.")
    runbooks: RunbooksConfig = Field(default=RunbooksConfig(), description="Where runbooks come from.")
    retention: RetentionConfig = Field(default=RetentionConfig(), description="How long data is kept.")
    slack: SlackConfig | None = Field(
        default=None,
        description="Notifications of verdicts and failures to a channel of Slack, as in the Go version; [`notify`](#notify) can do more.",
    )
    cost_estimation: CostEstimationConfig = Field(default=CostEstimationConfig(), description="What model calls cost.")
    budgets: tuple[PeriodBudgetConfig, ...] = Field(default=(), description="What all investigations together may cost in a day or month.")
    holidays: tuple[Any, ...] | None = planned_key("Days that count as off-duty.")


class QueueConfig(Section):
    worker_count: Annotated[Count, Field(le=50)] = Field(default=5, description="Sessions that one process runs at once (1 to 50).")
    max_concurrent_sessions: Count = Field(default=5, description="Sessions that run at once in all processes together.")
    poll_interval: Duration = Field(default=1.0, description="How often workers check the queue without a notification.")
    poll_interval_jitter: DurationOrZero = Field(
        default=0.5, description="Random part of the poll interval, so that workers do not all poll at once."
    )
    session_timeout: Duration = Field(default=900.0, description="TARSy ends a session that runs longer as timed out.")
    graceful_shutdown_timeout: Duration = Field(default=900.0, description="How long a stopping process waits for its sessions.")
    scoring_shutdown_timeout: DurationOrZero | None = ignored_key(
        "How long a stopping process waits for scorings.",
        "another process continues a stopped scoring, or the same one after its restart",
    )
    heartbeat_interval: Duration = Field(default=10.0, description="How often a worker sends a heartbeat.")
    orphan_detection_interval: Duration = Field(default=30.0, description="How often TARSy looks for abandoned sessions.")
    orphan_threshold: Duration = Field(
        default=60.0,
        validate_default=True,
        description="Time without a heartbeat after which another worker takes over a session; at least three heartbeats.",
    )
    max_recoveries: Annotated[int, Field(strict=True, ge=0)] = Field(
        default=3,
        description="How many workers may die or go silent in the same step of a session before TARSy gives it up. The count starts again when the session makes progress.",
    )
    max_queue_size: Count | None = Field(
        default=None, description="Number of waiting sessions above which TARSy refuses alerts with HTTP 429; unset: no limit."
    )

    @field_validator("orphan_threshold")
    @classmethod
    def _three_heartbeats(cls, threshold: float, info: ValidationInfo) -> float:
        heartbeat = info.data.get("heartbeat_interval")
        # A worker may miss one heartbeat under load and a second one during a database failover.
        if isinstance(heartbeat, float) and threshold < 3 * heartbeat:
            raise refuse(
                f"{threshold:g}s is less than three heartbeats of {heartbeat:g}s: live workers would lose their sessions",
                f"write {3 * heartbeat:g}s or more, or shorten heartbeat_interval",
            )
        return threshold
