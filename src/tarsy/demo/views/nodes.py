"""Nodes: the list, the description, the kubelet's statistics."""

from collections.abc import Iterator

from tarsy.demo.kubectl import age, stamp, table
from tarsy.demo.lookup import NotThereError
from tarsy.demo.views.events import events_of
from tarsy.demo.world import Node, World


def nodes_list(world: World) -> str:
    rows = [
        (
            node.name,
            node.status,
            node.roles,
            age(world.at(node.created), world.now),
            node.version,
            node.architecture,
            node.instance,
            node.zone,
        )
        for node in world.nodes
    ]
    return table(("NAME", "STATUS", "ROLES", "AGE", "VERSION", "ARCH", "INSTANCE", "ZONE"), rows)


def nodes_describe(world: World, name: str) -> str:
    return "\n".join(_describe(world, _find(world, name)))


def nodes_stats(world: World, name: str) -> str:
    node = _find(world, name)
    return node.stats.strip() or f"The kubelet of {name} reports nothing unusual: every file system is below 60% and no pod stands out."


def _find(world: World, name: str) -> Node:
    for node in world.nodes:
        if node.name == name:
            return node
    raise NotThereError(f'nodes "{name}" not found. Nodes: {", ".join(node.name for node in world.nodes)}')


def _describe(world: World, node: Node) -> Iterator[str]:
    yield f"Name:        {node.name}"
    yield f"Status:      {node.status}"
    yield f"Created:     {stamp(world.at(node.created))}"
    yield f"Instance:    {node.instance} ({node.architecture}) in {node.zone}, kubelet {node.version}"
    yield f"Taints:      {', '.join(node.taints) or '<none>'}"
    yield f"Capacity:    {node.capacity}"
    if node.allocated:
        yield f"Allocated:   {node.allocated}"
    yield "Conditions:"
    healthy = {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    for condition, state in (healthy | dict(node.conditions)).items():
        yield f"  {condition}: {state}"
    yield "Pods:"
    for pod in sorted((pod for pod in world.pods if pod.node == node.name), key=lambda pod: (pod.namespace, pod.name)):
        yield f"  {pod.namespace}/{pod.name}  {pod.status}"
    yield "Events:"
    yield from events_of(world, "", f"Node/{node.name}")
