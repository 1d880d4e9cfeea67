"""Pods: the list, the description, the logs."""

import re
from collections.abc import Iterator, Mapping

from tarsy.demo.kubectl import age, stamp, table
from tarsy.demo.lookup import NotThereError, find, in_namespace
from tarsy.demo.views.events import events_of
from tarsy.demo.world import Container, Pod, World

_INDENT = "  "


def pods_list(world: World, namespace: str, label_selector: str, node: str) -> str:
    wanted = _selector(label_selector)
    pods = [
        pod for pod in in_namespace(world, world.pods, namespace) if wanted.items() <= pod.labels.items() and (not node or pod.node == node)
    ]
    if not pods:
        return "No pods found."
    headings = ("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE")
    return table(headings, (_row(world, pod) for pod in pods))


def _selector(text: str) -> Mapping[str, str]:
    pairs = [part.partition("=") for part in text.replace("==", "=").split(",") if part.strip()]
    if any(not sign or "!" in key for key, sign, _ in pairs):
        raise NotThereError(f'label_selector "{text}" is not understood: write key=value, several separated by commas.')
    return {key.strip(): value.strip() for key, _, value in pairs}


def _row(world: World, pod: Pod) -> tuple[str, ...]:
    ready = sum(container.ready for container in pod.containers)
    restarts = sum(container.restarts for container in pod.containers)
    since = f" ({age(world.at(pod.restarted), world.now)} ago)" if pod.restarted else ""
    return (
        pod.namespace,
        pod.name,
        f"{ready}/{len(pod.containers)}",
        pod.status,
        f"{restarts}{since}",
        age(world.at(pod.created), world.now),
        pod.ip,
        pod.node,
    )


def pods_get(world: World, namespace: str, name: str) -> str:
    pod = find(world, "pod", world.pods, namespace, name)
    return "\n".join(_describe(world, pod))


def _describe(world: World, pod: Pod) -> Iterator[str]:
    yield f"Name:             {pod.name}"
    yield f"Namespace:        {pod.namespace}"
    yield f"Node:             {pod.node}"
    yield f"Start Time:       {stamp(world.at(pod.created))}"
    yield from _pairs("Labels:", pod.labels)
    yield from _pairs("Annotations:", pod.annotations)
    yield f"Status:           {pod.status}"
    yield f"IP:               {pod.ip}"
    yield f"Controlled By:    {pod.owner or '<none>'}"
    yield f"Service Account:  {pod.service_account}"
    if pod.priority_class:
        yield f"Priority Class:   {pod.priority_class}"
    yield from _listing("Security:", pod.security, "")
    yield "Containers:"
    for container in pod.containers:
        yield from _container(container)
    yield from _pairs("Conditions:", pod.conditions)
    yield from _listing("Volumes:", pod.volumes, "")
    yield "Events:"
    yield from events_of(world, pod.namespace, f"Pod/{pod.name}")


def _container(container: Container) -> Iterator[str]:
    indent = _INDENT * 2
    yield f"{_INDENT}{container.name}:"
    yield f"{indent}Image:          {container.image}"
    if container.command:
        yield f"{indent}Command:        {container.command}"
    yield from _block(f"{indent}State:          ", container.state)
    if container.last_state:
        yield from _block(f"{indent}Last State:     ", container.last_state)
    yield f"{indent}Ready:          {container.ready}"
    yield f"{indent}Restart Count:  {container.restarts}"
    if container.limits:
        yield f"{indent}Limits:         {container.limits}"
    if container.requests:
        yield f"{indent}Requests:       {container.requests}"
    yield from _listing("Probes:", container.probes, indent)
    yield from _listing("Environment:", container.env, indent)
    yield from _listing("Mounts:", container.mounts, indent)


def _block(heading: str, text: str) -> Iterator[str]:
    first, *rest = text.strip().splitlines()
    yield heading + first
    yield from (" " * len(heading) + line for line in rest)


def _pairs(heading: str, values: Mapping[str, str]) -> Iterator[str]:
    for position, (key, value) in enumerate(values.items()):
        yield f"{heading if position == 0 else '':<18}{key}={value}"


def _listing(heading: str, values: tuple[str, ...], indent: str) -> Iterator[str]:
    if values:
        yield f"{indent}{heading}"
        yield from (f"{indent}{_INDENT}{value}" for value in values)


def pods_log(world: World, namespace: str, name: str, container: str, previous: bool, tail: int, grep: str) -> str:  # noqa: FBT001 - a tool's argument
    pod = find(world, "pod", world.pods, namespace, name)
    chosen = _choose(pod, container)
    text = chosen.previous_log if previous else chosen.log
    if previous and not text:
        raise NotThereError(f'previous terminated container "{chosen.name}" in pod "{name}" not found: it has not been restarted.')
    if not text and chosen.state.startswith("Waiting"):
        reason = chosen.state.splitlines()[0].removeprefix("Waiting").strip(" :()")
        raise NotThereError(f'container "{chosen.name}" in pod "{name}" is waiting to start: {reason}')
    lines = [line for line in text.strip().splitlines() if _matches(grep, line)]
    return "\n".join(lines[-tail:]) if lines else "(no log lines)" if not grep else f'(no log lines match "{grep}")'


def _choose(pod: Pod, name: str) -> Container:
    if not name:
        return pod.containers[0]
    for container in pod.containers:
        if container.name == name:
            return container
    names = ", ".join(container.name for container in pod.containers)
    raise NotThereError(f'container "{name}" is not valid for pod "{pod.name}". Its containers: {names}')


def _matches(pattern: str, line: str) -> bool:
    try:
        return re.search(pattern, line, re.IGNORECASE) is not None
    except re.error:
        return pattern in line
