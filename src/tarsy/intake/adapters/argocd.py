"""Argo CD's notifications by webhook: the application, or the part of it that our recipe sends.

https://argo-cd.readthedocs.io/en/stable/operator-manual/notifications/services/webhook/
https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#applications
"""

from tarsy.domain.alert import Change, ChangeOutcome
from tarsy.intake.delivery import Adapter, WebhookRequest, outcomes
from tarsy.intake.fields import MAX_LABEL, fingerprint, labels, title

SOURCE = "argocd"
_OUTCOMES = outcomes(started="running terminating", succeeded="succeeded", failed="failed error")


def matches(request: WebhookRequest) -> bool:
    application = request.body.at("app")
    return "name" in application.at("metadata") and "status" in application


def parse(request: WebhookRequest) -> Change | None:
    application = request.body.at("app")
    if not application.at("metadata").text("name"):
        return None
    operation, name = application.at("status", "operationState"), application.at("metadata").text("name", limit=MAX_LABEL)
    phase, health = operation.word("phase"), application.at("status", "health").word("status")
    synced = (operation.at("syncResult"), application.at("status", "sync"))
    revision = next((found for part in synced if (found := part.text("revision", limit=MAX_LABEL))), "")
    synchronised = f"Argo CD synchronised {name} to {revision[:12]}" if revision else f"Argo CD, {name}"
    specification, destination = application.at("spec"), application.at("spec", "destination")
    places = [
        ("project", specification.text("project")),
        ("namespace", destination.text("namespace")),
        ("cluster", destination.text("name", "server")),
        ("repository", specification.at("source").text("repoURL")),
    ]
    return Change(
        source=SOURCE,
        fingerprint=fingerprint(name, revision, operation.text("startedAt", limit=MAX_LABEL)),
        title=title(": ".join(part for part in (synchronised, phase or health) if part), fallback="Argo CD"),
        outcome=_OUTCOMES.get(phase, ChangeOutcome.UNKNOWN),
        labels=labels([("application", name), ("revision", revision), *places, ("health", health)]),
        link=request.body.link("url"),
        at=operation.time("finishedAt", "startedAt"),
        body=request.text,
    )


ADAPTER = Adapter(SOURCE, matches, parse)
