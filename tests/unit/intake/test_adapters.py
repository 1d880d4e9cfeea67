"""What each sender says, in our words; by which shape it is known; and that nothing it could send is lost."""

import json
import string
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import unquote, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.mutated_bodies import VALUES, mutated
from support.sender_examples import Example, as_read, load_examples
from tarsy.domain.alert import AlertStatus, Severity
from tarsy.domain.route import parse_matchers
from tarsy.intake.adapters.registry import ADAPTERS, matching_adapter, parse_delivery
from tarsy.intake.decision import is_older, updated
from tarsy.intake.delivery import Delivery, parse_request
from tarsy.intake.fields import MAX_ALERTS, MAX_FIELDS, MAX_LABEL, MAX_LABELS, MAX_TITLE, TooManyValuesError

EXAMPLES = load_examples()
EVERY = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: cast("Example", example).label)
SENDERS = [
    "alertmanager",
    "grafana",
    "pagerduty",
    "opsgenie",
    "datadog",
    "newrelic",
    "cloudwatch",
    "azure-monitor",
    "google-monitoring",
    "sentry",
    "zabbix",
    "elastic",
    "splunk",
    "dynatrace",
    "cloudevents",
]


def test_every_sender_of_the_manual_is_known_and_has_examples_of_firing_resolved_and_odd_bodies() -> None:
    assert set(ADAPTERS) == {*SENDERS, "github", "argocd", "change"}
    for sender in SENDERS:
        statuses = [alert["status"] for example in EXAMPLES if example.sender == sender for alert in example.becomes.get("alerts", [])]
        # Splunk never says that the trouble is over.
        assert {"firing", "resolved"} - ({"resolved"} if sender == "splunk" else set()) <= set(statuses)
        assert sum(example.sender == sender for example in EXAMPLES) >= 3


@EVERY
def test_a_body_becomes_what_was_read_and_found_right(example: Example) -> None:
    assert as_read(parse_delivery(example.received)) == example.becomes


@EVERY
def test_a_body_is_recognised_by_its_own_sender_and_by_no_other(example: Example) -> None:
    assert [source for source, adapter in ADAPTERS.items() if adapter.matches(example.received)] == [example.sender]


@EVERY
def test_a_body_whose_sender_is_named_means_the_same(example: Example) -> None:
    assert parse_delivery(example.received, example.sender) == parse_delivery(example.received)


@EVERY
def test_a_title_reads_like_a_problem(example: Example) -> None:
    delivery = parse_delivery(example.received)
    for title in [answered.title for answered in (*delivery.alerts, *delivery.changes)]:
        assert title[0] not in "{[\"'"
        assert len(title.split()) > 1 or "-" in title or title.isalnum()


def _of(sender: str, name: str) -> Example:
    return next(example for example in EXAMPLES if (example.sender, example.name) == (sender, name))


@pytest.mark.parametrize("sender", [sender for sender in SENDERS if sender != "splunk"])
def test_what_ends_is_known_by_the_name_of_what_began(sender: str) -> None:
    began, ended = (parse_delivery(_of(sender, name).received).alerts[0] for name in ("firing", "resolved"))
    assert began.status is AlertStatus.FIRING
    assert ended.status is AlertStatus.RESOLVED
    assert (began.fingerprint, began.title) == (ended.fingerprint, ended.title)
    assert began.starts_at
    assert ended.ends_at
    assert began.starts_at < ended.ends_at


def test_a_repeat_of_splunk_is_the_same_alert_although_its_search_has_another_id() -> None:
    first, again = (parse_delivery(_of("splunk", name).received).alerts[0] for name in ("firing", "again_with_another_sid"))
    assert first.fingerprint == again.fingerprint


def test_an_issue_of_sentry_that_is_opened_again_without_a_new_event_starts_then() -> None:
    ended = _of("sentry", "resolved")
    again = {"action": "unresolved", "data": {"issue": {**ended.body["data"]["issue"], "status": "unresolved", "substatus": "ongoing"}}}
    headers = {**ended.received.headers, "sentry-hook-timestamp": "1794740260"}
    [before], [after] = (
        parse_delivery(one).alerts for one in (ended.received, parse_request(json.dumps({**ended.body, **again}), headers))
    )
    assert before.ends_at
    assert after.starts_at
    assert (after.status, after.starts_at - before.ends_at) == (AlertStatus.FIRING, timedelta(minutes=1))


