"""Roles: what a person or program may do. `tarsy.api.permissions` says which role each operation needs."""

from enum import StrEnum


class AccessRole(StrEnum):
    """In ascending order: each role includes those before it."""

    # Reads.
    VIEWER = "viewer"
    # Submits, cancels, asks, gives hints, reviews, handles incidents.
    RESPONDER = "responder"
    # Decides about the tool calls that wait for approval.
    APPROVER = "approver"
    # Erases, changes the configuration, manages tokens.
    ADMIN = "admin"

    def includes(self, other: "AccessRole") -> bool:
        order = list(AccessRole)
        return order.index(self) >= order.index(other)


def highest(*roles: AccessRole | None) -> AccessRole | None:
    """Return the role that includes all others; None if there is none."""
    return max((role for role in roles if role), key=list(AccessRole).index, default=None)
