"""Senders: whose ways of signing are known."""

from enum import StrEnum


class Scheme(StrEnum):
    """Whose way of signing it is: all are HMAC-SHA256 of the body, written differently."""

    PAGERDUTY = "pagerduty"
    SENTRY = "sentry"
    GRAFANA = "grafana"
    GITHUB = "github"
