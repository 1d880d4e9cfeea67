"""What a namespace may use and what it has: quotas, storage, autoscaling."""

from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import age, cells, table, timestamp
from tarsy.demo.lookup import InNamespace, Namespace, find, in_namespace
from tarsy.demo.views.events import events_of
from tarsy.demo.world import ClusterData


def quotas_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List resource quotas with what is used of them, and limit ranges."""
    blocks: list[str] = []
    for quota in in_namespace(world, world.quotas, namespace):
        lines = [f"{quota.kind} {quota.namespace}/{quota.name} (created {timestamp(world.at(quota.created))})"]
        if quota.hard:
            rows = ((name, quota.used.get(name, "0"), hard) for name, hard in quota.hard.items())
            lines += [f"  {line}" for line in table(("RESOURCE", "USED", "HARD"), rows).splitlines()]
        lines += [f"  default {name}: {value}" for name, value in quota.defaults.items()]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) or "No resource quotas and no limit ranges."


def pvcs_list(world: ClusterData, namespace: Namespace = "") -> str:
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


def pvcs_get(world: ClusterData, namespace: InNamespace, name: Annotated[str, Field(description="Name of the claim")]) -> str:
    """Describe a persistent volume claim: its volume, who uses it, its events."""
    claim = find(world, "persistentvolumeclaim", world.claims, namespace, name)
    lines = [
        f"Name:          {claim.name}",
        f"Namespace:     {claim.namespace}",
        f"Status:        {claim.status}",
        f"Volume:        {claim.volume}",
        f"Capacity:      {claim.capacity}",
        f"Access Modes:  {claim.access}",
        f"StorageClass:  {claim.storage_class}",
        *([f"Zone:          {claim.zone}"] if claim.zone else []),
        f"Used By:       {', '.join(claim.used_by) or '<none>'}",
        *claim.note.strip().splitlines(),
        "Events:",
        *events_of(world, claim.namespace, f"PersistentVolumeClaim/{claim.name}"),
    ]
    return "\n".join(lines)


def hpa_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List horizontal pod autoscalers with targets, limits, replicas and conditions."""
    blocks: list[str] = []
    for one in in_namespace(world, world.autoscalers, namespace):
        lines = [
            f"{one.namespace}/{one.name} (created {timestamp(world.at(one.created))})",
            f"  Reference: {one.reference}   Targets: {one.targets}   Min: {one.least}   Max: {one.most}   Replicas: {one.replicas}",
            *(f"  Condition: {condition}" for condition in one.conditions),
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) or "No horizontal pod autoscalers found."