def test_an_incident_of_pagerduty_that_was_reopened_still_takes_a_raised_priority_and_no_late_event_of_before() -> None:
    now, known = datetime(2026, 11, 15, 12, tzinfo=UTC), None
    raised, late = (json.loads(json.dumps(_of("pagerduty", "reopened").body)) for _ in range(2))
    raised["event"] |= {"event_type": "incident.priority_updated", "occurred_at": "2026-11-15T11:30:00Z"}
    late["event"] |= {"event_type": "incident.acknowledged", "occurred_at": "2026-11-15T10:20:00Z"}
    bodies = [*(_of("pagerduty", name).body for name in ("firing", "resolved", "reopened")), late, raised]
    alerts = [parse_delivery(parse_request(json.dumps(body))).alerts[0] for body in bodies]
    for alert in alerts[:3]:
        known = updated(alert, known, now)
    assert known
    assert [is_older(alert, known, now) for alert in alerts[3:]] == [True, False]
    # Its last change is not its start.
    assert alerts[4].starts_at == alerts[0].starts_at


@pytest.mark.parametrize("encoded", ["payment%20%22api%22%20%E2%82%AC", '"payment \\"api\\" %E2%82%AC"'])
def test_an_event_in_headers_is_the_same_alert_as_in_a_body(encoded: str) -> None:
    event = {"specversion": "1.0", "id": "7", "source": "/shop", "type": "down", "subject": 'payment "api" €'}
    headers = {f"ce-{name}": value for name, value in event.items()} | {"ce-subject": encoded}
    [structured] = parse_delivery(parse_request(json.dumps({**event, "data": {}}))).alerts
    [binary] = parse_delivery(parse_request("{}", headers)).alerts
    assert (binary.fingerprint, binary.title, binary.labels) == (structured.fingerprint, structured.title, structured.labels)


def test_the_type_of_an_event_means_the_end_only_if_its_last_word_does() -> None:
    def status(kind: str) -> AlertStatus:
        event = {"specversion": "1.0", "id": "1", "source": "acme", "subject": "web-1", "type": kind}
        return parse_delivery(parse_request(json.dumps(event))).alerts[0].status

    over = ["acme.issue.resolved", "acme.alertresolved", "AlertResolved", "acme.state.ok", "acme.stateOK"]
    assert {status(kind) for kind in over} == {AlertStatus.RESOLVED}
    assert {status(kind) for kind in ("acme.issue.unresolved", "acme.webhook", "acme.disk.full")} == {AlertStatus.FIRING}


@pytest.mark.parametrize(
    ("body", "is_over"),
    [
        ({"status": "NOT OK"}, False),
        ({"status": "not_healthy"}, False),
        ({"status": "OK"}, True),
        ({"event_action": "resolve", "dedup_key": "k", "payload": {"summary": "Disk is full", "severity": "critical"}}, True),
    ],
)
def test_json_of_an_unknown_sender_is_over_only_if_it_says_so(body: dict[str, Any], is_over: bool) -> None:  # noqa: FBT001 - a parameter
    [alert] = parse_delivery(parse_request(json.dumps({"title": "Disk is full", **body}))).alerts
    assert (alert.status is AlertStatus.RESOLVED) is is_over


def test_a_datadog_monitor_reports_each_host_apart_even_with_the_default_payload() -> None:
    body = _of("datadog", "default_payload").body
    other = {**body, "title": body["title"].replace("web-1", "web-2")}
    one, two = (parse_delivery(parse_request(json.dumps(each))).alerts[0] for each in (body, other))
    assert one.fingerprint != two.fingerprint
    assert (one.title, two.title) == ("Disk is almost full (web-1)", "Disk is almost full (web-2)")


def test_alerts_that_alertmanager_left_out_are_reported() -> None:
    assert parse_delivery(_of("alertmanager", "truncated_and_bare").received).truncated == 38


