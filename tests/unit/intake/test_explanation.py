"""What `tarsy routes test` reports about a body: which route takes an alert, which do not, and why."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tarsy.domain.incident import Mute
from tarsy.domain.route import RouteAction, parse_matchers
from tarsy.intake.adapters.registry import parse_delivery
from tarsy.intake.delivery import parse_request
from tarsy.intake.explanation import explain
from tarsy.intake.policy import Policy, Route, SameAs

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SHOP = Route(
    name="shop", match=parse_matchers('namespace = "shop", severity =~ "critical|high"'), group_by=("namespace",), alert_type="shop"
)
NOISE = Route(name="noise", match=parse_matchers('alertname = "Noise"'), action=RouteAction.DROP)
BODY = '{"status": "%s", "groupKey": "g", "commonLabels": {}, "alerts": [{"labels": {"alertname": "%s", "namespace": "shop", "severity": "%s"}}]}'


def _reported(name: str = "DiskFull", severity: str = "critical", status: str = "firing", **more: Any) -> str:
    policy = Policy(routes=(NOISE, SHOP), default_alert_type="kubernetes", **more)
    return "\n".join(explain(parse_delivery(parse_request(BODY % (status, name, severity))), policy, NOW))


def test_the_route_that_fits_and_those_that_do_not_are_named_with_the_reason() -> None:
    reported = _reported()
    assert 'not route noise: alertname = "Noise" does not match, alertname is "DiskFull"' in reported
    assert 'route shop: namespace = "shop", severity =~ "critical|high" matches' in reported
    assert 'its incident is that of namespace = "shop"' in reported
    assert "investigated as shop, after 15 s, with priority 4" in reported


def test_the_built_in_routes_are_explained_too() -> None:
    reported = _reported(severity="low")
    assert 'not route shop: severity =~ "critical|high" does not match, severity is "info" and "low"' in reported
    assert "route built-in: everything else: it matches everything" in reported
    assert "investigated as kubernetes" in reported
    assert "because of this route" in _reported("Watchdog", "none")


def test_what_is_dropped_muted_or_over_is_explained() -> None:
    assert "it is dropped" in _reported("Noise")
    mute = Mute(starts=NOW, ends=NOW + timedelta(hours=1), reason="moving house")
    assert "because of a mute: moving house" in _reported(mutes=(mute,))
    assert "when no alert of its incident fires any more, cancel_pending" in _reported(status="resolved")


def test_a_body_without_alerts_is_explained() -> None:
    reported = "\n".join(
        explain(parse_delivery(parse_request('{"kind": "change", "title": "cart 9"}')), Policy(default_alert_type="k"), NOW)
    )
    assert "Change: cart 9" in reported


def test_an_incident_that_another_route_shares_is_named_and_so_is_a_label_that_is_missing_for_it() -> None:
    def reported(own: str) -> str:
        pages = Route(name="pages", same_as=SameAs("shop", {"namespace": own}))
        policy = Policy(routes=(pages, SHOP), default_alert_type="kubernetes")
        return "\n".join(explain(parse_delivery(parse_request(BODY % ("firing", "DiskFull", "critical"))), policy, NOW))

    assert 'its incident is that of route shop with namespace = "DiskFull", whichever sender reports first' in reported("alertname")
    assert "not the same as an incident of route shop: without service" in reported("service")
