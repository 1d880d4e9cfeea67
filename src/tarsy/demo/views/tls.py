"""Certificates, and the admission webhooks that depend on them."""

from tarsy.demo.kubectl import age, timestamp
from tarsy.demo.lookup import Namespace, in_namespace
from tarsy.demo.world import ClusterData


def certificates_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List TLS certificates with names, issuer and validity."""
    blocks: list[str] = []
    for one in in_namespace(world, world.certificates, namespace):
        end, now = world.at(one.not_after), world.now
        distance = f"expired {age(end, now)} ago" if end <= now else f"in {age(now, end)}"
        lines = [
            f"{one.namespace}/{one.name}   Ready: {one.ready}   Secret: {one.secret}   Issuer: {one.issuer}",
            f"  DNS Names:  {', '.join(one.dns_names)}",
            f"  Not Before: {timestamp(world.at(one.not_before))}",
            f"  Not After:  {timestamp(end)} ({distance})",
            *(f"  {line}" for line in one.note.strip().splitlines()),
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) or "No certificates found."


def webhooks_list(world: ClusterData) -> str:
    """List admission webhooks: what they act on, where they are called, what happens when they fail."""
    blocks: list[str] = []
    for one in world.webhooks:
        lines = [
            f"{one.kind}/{one.name} (created {timestamp(world.at(one.created))})",
            f"  Service: {one.service}   Failure Policy: {one.failure_policy}   Timeout: {one.timeout}",
            *(f"  Rule: {rule}" for rule in one.rules),
            *([f"  Selector: {one.selector}"] if one.selector else []),
            *(f"  {line}" for line in one.note.strip().splitlines()),
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) or "No admission webhooks found."
