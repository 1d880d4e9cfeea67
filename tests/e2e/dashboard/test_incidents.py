"""Incidents in a browser: the list, an incident with its investigations, and its actions."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from support.browser import (
    DESKTOP,
    PHONE,
    TABLET,
    ZOOMED,
    assert_accessible,
    assert_fits,
    assert_verdict_first,
    close_pages,
    follow,
    loaded_page,
    open_page,
    picture,
    resize,
)
from support.dashboard_sessions import wait_for_end
from support.recorded_server import AGENT, SUMMARY, recorded_server, says
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]

ROUTES = [{"name": "test", "group_by": ["alertname"], "group_wait": "0s"}]
ANALYSIS = """\
## Do now

```
kubectl -n shop rollout undo deployment/cart
```

Risk: low. Verify: free space. Undo: roll out again.

## Root cause

The logs of `cart` fill the disk.

```verdict
outcome: fault
object: Node/node-1
mechanism: The logs of the cart fill the disk.
confidence_object: high
confidence_mechanism: high
```
"""


def _alert(name: str, severity: str, *, status: str = "firing", **labels: str) -> dict[str, Any]:
    begun = datetime.now(UTC) - timedelta(minutes=20)
    return {
        "status": status,
        "labels": {"alertname": name, "severity": severity, **labels},
        "annotations": {"summary": f"{name} on {labels.get('node', 'a node')}"},
        "startsAt": begun.isoformat(),
        "endsAt": datetime.now(UTC).isoformat() if status == "resolved" else "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus.example/graph",
    }


def _send(http: httpx.Client, *alerts: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = {
        "version": "4",
        "groupKey": "{}",
        "status": "firing",
        "receiver": "tarsy",
        "groupLabels": {},
        "commonLabels": {},
        "alerts": alerts,
    }
    return http.post("/api/v1/webhook", json=body).raise_for_status().json()


@pytest.fixture(scope="module")
def monitored(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has received alerts and a change; one incident has been investigated, one is resolved."""
    calls = (
        says(AGENT, 0, {"text": ANALYSIS}),
        # Asked for citations, the model gives none.
        says(AGENT, 1, {"text": ANALYSIS}),
        says(SUMMARY, 0, {"text": "The logs of cart fill the disk of node-1."}),
    )
    with recorded_server(tmp_path_factory.mktemp("monitored"), *calls, speed="0", routes=ROUTES) as running:
        with running.client() as http:
            change = {"kind": "change", "title": "cart 2.1 deployed", "source": "pipeline", "labels": {"app": "cart"}}
            http.post("/api/v1/webhook", json=change).raise_for_status()
            disk = _send(http, *(_alert("DiskFull", "critical", node=f"node-{number}", cluster="eu1") for number in (1, 2, 3)))
            wait_for_end(http, disk["session_id"])
            slow = _send(http, _alert("SlowQueries", "warning", cluster="us1"))
            wait_for_end(http, slow["session_id"])
            _send(http, _alert("SlowQueries", "warning", status="resolved", cluster="us1"))
        yield running
        close_pages(browser, running.url)


def _rows(page: Page) -> list[str]:
    return page.locator("[data-row-link]").all_inner_texts()


