"""CloudWatch alarms: over SNS, with or without its envelope, and as EventBridge sends them. What else comes over SNS is an alert in plain words.

https://docs.aws.amazon.com/sns/latest/dg/http-notification-json.html
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-and-eventbridge.html
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from tarsy.domain.alert import Alert, AlertStatus, Links, Severity, alert_title
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, Fields, fingerprint, labels, parse_json, severity_of, title, web_address
from tarsy.intake.sns import is_envelope
from tarsy.kit.text import whole_characters

SOURCE = "cloudwatch"
# Alarms have no severity, but their names often contain one. "high" and "low" describe the metric there.
_SEVERITY_NAME = re.compile(r"(?<![a-z0-9])(critical|crit|fatal|warning|warn|info|p[1-5]|sev[0-4])(?![a-z0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alarm:
    """The fields of an alarm that all three forms have."""

    name: str
    arn: str
    region: str
    state: str
    reason: str
    description: str
    changed: Fields
    dimensions: Mapping[str, str]


def matches(request: WebhookRequest) -> bool:
    return is_envelope(request.body) or _alarm_in(request.body) is not None


def parse(request: WebhookRequest) -> Delivery | None:
    body = request.body
    if not is_envelope(body):
        alarm = _alarm_in(body)
        return Delivery(source=SOURCE, alerts=(_alert(alarm, request.text),)) if alarm else None
    # SNS repeats the id of the message when it delivers again.
    delivery_id = body.text("MessageId", limit=MAX_LABEL) or None
    if body.word("Type") != "notification":
        return Delivery(source=SOURCE, delivery_id=delivery_id, remark=f"SNS: {body.text('Type')}")
    message = body.values.get("Message")
    text = message if isinstance(message, str) else request.text
    alarm = _alarm_in(Fields.of(parse_json(text)))
    alert = _alert(alarm, text) if alarm else _in_plain_words(body, text)
    return Delivery(source=SOURCE, alerts=(alert,), delivery_id=delivery_id)


def _alarm_in(body: Fields) -> _Alarm | None:
    if "AlarmName" in body and "NewStateValue" in body:
        return _from_sns(body)
    if body.text("detail-type") == "CloudWatch Alarm State Change":
        return _from_eventbridge(body)
    return None


def _from_sns(body: Fields) -> _Alarm:
    trigger = body.at("Trigger")
    dimensions = [(item.text("name"), item.text("value")) for item in trigger.each("Dimensions")]
    arn = body.text("AlarmArn", limit=MAX_LABEL)
    return _Alarm(
        name=body.text("AlarmName", limit=MAX_LABEL),
        arn=arn,
        # The field "Region" holds a name for people; the code is in the alarm's own name.
        region=arn.split(":")[3] if arn.count(":") > 3 else body.text("Region", limit=MAX_LABEL),
        state=body.word("NewStateValue"),
        reason=body.text("NewStateReason"),
        description=body.text("AlarmDescription"),
        changed=Fields({"at": body.values.get("StateChangeTime")}),
        dimensions=labels(
            [*dimensions, *trigger.picked(metric="MetricName", aws_namespace="Namespace").items(), ("account", body.text("AWSAccountId"))]
        ),
    )


def _from_eventbridge(body: Fields) -> _Alarm:
    detail = body.at("detail")
    metrics = [item.at("metricStat", "metric") for item in detail.at("configuration").each("metrics")]
    pairs = [
        pair
        for metric in metrics
        for pair in [*metric.labels("dimensions").items(), *metric.picked(metric="name", aws_namespace="namespace").items()]
    ]
    return _Alarm(
        name=detail.text("alarmName", limit=MAX_LABEL),
        arn=Fields({"arn": next(iter(body.list("resources")), "")}).text("arn", limit=MAX_LABEL),
        region=body.text("region", limit=MAX_LABEL),
        state=detail.at("state").word("value"),
        reason=detail.at("state").text("reason"),
        description=detail.at("configuration").text("description"),
        changed=Fields({"at": detail.at("state").values.get("timestamp") or body.values.get("time")}),
        dimensions=labels([*pairs, ("account", body.text("account"))]),
    )


def _alert(alarm: _Alarm, text: str) -> Alert:
    resolved = alarm.state == "ok"
    at, region = alarm.changed.time("at"), alarm.region
    named = _SEVERITY_NAME.search(alarm.name.lower()) or _SEVERITY_NAME.search(alarm.description.lower())
    severity = severity_of(named[1]) if named else Severity.UNKNOWN
    console = None
    if re.fullmatch(r"[a-z]{2}(-[a-z]+)+-\d", region):
        console = web_address(f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#alarmsV2:alarm/{quote(alarm.name)}")
    return Alert(
        source=SOURCE,
        fingerprint=alarm.arn or fingerprint(alarm.region, alarm.name, alarm.dimensions.get("account", "")),
        title=title(alarm.name, fallback="CloudWatch alarm"),
        severity=Severity.WARNING if alarm.state == "insufficient_data" else severity,
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([*alarm.dimensions.items(), ("region", alarm.region), ("alertname", alarm.name)]),
        annotations=labels([("summary", alarm.reason), ("description", alarm.description)], MAX_ANNOTATION),
        links=Links(source=console),
        starts_at=None if resolved else at,
        ends_at=at if resolved else None,
        body=whole_characters(text).replace("\0", ""),
    )


def _in_plain_words(body: Fields, text: str) -> Alert:
    headline = title(body.text("Subject"), alert_title(text, ""), fallback="SNS notification")
    topic = body.text("TopicArn", limit=MAX_LABEL)
    return Alert(
        source=SOURCE,
        fingerprint=fingerprint(topic, headline),
        title=headline,
        severity=Severity.UNKNOWN,
        status=AlertStatus.FIRING,
        labels=labels([("topic", topic.rpartition(":")[2])]),
        starts_at=body.time("Timestamp"),
        body=whole_characters(text).replace("\0", ""),
    )


ADAPTER = Adapter(SOURCE, matches, parse)
