"""Pods: the list, the description, the logs."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import age, cells, table, timestamp
from tarsy.demo.lookup import InNamespace, Namespace, PodName, UnknownObjectError, find, in_namespace
from tarsy.demo.stdio_server import ToolRefusedError
from tarsy.demo.views.events import events_of
from tarsy.demo.world import ClusterData, Container, Pod

_INDENT = "  "


def namespaces_list(world: ClusterData) -> str:
    """List the namespaces of the cluster."""
    return "\n".join(world.namespaces)


def pods_list(
    world: ClusterData,
    namespace: Namespace = "",
    label_selector: Annotated[str, Field(description="key=value pairs, separated by commas")] = "",
    node: Annotated[str, Field(description="Only pods on this node")] = "",
) -> str:
    """List pods with status, restarts, age and node (kubectl get pods -o wide)."""
    pairs = [part.partition("=") for part in label_selector.replace("==", "=").split(",") if part.strip()]
    if any(not sign or "!" in key for key, sign, _ in pairs):
        raise ToolRefusedError(f'label_selector "{label_selector}" is not understood: write key=value, several separated by commas.')
    wanted = {key.strip(): value.strip() for key, _, value in pairs}
    pods = [
        pod for pod in in_namespace(world, world.pods, namespace) if wanted.items() <= pod.labels.items() and (not node or pod.node == node)
    ]
    if not pods:
        return "No pods found."
    headings = ("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE")
    rows: list[tuple[str, ...]] = []
    for pod in pods:
        ready = sum(container.ready for container in pod.containers)
        restarts = sum(container.restarts for container in pod.containers)
        since = f" ({age(world.at(pod.restarted), world.now)} ago)" if pod.restarted else ""
        rows.append(
            (
                *cells(pod, "namespace", "name"),
                f"{ready}/{len(pod.containers)}",
                pod.status,
                f"{restarts}{since}",
                age(world.at(pod.created), world.now),
                *cells(pod, "ip", "node"),
            )
        )
    return table(headings, rows)


def pods_get(world: ClusterData, namespace: InNamespace, name: PodName) -> str:
    """Describe a pod: containers, states, exit codes, limits, environment, volumes, events (kubectl describe pod)."""
    pod = find(world, "pod", world.pods, namespace, name)
    lines = [
        f"Name:             {pod.name}",
        f"Namespace:        {pod.namespace}",
        f"Node:             {pod.node}",
        f"Start Time:       {timestamp(world.at(pod.created))}",
        *_pairs("Labels:", pod.labels),
        *_pairs("Annotations:", pod.annotations),
        f"Status:           {pod.status}",
        f"IP:               {pod.ip}",
        f"Controlled By:    {pod.owner or '<none>'}",
        f"Service Account:  {pod.service_account}",
        *_line("Priority Class:   ", pod.priority_class),
        *_listing("Security:", pod.security, ""),
        "Containers:",
        *(line for container in pod.containers for line in _container(container)),
        *_pairs("Conditions:", pod.conditions),
        *_listing("Volumes:", pod.volumes, ""),
        "Events:",
        *events_of(world, pod.namespace, f"Pod/{pod.name}"),
    ]
    return "\n".join(lines)


def _container(container: Container) -> Iterator[str]:
    indent = _INDENT * 2
    yield f"{_INDENT}{container.name}:"
    yield f"{indent}Image:          {container.image}"
    yield from _line(f"{indent}Command:        ", container.command)
    yield from _block(f"{indent}State:          ", container.state)
    yield from _block(f"{indent}Last State:     ", container.last_state)
    yield f"{indent}Ready:          {container.ready}"
    yield f"{indent}Restart Count:  {container.restarts}"
    yield from _line(f"{indent}Limits:         ", container.limits)
    yield from _line(f"{indent}Requests:       ", container.requests)
    yield from _listing("Probes:", container.probes, indent)
    yield from _listing("Environment:", container.env, indent)
    yield from _listing("Mounts:", container.mounts, indent)


def _line(heading: str, text: str) -> Iterator[str]:
    if text:
        yield heading + text


def _block(heading: str, text: str) -> Iterator[str]:
    for position, line in enumerate(text.strip().splitlines()):
        yield (" " * len(heading) if position else heading) + line


def _pairs(heading: str, values: Mapping[str, str]) -> Iterator[str]:
    for position, (key, value) in enumerate(values.items()):
        yield f"{heading if position == 0 else '':<18}{key}={value}"


def _listing(heading: str, values: tuple[str, ...], indent: str) -> Iterator[str]:
    if values:
        yield f"{indent}{heading}"
        yield from (f"{indent}{_INDENT}{value}" for value in values)


def pods_log(
    world: ClusterData,
    namespace: InNamespace,
    name: PodName,
    container: Annotated[str, Field(description="Container; empty means the first one")] = "",
    previous: Annotated[bool, Field(description="The log of the container's previous run, before it was restarted")] = False,  # noqa: FBT002 - a tool's argument
    tail: Annotated[int, Field(description="How many of the last lines to return", ge=1, le=5000)] = 100,
    grep: Annotated[str, Field(description="Only lines that match this regular expression")] = "",
) -> str:
    """Read a container's log (kubectl logs)."""
    chosen = _choose(find(world, "pod", world.pods, namespace, name), container)
    if previous and not chosen.previous_log:
        raise UnknownObjectError(f'previous terminated container "{chosen.name}" in pod "{name}" not found: it has not been restarted.')
    if not previous and not chosen.log and chosen.state.startswith("Waiting"):
        reason = chosen.state.splitlines()[0].removeprefix("Waiting").strip(" :()")
        raise ToolRefusedError(f'container "{chosen.name}" in pod "{name}" is waiting to start: {reason}')
    lines = (chosen.previous_log if previous else chosen.log).strip().splitlines()
    if chosen.flood and not previous:
        lines += [chosen.flood.line.replace("{n}", str(number)) for number in range(1, chosen.flood.count + 1)]
    try:
        pattern = re.compile(grep, re.IGNORECASE)
    except re.error:
        pattern = re.compile(re.escape(grep), re.IGNORECASE)
    lines = [line for line in lines if pattern.search(line)]
    return "\n".join(lines[-tail:]) if lines else "(no log lines)" if not grep else f'(no log lines match "{grep}")'


def _choose(pod: Pod, name: str) -> Container:
    if not name:
        return pod.containers[0]
    for container in pod.containers:
        if container.name == name:
            return container
    names = ", ".join(container.name for container in pod.containers)
    raise UnknownObjectError(f'container "{name}" is not valid for pod "{pod.name}". Its containers: {names}')
