"""Certificates, and the admission webhooks that stand or fall with them."""

from collections.abc import Iterator
from datetime import datetime

from tarsy.demo.kubectl import age, stamp
from tarsy.demo.lookup import in_namespace
from tarsy.demo.tool_arguments import Namespace
from tarsy.demo.world import Certificate, Webhook, World


def certificates_list(world: World, namespace: Namespace = "") -> str:
    """List TLS certificates with names, issuer and validity."""
    found = in_namespace(world, world.certificates, namespace)
    return "\n\n".join("\n".join(_certificate(world, one)) for one in found) or "No certificates found."


def _certificate(world: World, one: Certificate) -> Iterator[str]:
    yield f"{one.namespace}/{one.name}   Ready: {one.ready}   Secret: {one.secret}   Issuer: {one.issuer}"
    yield f"  DNS Names:  {', '.join(one.dns_names)}"
    yield f"  Not Before: {stamp(world.at(one.not_before))}"
    yield f"  Not After:  {stamp(world.at(one.not_after))} ({_distance(world.at(one.not_after), world.now)})"
    yield from (f"  {line}" for line in one.note.strip().splitlines())


def _distance(end: datetime, now: datetime) -> str:
    return f"expired {age(end, now)} ago" if end <= now else f"in {age(now, end)}"


def webhooks_list(world: World) -> str:
    """List admission webhooks: what they act on, where they are called, what happens when they fail."""
    return "\n\n".join("\n".join(_webhook(world, one)) for one in world.webhooks) or "No admission webhooks found."


def _webhook(world: World, one: Webhook) -> Iterator[str]:
    yield f"{one.kind}/{one.name} (created {stamp(world.at(one.created))})"
    yield f"  Service: {one.service}   Failure Policy: {one.failure_policy}   Timeout: {one.timeout}"
    yield from (f"  Rule: {rule}" for rule in one.rules)
    if one.selector:
        yield f"  Selector: {one.selector}"
    yield from (f"  {line}" for line in one.note.strip().splitlines())
