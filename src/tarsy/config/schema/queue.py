"""The `queue` section: how many sessions run, and when one counts as abandoned."""

from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator

from tarsy.config.schema.values import Count, Duration, DurationOrZero, Section, refuse, without_effect


class QueueConfig(Section):
    worker_count: Annotated[Count, Field(le=50)] = Field(default=5, description="Sessions that one process runs at once (1 to 50).")
    max_concurrent_sessions: Count = Field(default=5, description="Sessions that run at once in all processes together.")
    poll_interval: Duration = Field(default=1.0, description="How often workers check the queue without a notification.")
    poll_interval_jitter: DurationOrZero = Field(
        default=0.5, description="Random part of the poll interval, so that workers do not all poll at once."
    )
    session_timeout: Duration = Field(default=900.0, description="TARSy ends a session that runs longer as timed out.")
    graceful_shutdown_timeout: Duration = Field(default=900.0, description="How long a stopping process waits for its sessions.")
    scoring_shutdown_timeout: DurationOrZero | None = without_effect(
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
        # A worker may miss one beat in a slow moment and a second one in a database failover.
        if isinstance(heartbeat, float) and threshold < 3 * heartbeat:
            raise refuse(
                f"{threshold:g}s is less than three heartbeats of {heartbeat:g}s: live workers would lose their sessions",
                f"write {3 * heartbeat:g}s or more, or shorten heartbeat_interval",
            )
        return threshold
