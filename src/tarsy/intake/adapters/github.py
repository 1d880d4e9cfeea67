"""GitHub's webhooks about changes: deployments, releases, finished workflows, merged pull requests and pushes.

https://docs.github.com/en/webhooks/webhook-events-and-payloads
"""

from tarsy.domain.alert import Change, ChangeOutcome
from tarsy.intake.delivery import Adapter, Delivery, WebhookRequest, outcomes
from tarsy.intake.fields import MAX_LABEL, Fields, fingerprint, labels, title

SOURCE = "github"
# The object that a body is about, most specific first: a deployment's status comes with the deployment.
_SUBJECTS = ("deployment_status", "deployment", "release", "workflow_run", "pull_request", "head_commit")
_OUTCOMES = outcomes(
    started="in_progress queued pending created", succeeded="success published", failed="failure error timed_out startup_failure"
)


def matches(request: WebhookRequest) -> bool:
    return "full_name" in request.body.at("repository") and "sender" in request.body


def parse(request: WebhookRequest) -> Delivery | None:
    body = request.body
    if not body.at("repository").text("full_name") and "x-github-event" not in request.headers:
        return None
    subject = next((name for name in _SUBJECTS if body.at(name)), "")
    delivery_id = request.headers.get("x-github-delivery")
    merged = body.word("action") == "closed" and body.at("pull_request").values.get("merged") is True
    if not subject or (subject == "pull_request" and not merged):
        remark = f"{request.headers.get('x-github-event', 'this event')} changes nothing that runs"
        return Delivery(source=SOURCE, delivery_id=delivery_id, remark=remark)
    what, repository = body.at(subject), body.at("repository").text("full_name", limit=MAX_LABEL)
    word = what.word("state", "conclusion", "status") or body.word("action")
    done = subject in {"pull_request", "head_commit"}
    change = Change(
        source=SOURCE,
        fingerprint=fingerprint(repository, subject.removesuffix("_status"), (body.at("deployment") or what).text("id", limit=MAX_LABEL)),
        title=title(_headline(body, subject), fallback=f"Change of {repository}"),
        outcome=ChangeOutcome.SUCCEEDED if done else _OUTCOMES.get(word, ChangeOutcome.UNKNOWN),
        labels=_labels(body, what),
        link=what.link("log_url", "target_url", "html_url", "environment_url", "url") or body.at("repository").link("html_url"),
        at=what.time("updated_at", "merged_at", "published_at", "created_at", "timestamp"),
        body=request.text,
    )
    return Delivery(source=SOURCE, changes=(change,), delivery_id=delivery_id)


def _labels(body: Fields, what: Fields) -> dict[str, str]:
    deployment = body.at("deployment")
    revision = what.text("sha", "head_sha", "merge_commit_sha") or deployment.text("sha") or body.text("after")
    return labels(
        [
            ("repository", body.at("repository").text("full_name")),
            ("environment", _environment(body, what)),
            ("revision", revision[:12]),
            ("ref", what.text("ref", "tag_name", "head_branch") or deployment.text("ref") or body.text("ref")),
            ("author", body.at("sender").text("login")),
        ]
    )


def _environment(body: Fields, what: Fields) -> str:
    return what.text("environment") or body.at("deployment").text("environment")


def _headline(body: Fields, subject: str) -> str:
    repository, what = body.at("repository").text("full_name"), body.at(subject)
    match subject:
        case "deployment" | "deployment_status":
            ref = body.at("deployment").text("ref")
            state = f": {what.text('state')}" if what.text("state") else ""
            return f"Deployment of {repository} {ref} to {_environment(body, what) or 'an environment'}{state}"
        case "release":
            return f"Release {what.text('name', 'tag_name')} of {repository}"
        case "workflow_run":
            return f"Workflow {what.text('name')} of {repository}: {what.text('conclusion', 'status')}"
        case "pull_request":
            return f"{repository} #{what.text('number')} merged: {what.text('title')}"
        case _:
            return f"Push to {body.text('ref').removeprefix('refs/heads/')} of {repository}: {what.text('message').partition(chr(10))[0]}"


ADAPTER = Adapter(SOURCE, matches, parse)