def test_the_page_that_silences_an_alert_is_opened_with_its_labels_whatever_they_contain() -> None:
    labels = {"alertname": "DiskFull", "path": 'C:\\new "disk"'}
    body = {**_of("alertmanager", "firing").body, "alerts": [{"labels": labels}]}
    [alert] = parse_delivery(parse_request(json.dumps(body))).alerts
    written = unquote((alert.links.silence or "").partition("filter=")[2])
    assert {matcher.name: matcher.value for matcher in parse_matchers(written)} == labels


def test_a_sender_that_puts_everything_into_one_group_has_not_grouped() -> None:
    body = _of("alertmanager", "truncated_and_bare").body
    other = {**body["alerts"][0], "labels": {"alertname": "DiskFull"}}
    keys = [alert.group_key for alert in parse_delivery(parse_request(json.dumps({**body, "alerts": [body["alerts"][0], other]}))).alerts]
    assert len(set(keys)) == 2


def test_a_repeated_delivery_has_the_same_id_and_another_one_another() -> None:
    event = _of("cloudevents", "firing").body
    again, other = (parse_delivery(parse_request(json.dumps(each))).delivery_id for each in (event, {**event, "id": "another"}))
    assert again == parse_delivery(_of("cloudevents", "firing").received).delivery_id
    assert again != other
    webhook = _of("pagerduty", "firing")
    assert parse_delivery(webhook.received).delivery_id == webhook.headers["X-Webhook-Id"]


def test_a_metric_alert_without_severity_label_is_unknown_not_harmless() -> None:
    assert parse_delivery(_of("alertmanager", "truncated_and_bare").received).alerts[0].severity is Severity.UNKNOWN


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Disk almost full on worker-b1\nmore", "Disk almost full on worker-b1"),
        ('{"whatever": {"title": "Backup failed"}}', "Backup failed"),
        ("[1, 2]", "Alert from webhook"),
        ("null", "null"),
        ("12", "12"),
        ('{"a": ' + "[" * 100_000, "Alert from webhook"),
        ("9" * 5_000, "9" * 139 + "…"),
        ("nul\0 inside", "nul inside"),
        ("", "Alert from webhook"),
    ],
)
def test_a_body_of_no_known_shape_is_one_alert_in_its_own_words(text: str, title: str) -> None:
    [alert] = parse_delivery(parse_request(text)).alerts
    assert alert.title == title
    assert alert.body == text.replace("\0", "")
    assert (alert.severity, alert.status) == (Severity.UNKNOWN, AlertStatus.FIRING)
    assert alert.fingerprint == parse_delivery(parse_request(text)).alerts[0].fingerprint


def test_a_body_that_is_not_its_senders_is_a_plain_alert_of_that_sender() -> None:
    [alert] = parse_delivery(parse_request("free words"), "datadog").alerts
    assert (alert.source, alert.title) == ("datadog", "free words")


