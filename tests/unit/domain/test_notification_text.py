"""The text of notifications: what a phone shows, and what strangers' words cannot do to it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tarsy.domain.notification import EventKind, NotificationEvent
from tarsy.domain.notification_text import MAX_TEXT, SAMPLE, Markup, TemplateRejectedError, check_template, escape, render

HOSTILE = (
    "<!channel> <!here> <@U123> <https://evil.example|runbook> @everyone @here [runbook](https://evil.example) *bold* _it_ ~gone~ `code` "
    "<b>html</b> <a href='https://evil.example'>x</a> &lt;!channel&gt; javascript:alert(1) \u202edetceted\x1b[2J"
)


def test_the_default_is_object_mechanism_confidence_first_command_and_link() -> None:
    text = render(replace(SAMPLE, title="Cart crashes", link="https://tarsy.example/sessions/1"), Markup.NONE)
    assert text.splitlines() == [
        "Fault found: Cart crashes",
        "Deployment/shop/cart (high confidence)",
        "The pods of cart crash at the start because a setting has no unit.",
        "kubectl -n shop rollout undo deployment/cart",
        "https://tarsy.example/sessions/1",
    ]


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_of_event_has_a_text(kind: EventKind) -> None:
    text = render(NotificationEvent(kind=kind, at=datetime(2026, 1, 1, tzinfo=UTC), title="Disk full", reason="why"), Markup.PLAIN)
    others = {EventKind.RESOLVED: "Resolved", EventKind.DECIDED: "Call decided", EventKind.ANSWERED: "Question not answered"}
    assert text.startswith(f"{others[kind]}: Disk full" if kind in others else "Investigat")
    assert text.endswith("why")


def test_in_slack_strangers_words_cannot_mention_link_or_format() -> None:
    event = replace(SAMPLE, title=HOSTILE, object=HOSTILE, mechanism=HOSTILE, command=f"kubectl get pods `x` {HOSTILE}", link="https://t/1")
    text = render(event, Markup.SLACK)
    # The only markup is our own: the address of the page, and code spans without a backtick inside.
    assert text.count("<") == text.count(">") == 1
    assert text.endswith("<https://t/1>")
    title, affected, mechanism, command, _ = text.splitlines()
    for line in (title, mechanism):
        assert not any(mark in line for mark in ("@everyone", "@here", " *bold*", " _it_", " ~gone~", "`code`", "https://"))
    for line in (affected, command):
        assert line.count("`") == 2
    assert command.startswith("`kubectl get pods ")
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_in_other_services_strangers_words_cannot_mention_link_or_format() -> None:
    text = escape(HOSTILE, Markup.PLAIN)
    assert not any(
        mark in text
        for mark in ("@everyone", "@here", "<@", "<!", "<b", "<a", "](", "https://", " *bold*", " _it_", "`c", "\u202e", "\x1b")
    )


def test_a_program_receives_the_words_as_they_are() -> None:
    assert escape("<b>*x* @all</b>", Markup.NONE) == "<b>*x* @all</b>"


def test_a_template_shows_what_it_names_and_its_own_markup_stays() -> None:
    template = "*{{ severity|upper }}* {{ labels.namespace }} {{ labels.team|default('no team') }}: {{ title }}"
    assert render(replace(SAMPLE, title="<b>"), Markup.SLACK, template) == "*UNKNOWN* shop no team: &lt;b&gt;"


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ title", "line 1: unexpected end of template"),
        ("{{ titel }}", "'titel' is undefined"),
        ("{{ title|nope }}", "No filter named 'nope'"),
        ("{{ title.__class__.__mro__ }}", "unsafe"),
        ("{{ 'x' * 1000000000 }}", r"cannot use the operator \*"),
        ("{{ 2 ** 1000000000 }}", r"cannot use the operator \*\*"),
        ("{{ '%1000000000d' % 1 }}", "cannot use the operator %"),
        ("{{ title.center(1000000000) }}", "not safely callable"),
        ("{% for a in range(9) %}x{% endfor %}", "not safely callable"),
        ("{{ title|center(1000000000) }}", "No filter named 'center'"),
        ("{% include 'x' %}", "no loader"),
    ],
)
def test_a_template_that_does_not_work_or_could_grow_is_rejected(template: str, problem: str) -> None:
    with pytest.raises(TemplateRejectedError, match=problem):
        check_template(template)


def test_a_template_ends_at_its_limits_of_length_and_time(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = "{% for a in title %}{% for b in title %}{% for c in title %}."
    template = letters + "{% endfor %}{% endfor %}{% endfor %}"
    long = replace(SAMPLE, title="x" * 600)
    assert len(render(long, Markup.NONE, template)) <= MAX_TEXT + 1
    monkeypatch.setattr("tarsy.domain.notification_text.RENDER_SECONDS", 0.0)
    with pytest.raises(TemplateRejectedError, match="takes longer"):
        render(long, Markup.NONE, template)
