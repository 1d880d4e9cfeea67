"""Kubernetes events."""

from collections.abc import Iterator

from tarsy.demo.kubectl import age, stamp, table
from tarsy.demo.lookup import check_namespace
from tarsy.demo.world import Event, World

_MOST = 40


def events_list(world: World, namespace: str, kind: str, about: str) -> str:
    check_namespace(world, namespace)
    found = [
        event
        for event in sorted(world.events, key=lambda event: world.at(event.last))
        if namespace in ("", event.namespace) and kind.lower() in ("", event.type.lower()) and about.lower() in event.object.lower()
    ]
    if not found:
        return "No events found. The API server keeps events for one hour."
    headings = ("LAST SEEN", "COUNT", "TYPE", "NAMESPACE", "REASON", "OBJECT", "SOURCE", "MESSAGE")
    return table(headings, (_row(world, event) for event in found[-_MOST:]))


def _row(world: World, event: Event) -> tuple[str, ...]:
    return (
        stamp(world.at(event.last)),
        str(event.count),
        event.type,
        event.namespace or "-",
        event.reason,
        event.object,
        event.source,
        event.message,
    )


def events_of(world: World, namespace: str, about: str) -> Iterator[str]:
    """The events of one object, for the foot of its description."""
    found = [event for event in world.events if event.namespace == namespace and event.object == about]
    if not found:
        yield "  <none>"
    for event in sorted(found, key=lambda event: world.at(event.last)):
        last = age(world.at(event.last), world.now)
        over = f" (x{event.count} over {age(world.at(event.first or event.last), world.now)})" if event.count > 1 else ""
        yield f"  {event.type}  {event.reason}  {last} ago{over}  {event.source}  {event.message}"