@pytest.mark.parametrize("sender", ["github", "datadog"])
def test_a_body_that_was_sent_as_a_form_says_the_same(sender: str) -> None:
    example = next(example for example in EXAMPLES if example.sender == sender)
    headers = {**example.headers, "Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    form = parse_request(urlencode({"payload": json.dumps(example.body)}), headers)
    assert as_read(parse_delivery(form)) == example.becomes


def test_a_form_without_a_payload_is_a_plain_text() -> None:
    [alert] = parse_delivery(parse_request("title=Disk+full", {"content-type": "application/x-www-form-urlencoded"})).alerts
    assert alert.body == "title=Disk+full"


def test_more_alerts_than_a_body_can_hold_are_counted() -> None:
    body: dict[str, Any] = {**_of("alertmanager", "firing").body, "alerts": [{}] * (MAX_ALERTS + 7)}
    delivery = parse_delivery(parse_request(json.dumps(body)))
    assert len(delivery.alerts) == MAX_ALERTS
    assert delivery.truncated == 7


@pytest.mark.parametrize("levels", [0, 1, 20])
def test_an_object_of_very_many_fields_is_refused_before_anything_is_made_of_it(levels: int) -> None:
    def body(fields: int) -> str:
        value: dict[str, Any] = {f"label{number}": "v" for number in range(fields)}
        for _ in range(levels):
            value = {"labels": value}
        return json.dumps({**_of("alertmanager", "firing").body, "alerts": [value]})

    (alert,) = parse_delivery(parse_request(body(MAX_FIELDS))).alerts
    assert len(alert.labels) <= MAX_LABELS
    with pytest.raises(TooManyValuesError, match="An object in the body has more than 10000 fields"):
        parse_request(body(MAX_FIELDS + 1))


def test_json_within_a_body_has_the_same_limits() -> None:
    event = {
        "specversion": "1.0",
        "id": "1",
        "source": "s",
        "type": "t",
        "data_base64": b64encode(b"[" + b"[]," * 800_000 + b"1]").decode(),
    }
    with pytest.raises(TooManyValuesError, match="more than 800000 JSON values"):
        parse_delivery(parse_request(json.dumps(event)))


def test_an_item_that_is_no_alert_is_still_one() -> None:
    body = {**_of("alertmanager", "firing").body, "alerts": ["disk full", None, 7]}
    assert [alert.body for alert in parse_delivery(parse_request(json.dumps(body))).alerts] == ['"disk full"', "null", "7"]


def test_labels_that_stand_for_every_alert_are_not_multiplied() -> None:
    common = {f"l{number}": "x" * 2_000 for number in range(300)}
    body: dict[str, Any] = {**_of("alertmanager", "firing").body, "commonLabels": common, "alerts": [{}] * MAX_ALERTS}
    alerts = parse_delivery(parse_request(json.dumps(body))).alerts
    assert all(alert.labels is alerts[0].labels for alert in alerts)


# ---- whatever else could be sent ------------------------------------------------------------------------------------------


def _holds(delivery: Delivery) -> None:
    """There is at least one alert, and all of it can be stored and shown."""
    assert delivery.alerts or delivery.changes or delivery.remark
    for answered in (*delivery.alerts, *delivery.changes):
        assert answered.title.strip()
        assert len(answered.title) <= MAX_TITLE
        assert answered.fingerprint
        assert len(answered.fingerprint) <= MAX_LABEL + 8
        assert len(answered.labels) <= MAX_LABELS
        texts = [answered.title, answered.fingerprint, answered.body, *answered.labels, *answered.labels.values()]
        assert all("\0" not in text and text.encode() for text in texts if text)
    for alert in delivery.alerts:
        assert all(_is_utc(at) for at in (alert.starts_at, alert.ends_at))


def _is_utc(at: datetime | None) -> bool:
    return at is None or at.utcoffset() is not None


@given(mutated(), st.sampled_from([None, *ADAPTERS]))
@settings(max_examples=5 * settings().max_examples)
def test_no_mutated_body_fails_or_is_lost(mutation: tuple[Example, Any], reported: str | None) -> None:
    example, body = mutation
    headers: Mapping[str, str] = example.headers
    _holds(parse_delivery(parse_request(json.dumps(body), headers), reported))


@given(VALUES, st.dictionaries(st.sampled_from(["ce-specversion", "ce-id", "x-github-event", "x-webhook-id"]), st.text(max_size=8)))
def test_no_body_at_all_fails_or_is_lost(body: Any, headers: dict[str, str]) -> None:
    _holds(parse_delivery(parse_request(json.dumps(body), headers)))


@given(st.text(alphabet=string.printable), st.sampled_from([None, *ADAPTERS]))
def test_no_text_fails_or_is_lost(text: str, reported: str | None) -> None:
    _holds(parse_delivery(parse_request(text), reported))


@given(mutated())
def test_a_batch_keeps_its_number_of_alerts_whatever_stands_in_it(mutation: tuple[Example, Any]) -> None:
    _, body = mutation
    group: dict[str, Any] = {**_of("alertmanager", "firing").body, "alerts": [body, body, {}]}
    assert len(parse_delivery(parse_request(json.dumps(group))).alerts) == 3
    assert matching_adapter(parse_request(json.dumps(group))) is ADAPTERS["alertmanager"]


@EVERY
def test_a_field_that_is_nested_almost_too_deeply_loses_nothing(example: Example) -> None:
    nested: Any = []
    # As deep as the parser lets pass.
    for _ in range(900):
        nested = [nested]
    deep = json.dumps(nested)
    sent: Any = example.body
    whole = cast("dict[str, Any]", sent) if isinstance(sent, dict) else {}
    for name in whole:
        body = json.dumps({**whole, name: "DEEP"}).replace('"DEEP"', deep)
        _holds(parse_delivery(parse_request(body, example.headers), example.sender))