def test_the_front_page_lists_incidents_and_its_filters_are_in_the_address(browser: Browser, monitored: Served) -> None:
    with loaded_page(browser, monitored.url) as page:
        follow(page, "/")
        expect(page.get_by_role("region", name="Incidents")).to_contain_text("The logs of cart fill the disk of node-1.")
        page.get_by_text("3 of 3 firing").wait_for()
        expect(page.get_by_role("region", name="Incidents")).to_contain_text("Suspected faultpartiallow confidence")
        page.get_by_text("Node/node-1").wait_for()
        assert len(_rows(page)) == 1
        page.get_by_role("combobox", name="Verdict").click()
        page.get_by_role("option", name="No fault").click()
        page.get_by_text("No incident matches").wait_for()
        assert page.url.endswith("/?verdict=no_fault")
        page.get_by_role("combobox", name="Verdict").click()
        page.get_by_role("option", name="Fault", exact=True).click()
        expect(page.locator("[data-row-link]")).to_have_count(1)
        page.get_by_role("button", name="Clear").click()
        page.get_by_role("button", name="All 2").click()
        expect(page.locator("[data-row-link]")).to_have_count(2)
        assert page.url.endswith("/?state=all")
        page.get_by_label("Label, such as cluster=eu1").fill("cluster=us1")
        expect(page.locator("[data-row-link]")).to_have_count(1)
        page.reload()
        expect(page.locator("[data-row-link]")).to_have_count(1)
        page.get_by_text("SlowQueries on a node").wait_for()
        # Columns are in the address too, a view is saved under a name, and several are acted on together.
        page.get_by_role("button", name="Columns").click()
        page.get_by_role("menuitemcheckbox", name="Route").click()
        page.keyboard.press("Escape")
        assert "show=verdict%2Calerts%2Croute%2Cstate%2Cage" in page.url
        page.get_by_role("button", name="Views").click()
        page.get_by_label("Name this view").fill("US")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="US", exact=True).wait_for()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Clear").click()
        page.get_by_role("button", name="All 2").click()
        expect(page.locator("[data-row-link]")).to_have_text([re.compile("^DiskFull"), re.compile("^SlowQueries")])
        page.get_by_label("Select all listed incidents").check()
        page.get_by_role("button", name="Resolve 1").click()
        page.get_by_role("dialog").get_by_role("button", name="Resolve 1 incident").wait_for()
        assert_accessible(page, "incidents-selected")
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        page.get_by_role("link", name="Sessions", exact=True).click()
        page.get_by_role("region", name="Ended sessions").wait_for()


def test_a_new_alert_is_seen_without_a_reload(browser: Browser, monitored: Served) -> None:
    with loaded_page(browser, monitored.url) as page, monitored.client() as http:
        follow(page, "/incidents")
        expect(page.locator("[data-row-link]")).to_have_count(1)
        _send(http, _alert("CertificateExpires", "high"))
        page.get_by_text("CertificateExpires on a node").wait_for()
        _send(http, _alert("CertificateExpires", "high", status="resolved"))
        expect(page.locator("[data-row-link]")).to_have_count(1)


def test_an_incident_shows_its_history_and_its_investigation_links_back(browser: Browser, monitored: Served) -> None:
    with loaded_page(browser, monitored.url) as page:
        follow(page, "/")
        page.locator("[data-row-link]").first.click()
        expect(page.get_by_test_id("incident-state")).to_have_text("Open")
        for part in (
            "3 of 3 alerts firing",
            "cart 2.1 deployed",
            "node=node-2",
            "Cost",
            "$0.00",
            "The logs of cart fill the disk of node-1.",
        ):
            page.get_by_text(part).locator("visible=true").first.wait_for()
        page.get_by_role("img", name="3 alerts received, 1 change, 1 session.").wait_for()
        expect(page.get_by_role("link", name="Source").first).to_have_attribute("href", "http://prometheus.example/graph")
        page.get_by_role("link", name="ago by").click()
        page.get_by_text("Root cause").first.wait_for()
        page.get_by_role("link", name="back to the incident").click()
        expect(page.get_by_test_id("incident-state")).to_have_text("Open")


def test_an_incident_without_investigations_and_without_another_one_says_so(browser: Browser, monitored: Served) -> None:
    def alone(route: Route) -> None:
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), "sessions": []})

    with open_page(browser, monitored.url) as page:
        page.goto("/incidents")
        page.route(re.compile("/api/v1/incidents/[^/]+$"), alone)
        page.locator("[data-row-link]").first.click()
        page.get_by_text("Not investigated yet").wait_for()
        assert_accessible(page, "incident-not-investigated", page.get_by_role("main"))
        page.get_by_role("button", name="Merge").click()
        page.get_by_label("Search open incidents").fill("no such incident")
        page.get_by_text("No other open incident matches").wait_for()
        assert_accessible(page, "merge-none")


