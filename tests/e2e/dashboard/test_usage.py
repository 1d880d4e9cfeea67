"""The usage page: cost, tokens and calls by model, tool and session; charts over days and weeks."""

import csv
import io
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PHONE, TABLET, assert_accessible, assert_fits, follow, loaded_page, open_page, resize
from support.tarsy_process import Served

pytestmark = [pytest.mark.xdist_group("dashboard"), pytest.mark.timeout(180)]
# The rows of a table before it is expanded.
SHOWN = 8


def test_the_usage_page_shows_what_the_server_counted(browser: Browser, server: Served, finished: dict[str, str]) -> None:
    with loaded_page(browser, server.url) as page:
        with page.expect_response("**/api/v1/usage?period=month") as month:
            follow(page, "/usage")
        _shows_all(page, month.value.json())
        with page.expect_response("**/api/v1/usage?period=day") as today:
            page.get_by_role("button", name="Today").click()
        counted = today.value.json()
        _shows_all(page, counted)
        # If midnight passes during the tests, earlier sessions are not in today's figures.
        with server.client() as http:
            begun = [http.get(f"/api/v1/sessions/{one}").raise_for_status().json() for one in finished.values()]
        of_today = {one["alert_type"] for one in begun if one["started_at"][:10] == counted["first_day"]}
        assert of_today <= {one["name"] for one in counted["by_alert_type"]}


# Compressed bytes that the charts may add to a page.
CHART_LIMIT = 60_000
# The files of the charts, with their compressed sizes.
CHART_FILES = """() => Object.fromEntries(performance.getEntriesByType("resource")
    .filter(one => /[/]chart/.test(one.name)).map(one => [one.name.split("/").pop(), one.encodedBodySize]))"""


def test_charts_weigh_little_and_their_numbers_are_a_key_or_a_download_away(
    browser: Browser, server: Served, finished: dict[str, str]
) -> None:
    with open_page(browser, server.url) as page:
        with page.expect_response("**/api/v1/usage/trends?period=month") as answer:
            page.goto("/usage")
        by_model = page.get_by_role("figure", name="Tokens per day, by model")
        expect(page.locator("figure canvas")).to_have_count(4)
        files: dict[str, int] = page.evaluate(CHART_FILES)
        assert 10_000 < sum(files.values()) < CHART_LIMIT, files
        show = by_model.get_by_role("button", name="Show table")
        show.focus()
        page.keyboard.press("Enter")
        last = by_model.get_by_role("row").last
        expect(last).to_contain_text(answer.value.json()["last_day"])
        page.get_by_role("img", name="Verdicts, by week: 3 series").wait_for()
        assert_accessible(page, "usage-table", by_model)
        for size in (TABLET, PHONE):
            resize(page, size)
            assert_fits(page)

        with page.expect_download() as downloading:
            page.get_by_role("link", name="CSV").click()
        rows = list(csv.DictReader(io.StringIO(downloading.value.path().read_text())))
        assert {"sample-crashloop", "sample-dns-outage"} <= {value for row in rows for value in row.values()}


def _shows_all(page: Page, counted: dict[str, Any]) -> None:
    for title, group in (("Models", "by_model"), ("Alert types", "by_alert_type"), ("Chains", "by_chain"), ("Agents", "by_agent")):
        _shows(page, title, [one["name"] for one in counted[group]])
    _shows(page, "Tools", [f"{one['server']}.{one['tool']}" for one in counted["by_tool"]])


def _shows(page: Page, title: str, names: list[str]) -> None:
    assert names, f"nothing was counted for {title}"
    cells = page.get_by_role("table", name=title).locator("tbody td:first-child")
    # A long table shows its first rows only.
    expect(cells).to_have_text(names[:SHOWN])
