"""Changes in TARSy's own format, for pipelines and feature flags that can send any body: `{"kind": "change", "title": …}`."""

from tarsy.domain.alert import Change, ChangeOutcome
from tarsy.intake.delivery import Adapter, WebhookRequest, outcomes
from tarsy.intake.fields import MAX_LABEL, Fields, fingerprint, labels, title

SOURCE = "change"
_DEPLOYED = ("service", "version", "environment")
_OWN = (*_DEPLOYED, "cluster", "namespace", "author")
_OUTCOMES = outcomes(
    started="started running pending in_progress",
    succeeded="succeeded success successful finished completed done deployed ok",
    failed="failed failure error errored aborted cancelled",
)


def matches(request: WebhookRequest) -> bool:
    return request.body.text("kind") == "change"


def parse(request: WebhookRequest) -> Change | None:
    return change_of(request.body, SOURCE, request.text) if request.body else None


def change_of(body: Fields, source: str, text: str) -> Change:
    """Read a change from fields of TARSy's own names."""
    own, at = body.picked(**{name: name for name in _OWN}), body.time("at", "time", "timestamp")
    headline = body.text("title") or " ".join(["Deployment of", *(own[name] for name in _DEPLOYED if name in own)])
    return Change(
        source=source,
        fingerprint=body.text("fingerprint", "id", limit=MAX_LABEL) or fingerprint(headline, own, at.isoformat() if at else ""),
        title=title(headline, fallback="Change"),
        outcome=_OUTCOMES.get(body.word("outcome", "status"), ChangeOutcome.UNKNOWN),
        labels=labels([*body.labels("labels").items(), *own.items()]),
        link=body.link("link", "url"),
        at=at,
        body=text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
