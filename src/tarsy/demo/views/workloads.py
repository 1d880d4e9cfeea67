"""Deployments, stateful sets, daemon sets and jobs, their rollouts, and the config maps they read."""

from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import age, table, timestamp
from tarsy.demo.lookup import InNamespace, Namespace, find, in_namespace
from tarsy.demo.views.events import events_of
from tarsy.demo.world import ClusterData


def deployments_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List Deployments, StatefulSets, DaemonSets and CronJobs with readiness and images."""
    rows = [
        (
            workload.namespace,
            f"{workload.kind}/{workload.name}",
            f"{workload.ready}/{workload.desired}",
            str(workload.desired if workload.up_to_date is None else workload.up_to_date),
            age(world.at(workload.created), world.now),
            ",".join(workload.images),
        )
        for workload in in_namespace(world, world.workloads, namespace)
    ]
    return table(("NAMESPACE", "NAME", "READY", "UP-TO-DATE", "AGE", "IMAGES"), rows) if rows else "No workloads found."


def deployment_history(
    world: ClusterData,
    namespace: InNamespace,
    name: Annotated[str, Field(description="Name of the Deployment, StatefulSet, DaemonSet or CronJob")],
) -> str:
    """Show the rollout history of a workload: when, why, and what changed in the pod template."""
    workload = find(world, "workload", world.workloads, namespace, name.rpartition("/")[2])
    lines = [f"{workload.kind} {workload.namespace}/{workload.name}: {workload.ready}/{workload.desired} ready"]
    if workload.note:
        lines.append(workload.note.strip())
    if not workload.revisions:
        lines.append(f"One revision only, unchanged since {timestamp(world.at(workload.created))}. Images: {', '.join(workload.images)}")
    for revision in workload.revisions:
        at = world.at(revision.at)
        lines += [f"\nRevision {revision.revision}   {timestamp(at)} ({age(at, world.now)} ago)", f"  Change-Cause: {revision.cause}"]
        lines += [f"  {line}" for line in revision.changes.strip().splitlines()]
    return "\n".join([*lines, "\nEvents:", *events_of(world, workload.namespace, f"{workload.kind}/{workload.name}")])


def configmaps_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List config maps and when each was last modified."""
    rows = [
        (
            item.namespace,
            item.name,
            str(len(item.data)),
            age(world.at(item.created), world.now),
            timestamp(world.at(item.updated or item.created)),
        )
        for item in in_namespace(world, world.configmaps, namespace)
    ]
    return table(("NAMESPACE", "NAME", "KEYS", "AGE", "LAST MODIFIED"), rows) if rows else "No config maps found."


def configmaps_get(world: ClusterData, namespace: InNamespace, name: Annotated[str, Field(description="Name of the config map")]) -> str:
    """Read a config map, who modified it last, and the values before that change where they are still known."""
    item = find(world, "configmap", world.configmaps, namespace, name)
    lines = [
        f"Name:           {item.name}",
        f"Namespace:      {item.namespace}",
        f"Created:        {timestamp(world.at(item.created))}",
        f"Last Modified:  {timestamp(world.at(item.updated or item.created))} by {item.updated_by or 'unknown'}",
        *(f"Annotation:     {key}={value}" for key, value in item.annotations.items()),
        "\nData\n====",
        *(f"{key}:\n----\n{value.rstrip()}\n" for key, value in item.data.items()),
        *(f"Previous value of {key}:\n----\n{value.rstrip()}\n" for key, value in item.previous.items()),
    ]
    return "\n".join(lines)
