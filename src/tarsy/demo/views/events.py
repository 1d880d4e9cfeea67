"""Kubernetes events."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import age, cells, table, timestamp
from tarsy.demo.lookup import Minutes, Namespace, check_namespace
from tarsy.demo.world import ClusterData, Event

_MOST = 40


def events_list(
    world: ClusterData,
    namespace: Namespace = "",
    type: Annotated[str, Field(description="Normal or Warning; empty means both", pattern="^(|Normal|Warning)$")] = "",  # noqa: A002 - the name that kubectl users expect
    object: Annotated[str, Field(description="Only events whose object contains this, e.g. Pod/web-1 or Node/")] = "",  # noqa: A002 - same
) -> str:
    """List events, oldest first (kubectl get events)."""
    check_namespace(world, namespace)
    found = [
        event
        for event in sorted(world.events, key=lambda event: world.at(event.last))
        if namespace in ("", event.namespace) and type.lower() in ("", event.type.lower()) and object.lower() in event.object.lower()
    ]
    if not found:
        return "No events found. The API server keeps events for one hour."
    headings = ("LAST SEEN", "COUNT", "TYPE", "NAMESPACE", "REASON", "OBJECT", "SOURCE", "MESSAGE")
    return table(headings, (_row(world, event) for event in found[-_MOST:]))


def _row(world: ClusterData, event: Event) -> tuple[str, ...]:
    return (
        timestamp(world.at(event.last)),
        *cells(event, "count", "type"),
        event.namespace or "-",
        *cells(event, "reason", "object", "source", "message"),
    )


def events_history(
    world: ClusterData,
    namespace: Namespace = "",
    object: Annotated[str, Field(description="Only events whose object contains this")] = "",  # noqa: A002 - as above
    minutes: Minutes = 1440,
) -> str:
    """Events of a longer time from the event store: when each began, when it was last seen, how often."""
    check_namespace(world, namespace)
    since = world.now - timedelta(minutes=minutes)
    found = [
        event
        for event in (*world.past_events, *world.events)
        if namespace in ("", event.namespace) and object.lower() in event.object.lower() and world.at(event.last) >= since
    ]
    if not found:
        return f"No events in the last {minutes} minutes."
    ordered = sorted(found, key=lambda event: (_began(world, event), event.object))
    headings = ("FIRST", "LAST", "COUNT", "TYPE", "NAMESPACE", "REASON", "OBJECT", "SOURCE", "MESSAGE")
    return table(headings, ((timestamp(_began(world, event)), *_row(world, event)) for event in ordered[-_MOST:]))


def _began(world: ClusterData, event: Event) -> datetime:
    return world.at(event.first or event.last)


def events_of(world: ClusterData, namespace: str, about: str) -> Iterator[str]:
    """The events of one object, for the foot of its description."""
    found = [event for event in world.events if event.namespace == namespace and event.object == about]
    if not found:
        yield "  <none>"
    for event in sorted(found, key=lambda event: world.at(event.last)):
        last = age(world.at(event.last), world.now)
        over = f" (x{event.count} over {age(_began(world, event), world.now)})" if event.count > 1 else ""
        yield f"  {event.type}  {event.reason}  {last} ago{over}  {event.source}  {event.message}"
