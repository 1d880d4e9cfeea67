"""Sentry's integration platform: issue alerts, metric alerts, issues and errors.

https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
"""

import re
from datetime import datetime

from tarsy.domain.alert import Alert, AlertStatus, Links
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest
from tarsy.intake.fields import MAX_ANNOTATION, MAX_LABEL, Fields, fingerprint, labels, parse_time, severity_of, tags, title

SOURCE = "sentry"
# Events are many; the issue that they belong to is one, and stands for the problem.
_SUBJECTS = ("metric_alert", "event", "issue", "error")
_ENDINGS = {"resolved", "archived", "ignored"}
_STATE = re.compile(r"^(critical|warning|resolved):\s*", re.IGNORECASE)


def matches(request: WebhookRequest) -> bool:
    body = request.body
    subjects = (*_SUBJECTS, "comment", "installation")
    return "action" in body and ("actor" in body or "installation" in body) and any(name in body.at("data") for name in subjects)


def parse(request: WebhookRequest) -> Delivery | None:
    data = request.body.at("data")
    subject = next((name for name in _SUBJECTS if data.at(name)), None)
    if subject == "metric_alert":
        alert = _metric(request, data)
    elif subject:
        alert = _issue(request, data.at(subject), data)
    elif "comment" in data or "installation" in data:
        return Delivery(
            source=SOURCE, remark=f"{request.headers.get('sentry-hook-resource', 'this')} does not say whether anything is wrong"
        )
    else:
        return None
    return Delivery(source=SOURCE, alerts=(alert,))


def _issue(request: WebhookRequest, subject: Fields, data: Fields) -> Alert:
    action = request.body.word("action")
    resolved = action in _ENDINGS or subject.word("status") in _ENDINGS
    seen_at = subject.time("datetime", "lastSeen", "firstSeen")
    # Its last event can be older than its resolution: a person, or the end of a snooze, has opened it again.
    starts_at = (_sent_at(request) if action == "unresolved" else None) or seen_at
    project = subject.at("project").text("slug", "name") or subject.text("project", "project_name")
    own = subject.picked(environment="environment", platform="platform", release="release", culprit="culprit", short_id="shortId")
    return Alert(
        source=SOURCE,
        fingerprint=subject.text("issue_id", "id", limit=MAX_LABEL) or fingerprint(subject.text("title")),
        title=title(subject.text("title", "message"), fallback="Sentry issue"),
        severity=severity_of(subject.text("level")),
        status=AlertStatus.RESOLVED if resolved else AlertStatus.FIRING,
        labels=labels([("project", project), *own.items(), ("rule", data.text("triggered_rule")), *tags(subject.list("tags")).items()]),
        annotations=labels([("description", subject.at("metadata").text("value"))], MAX_ANNOTATION),
        links=Links(source=subject.link("web_url", "permalink")),
        starts_at=None if resolved else starts_at,
        ends_at=_sent_at(request) if resolved else None,
        body=request.text,
    )


def _metric(request: WebhookRequest, data: Fields) -> Alert:
    alert, action = data.at("metric_alert"), request.body.word("action")
    rule, projects = alert.at("alert_rule"), alert.joined("projects")
    headline = _STATE.sub("", data.text("description_title")) or rule.text("name") or alert.text("title")
    return Alert(
        source=SOURCE,
        fingerprint="rule-" + (rule.text("id", limit=MAX_LABEL) or fingerprint(headline)),
        title=title(headline, fallback="Sentry metric alert"),
        severity=severity_of(action),
        status=AlertStatus.RESOLVED if action == "resolved" else AlertStatus.FIRING,
        labels=labels(
            [*rule.picked(rule="name", environment="environment", aggregate="aggregate", query="query").items(), ("project", projects)]
        ),
        annotations=labels([("description", data.text("description_text"))], MAX_ANNOTATION),
        links=Links(source=data.link("web_url")),
        starts_at=alert.time("date_started", "date_detected"),
        ends_at=(alert.time("date_closed") or _sent_at(request)) if action == "resolved" else None,
        body=request.text,
    )


def _sent_at(request: WebhookRequest) -> datetime | None:
    return parse_time(request.headers.get("sentry-hook-timestamp"))


ADAPTER = Adapter(SOURCE, matches, parse)
