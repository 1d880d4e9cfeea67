"""Nodes: the list, the description, the kubelet's statistics."""

from tarsy.demo.kubectl import age, cells, table, timestamp
from tarsy.demo.lookup import NodeName, UnknownObjectError
from tarsy.demo.views.events import events_of
from tarsy.demo.world import ClusterData, Node

_HEALTHY = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}


def nodes_list(world: ClusterData) -> str:
    """List the nodes with status and version."""
    rows = [
        (
            *cells(node, "name", "status", "roles"),
            age(world.at(node.created), world.now),
            *cells(node, "version", "architecture", "instance", "zone"),
        )
        for node in world.nodes
    ]
    return table(("NAME", "STATUS", "ROLES", "AGE", "VERSION", "ARCH", "INSTANCE", "ZONE"), rows)


def nodes_describe(world: ClusterData, name: NodeName) -> str:
    """Describe a node: conditions, taints, capacity, its pods and its events."""
    node = _find(world, name)
    pods = sorted((pod for pod in world.pods if pod.node == node.name), key=lambda pod: (pod.namespace, pod.name))
    lines = [
        f"Name:        {node.name}",
        f"Status:      {node.status}",
        f"Created:     {timestamp(world.at(node.created))}",
        f"Instance:    {node.instance} ({node.architecture}) in {node.zone}, kubelet {node.version}",
        f"Taints:      {', '.join(node.taints) or '<none>'}",
        f"Capacity:    {node.capacity}",
        *([f"Allocated:   {node.allocated}"] if node.allocated else []),
        "Conditions:",
        *(f"  {condition}: {state}" for condition, state in (_HEALTHY | dict(node.conditions)).items()),
        "Pods:",
        *(f"  {pod.namespace}/{pod.name}  {pod.status}" for pod in pods),
        "Events:",
        *events_of(world, "", f"Node/{node.name}"),
    ]
    return "\n".join(lines)


def nodes_stats(world: ClusterData, name: NodeName) -> str:
    """Read the kubelet's statistics of a node: file systems, and the pods that use most ephemeral storage."""
    node = _find(world, name)
    return node.stats.strip() or f"The kubelet of {name} reports nothing unusual: every file system is below 60% and no pod stands out."


def _find(world: ClusterData, name: str) -> Node:
    for node in world.nodes:
        if node.name == name:
            return node
    raise UnknownObjectError(f'nodes "{name}" not found. Nodes: {", ".join(node.name for node in world.nodes)}')