def test_an_incident_is_muted_investigated_again_split_and_merged(browser: Browser, monitored: Served) -> None:
    with loaded_page(browser, monitored.url) as page:
        follow(page, "/incidents")
        page.locator("[data-row-link]").first.click()
        page.get_by_role("button", name="Investigate again").click()
        expect(page.get_by_role("link", name="ago by").or_(page.get_by_role("link", name="just now by"))).to_have_count(2)
        triage = page.get_by_role("region", name="Triage")
        triage.get_by_role("button", name="Acknowledge").click()
        triage.get_by_text("Acknowledged by").wait_for()
        triage.get_by_role("button", name="Assign to me").click()
        page.get_by_role("definition").filter(has_text="api-client").first.wait_for()
        triage.get_by_label("Comment").fill("The disks are ordered.")
        triage.get_by_role("button", name="Add").click()
        expect(triage.get_by_role("list", name="Comments")).to_contain_text("The disks are ordered.")
        page.get_by_role("button", name="Mute").click()
        page.get_by_label("Reason").fill("new disks come tomorrow")
        assert_accessible(page, "mute")
        page.get_by_role("dialog").get_by_role("button", name="Mute").click()
        page.get_by_text("new disks come tomorrow").wait_for()
        page.get_by_role("button", name="Resolve").click()
        page.get_by_role("dialog").get_by_role("button", name="Resolve").wait_for()
        assert_accessible(page, "resolve")
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        whole = page.url
        page.get_by_label("Choose DiskFull on node-3").check()
        page.get_by_role("button", name="Split off 1 alert").click()
        confirm = page.get_by_role("dialog").get_by_role("button", name="Split off")
        confirm.wait_for()
        assert_accessible(page, "split")
        confirm.click()
        page.get_by_text("1 of 1 alert firing").wait_for()
        assert page.url != whole
        page.go_back()
        page.get_by_text("2 of 2 alerts firing").wait_for()
        page.get_by_role("button", name="Merge").click()
        other = page.get_by_role("dialog").get_by_role("button", name="DiskFull on node-3")
        other.wait_for()
        assert_accessible(page, "merge")
        other.click()
        merge = page.get_by_role("dialog").get_by_role("button", name="Merge", exact=True)
        merge.wait_for()
        assert_accessible(page, "merge-confirm")
        merge.click()
        page.get_by_text("3 of 3 alerts firing").wait_for()
        follow(page, "/incidents")
        page.get_by_text("one incident", exact=True).wait_for()
        assert_accessible(page, "mutes", page.get_by_role("main"))
        page.get_by_role("button", name="End now").click()
        page.get_by_text("Nothing is muted").wait_for()


def test_incident_pages_are_accessible_in_both_themes_and_fit_every_screen(browser: Browser, monitored: Served) -> None:
    def assert_good(name: str) -> None:
        resize(page, DESKTOP)
        assert_accessible(page, name)
        for label, size in (("tablet", TABLET), ("zoomed", ZOOMED), ("phone", PHONE)):
            resize(page, size)
            picture(page, f"{name}-{label}")
            assert_fits(page)

    with loaded_page(browser, monitored.url) as page:
        follow(page, "/?state=all")
        page.locator("[data-row-link]").first.wait_for()
        page.get_by_role("button", name="Mute alerts").click()
        page.get_by_label("Matchers, one per line").fill('cluster = "eu1"')
        assert_accessible(page, "mute-matchers")
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert_good("incidents")
        page.get_by_text("DiskFull on").first.click()
        page.get_by_text("Over time").wait_for()
        expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        assert_good("incident")
        assert_verdict_first(page)
        resize(page, DESKTOP)
        assert_verdict_first(page)
