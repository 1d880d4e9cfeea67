"""Senders that the operator describes by JMESPath."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from tarsy.config.schema.routes import check_expression
from tarsy.domain.alert import AlertStatus, ChangeOutcome, Severity
from tarsy.intake.adapters.generic import GenericMapping
from tarsy.intake.adapters.registry import parse_delivery
from tarsy.intake.delivery import parse_request

MAPPING = GenericMapping(
    each="checks",
    parts={
        "title": "join(': ', [name, output])",
        "fingerprint": "id",
        "severity": "level",
        "status": "state",
        "labels": "{host: host, site: @.meta.site}",
        "starts_at": "since",
        "ends_at": "until",
        "link": "url",
    },
)
BODY: Any = {
    "checks": [
        {
            "id": 7,
            "name": "disk",
            "output": "97 % used",
            "level": "crit",
            "state": "down",
            "host": "b1",
            "meta": {"site": "eu"},
            "since": 1794738151,
        },
        {"id": 8, "name": "load", "output": "low", "state": "OK", "until": "2026-11-15T11:00:00Z", "url": "https://checks.example/8"},
    ]
}


def _read(body: Any, mapping: GenericMapping = MAPPING) -> Any:
    return parse_delivery(parse_request(json.dumps(body)), "checks", {"checks": mapping})


def test_a_described_sender_is_read_by_its_description() -> None:
    disk, load = _read(BODY).alerts
    assert (disk.source, disk.fingerprint, disk.title, disk.severity) == ("checks", "7", "disk: 97 % used", Severity.CRITICAL)
    assert disk.labels == {"host": "b1", "site": "eu"}
    assert (disk.status, load.status) == (AlertStatus.FIRING, AlertStatus.RESOLVED)
    assert load.ends_at.isoformat() == "2026-11-15T11:00:00+00:00"
    assert load.links.source == "https://checks.example/8"


def test_a_body_that_the_mapping_does_not_fit_is_a_plain_alert() -> None:
    [alert] = _read({"title": "Something else"}).alerts
    assert (alert.source, alert.title) == ("checks", "Something else")


def test_without_each_the_whole_body_is_one_alert() -> None:
    [alert] = _read({"what": "Backup failed"}, GenericMapping(parts={"title": "what"})).alerts
    assert alert.title == "Backup failed"
    assert alert.body == '{"what": "Backup failed"}'


def test_a_described_sender_can_report_changes() -> None:
    mapping = GenericMapping(kind="change", parts={"title": "join(' ', ['Deployed', app])", "outcome": "result", "at": "time"})
    [change] = _read({"app": "cart", "result": "success", "time": "2026-11-15T10:00:00Z"}, mapping).changes
    assert (change.title, change.outcome, change.source) == ("Deployed cart", ChangeOutcome.SUCCEEDED, "checks")


@pytest.mark.parametrize(
    "since", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-12:00"]
)
def test_the_first_and_the_last_time_there_is_are_no_times(since: str) -> None:
    [alert] = _read({"title": "x", "since": since}, GenericMapping(parts={"title": "title", "starts_at": "since"})).alerts
    assert alert.starts_at is None


def test_an_item_in_which_nothing_is_found_is_not_lost() -> None:
    assert len(_read({"checks": [BODY["checks"][0], {}, "x"]}).alerts) == 3


@pytest.mark.parametrize("expression", ["a[", "join(", "foo(bar)", ""])
def test_an_expression_that_is_none_is_refused_with_a_reason(expression: str) -> None:
    with pytest.raises(PydanticCustomError, match=r"this is not JMESPath: \w"):
        check_expression(expression)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["checks", "id", "name", "state", "meta"]), inner),
    )
)
def test_no_body_fails_a_mapping_or_is_lost(body: Any) -> None:
    assert _read(body).alerts
