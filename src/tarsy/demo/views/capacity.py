"""What a namespace may use and what it has: quotas, storage, autoscaling."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import age, cells, stamp, table
from tarsy.demo.lookup import find, in_namespace
from tarsy.demo.tool_arguments import InNamespace, Namespace
from tarsy.demo.views.events import events_of
from tarsy.demo.world import Autoscaler, Claim, Quota, World


def quotas_list(world: World, namespace: Namespace = "") -> str:
    """List resource quotas with what is used of them, and limit ranges."""
    found = in_namespace(world, world.quotas, namespace)
    return "\n\n".join("\n".join(_quota(world, quota)) for quota in found) or "No resource quotas and no limit ranges."


def _quota(world: World, quota: Quota) -> Iterator[str]:
    yield f"{quota.kind} {quota.namespace}/{quota.name} (created {stamp(world.at(quota.created))})"
    if quota.hard:
        rows = ((name, quota.used.get(name, "0"), hard) for name, hard in quota.hard.items())
        yield from (f"  {line}" for line in table(("RESOURCE", "USED", "HARD"), rows).splitlines())
    yield from (f"  default {name}: {value}" for name, value in quota.defaults.items())


def pvcs_list(world: World, namespace: Namespace = "") -> str:
    """List persistent volume claims with status, volume, size, class and zone."""
    rows = [
        (
            *cells(claim, "namespace", "name", "status", "volume", "capacity", "access", "storage_class"),
            claim.zone or "-",
            age(world.at(claim.created), world.now),
        )
        for claim in in_namespace(world, world.claims, namespace)
    ]
    headings = ("NAMESPACE", "NAME", "STATUS", "VOLUME", "CAPACITY", "ACCESS", "STORAGECLASS", "ZONE", "AGE")
    return table(headings, rows) if rows else "No persistent volume claims found."


def pvcs_get(world: World, namespace: InNamespace, name: Annotated[str, Field(description="Name of the claim")]) -> str:
    """Describe a persistent volume claim: its volume, who uses it, its events."""
    return "\n".join(_claim(world, find(world, "persistentvolumeclaim", world.claims, namespace, name)))


def _claim(world: World, claim: Claim) -> Iterator[str]:
    yield f"Name:          {claim.name}"
    yield f"Namespace:     {claim.namespace}"
    yield f"Status:        {claim.status}"
    yield f"Volume:        {claim.volume}"
    yield f"Capacity:      {claim.capacity}"
    yield f"Access Modes:  {claim.access}"
    yield f"StorageClass:  {claim.storage_class}"
    if claim.zone:
        yield f"Zone:          {claim.zone}"
    yield f"Used By:       {', '.join(claim.used_by) or '<none>'}"
    yield from claim.note.strip().splitlines()
    yield "Events:"
    yield from events_of(world, claim.namespace, f"PersistentVolumeClaim/{claim.name}")


def hpa_list(world: World, namespace: Namespace = "") -> str:
    """List horizontal pod autoscalers with targets, limits, replicas and conditions."""
    found = in_namespace(world, world.autoscalers, namespace)
    return "\n\n".join("\n".join(_autoscaler(world, one)) for one in found) or "No horizontal pod autoscalers found."


def _autoscaler(world: World, one: Autoscaler) -> Iterator[str]:
    yield f"{one.namespace}/{one.name} (created {stamp(world.at(one.created))})"
    yield f"  Reference: {one.reference}   Targets: {one.targets}   Min: {one.least}   Max: {one.most}   Replicas: {one.replicas}"
    yield from (f"  Condition: {condition}" for condition in one.conditions)
