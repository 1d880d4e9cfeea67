"""An explanation of what would happen to the alerts of a request, for the operator who writes the routes."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from tarsy.domain.alert import Alert, AlertStatus
from tarsy.domain.incident import muted_by
from tarsy.domain.route import EACH, RouteAction, label_values
from tarsy.intake.delivery import Delivery
from tarsy.intake.investigations import labelled_servers
from tarsy.intake.policy import BUILT_IN_ROUTES, Policy, Route, route_for


def explain(delivery: Delivery, policy: Policy, now: datetime) -> Iterator[str]:
    """Yield lines about every alert and change of a delivery."""
    yield f"Sender: {delivery.source}"
    if delivery.remark:
        yield f"Nothing to do: {delivery.remark}"
    if delivery.truncated:
        yield f"{delivery.truncated} further alerts were left out of the body."
    for change in delivery.changes:
        yield f"\nChange: {change.title}\n  {change.outcome}; it opens no incident; incidents around its time show it"
    for alert in delivery.alerts:
        yield ""
        yield from _alert(alert, policy, now)


def _alert(alert: Alert, policy: Policy, now: datetime) -> Iterator[str]:
    yield f"Alert: {alert.title}"
    yield f"  {alert.status}, {alert.severity}; " + (", ".join(f"{name}={value}" for name, value in alert.labels.items()) or "no labels")
    routes, route = (*policy.routes, *BUILT_IN_ROUTES), route_for(alert, policy.routes)
    for passed in routes[: routes.index(route)]:
        matcher = next(matcher for matcher in passed.match if not matcher.accepts(label_values(alert, matcher.name)))
        values = " and ".join(f'"{value}"' for value in label_values(alert, matcher.name)) or "not there"
        yield f"  not route {passed.name}: {matcher} does not match, {matcher.name} is {values}"
    fit = ", ".join(str(matcher) for matcher in route.match) + " matches" if route.match else "it matches everything"
    yield f"  route {route.name}: {fit}"
    yield from (f"    {line}" for line in _consequences(alert, route, policy, now))


def _consequences(alert: Alert, route: Route, policy: Policy, now: datetime) -> Iterator[str]:
    if route.action is RouteAction.DROP:
        yield "it is dropped: only counted"
        return
    key = route.incident_key(alert)
    mute = muted_by(alert, policy.mutes, now, {key})
    if route.action is RouteAction.RECORD or mute:
        yield f"it is recorded without an incident, because of {'a mute: ' + mute.reason if mute else 'this route'}"
        return
    shared = route.same_as.group(alert) if route.same_as else None
    if route.same_as and shared is None:
        absent = ", ".join(name for name in route.same_as.labels.values() if not label_values(alert, name))
        yield f"not the same as an incident of route {route.same_as.route}: without {absent}"
    if route.same_as and shared:
        labels = ", ".join(f'{name} = "{value}"' for name, value in shared.items())
        grouping = f"route {route.same_as.route} with {labels}, whichever sender reports first"
    elif route.group_by is None:
        grouping = "the sender's group" if alert.group_key else "this alert alone, which its sender did not group"
    elif EACH in route.group_by:
        grouping = "this alert alone"
    else:
        grouping = ", ".join(f'{name} = "{next(iter(label_values(alert, name)), "")}"' for name in route.group_by)
    yield f"its incident is that of {grouping} (key {key})"
    if alert.status is AlertStatus.RESOLVED:
        yield f"it is resolved: when no alert of its incident fires any more, {route.on_resolved}"
        return
    yield (
        f"a new incident is investigated as {route.alert_type or policy.default_alert_type}, after {_time(route.wait_for(alert))}, "
        f"with priority {route.priority_of(alert.severity)}"
    )
    chosen, absent = labelled_servers(alert, route)
    for server, variant in chosen.items():
        yield f"its agents get {variant} for the tool server {server}"
    yield from absent.values()
    yield f"an open incident counts it, and is investigated again {_time(route.repeat_interval)} after its last investigation"
    yield f"an incident that was resolved less than {_time(route.reopen_after)} ago is reopened"


def _time(span: timedelta) -> str:
    return f"{span.total_seconds():g} s" if span < timedelta(minutes=2) else f"{span.total_seconds() / 60:g} min"
