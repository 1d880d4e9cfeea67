"""The text of a notification: a template over the event, with every value escaped for the service that shows it.

Titles, labels and analyses contain words of strangers. None of them may mention people, become a link or format the rest of the message.
"""

import re
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from typing import Any, assert_never

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, Undefined
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.sandbox import SandboxedEnvironment

from tarsy.domain.notification import EventKind, NotificationEvent
from tarsy.domain.verdict import Confidence, VerdictOutcome
from tarsy.kit.text import clip

# Slack recommends at most 4,000 characters, and a phone shows far fewer.
MAX_TEXT = 3_500
# A message names the problem, the dashboard explains it.
MAX_VALUE = 600
# An answer is what its reader asked for.
MAX_ANSWER = 2_800
# Of processor time, because a busy machine is not the template's fault. The default takes less than a millisecond.
RENDER_SECONDS = 0.5
# Those that neither repeat nor pad text.
_FILTERS = (
    "capitalize",
    "default",
    "first",
    "join",
    "last",
    "length",
    "lower",
    "replace",
    "sort",
    "string",
    "title",
    "trim",
    "truncate",
    "upper",
)

_DEFAULT = """\
{{ heading }}: {{ title }}
{%- if object %}
{{ object|code }}{% if confidence %} ({{ confidence }} confidence){% endif %}
{%- endif %}
{%- if mechanism or summary %}
{{ (mechanism or summary)|truncate(280) }}
{%- endif %}
{%- if reason %}
{{ reason|truncate(280) }}
{%- endif %}
{%- if command %}
{{ command|code }}
{%- endif %}
{%- for action in actions %}
{{ action|string|truncate(280) }}
{%- endfor %}
{%- if approval %}
{{ (approval.server ~ "." ~ approval.tool)|code }}
{{ approval.arguments|truncate(280)|code }}
{%- if approval.decided_by %}
{{ approval.state }} by {{ approval.decided_by }}
{%- endif %}
{%- endif %}
{%- if answer %}
{{ question|truncate(100) }}

{{ answer }}
{%- endif %}
{%- if link %}
{{ link }}
{%- endif %}
"""


# Slack has the whole story in one message, which is updated, and the arguments of a call in a block of their own.
_SLACK_DEFAULT = _DEFAULT.replace(
    "{%- if link %}", "{%- if quotations %}\n{{ quotations }}{% if cost %}; {{ cost }}{% endif %}\n{%- endif %}\n{%- if link %}"
).replace("{{ approval.arguments|truncate(280)|code }}\n", "")


class Markup(StrEnum):
    """How a service reads text. Services that Apprise knows may read some Markdown or HTML in plain text, too."""

    PLAIN = "plain"
    SLACK = "slack"
    # As it is, for programs.
    NONE = "none"


class Escaped(str):
    """A text that is already escaped for its service."""

    __slots__ = ()


# Invisible, and keeps the characters around it from being read as markup.
_WORD_JOINER = "\u2060"
_MENTION = re.compile(r"@(?=[\w<&!])")
_SCHEME = re.compile(r"(?i)\b(https?|ftp|mailto|tel|slack|tg|file):(?=\S)")
_MARKDOWN_LINK = re.compile(r"\](?=[(\[:])")
_TAG = re.compile(r"<(?=[!@#/a-zA-Z])")
_FORMATTING = re.compile(r"(?<!\w)[*_~](?=\S)|(?<=\S)[*_~](?!\w)|`")
_SLACK_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def escape(text: str, markup: Markup) -> str:
    """Return a text that the service shows as it is, without mentions, links and formatting."""
    # Without control characters and those that hide or reorder words.
    text = "".join(mark if mark in "\n\t" or unicodedata.category(mark) not in {"Cc", "Cf", "Cs"} else "\ufffd" for mark in text)
    if markup is Markup.NONE:
        return text
    text = _SCHEME.sub(rf"\1:{_WORD_JOINER}", _MENTION.sub(f"@{_WORD_JOINER}", text))
    text = _FORMATTING.sub(lambda mark: f"{_WORD_JOINER}{mark[0]}{_WORD_JOINER}", text)
    if markup is Markup.SLACK:
        return text.translate(_SLACK_ENTITIES)
    return _TAG.sub(f"<{_WORD_JOINER}", _MARKDOWN_LINK.sub(f"]{_WORD_JOINER}", text))


def _code(text: str, markup: Markup) -> Escaped:
    """Return a text to be copied, such as a command: where the service has a form for it, without added characters."""
    line = " ".join(text.split())
    if markup is Markup.SLACK and line:
        shown = escape(line.replace("`", "\u02cb"), Markup.NONE).translate(_SLACK_ENTITIES)
        return Escaped(f"`{shown}`")
    return Escaped(escape(line, markup))


class TemplateRejectedError(ValueError):
    """A template cannot be parsed or rendered; the operator can act."""


def render(event: NotificationEvent, markup: Markup, template: str | None = None) -> str:
    """Return the text of a notification by `template`, or by the default.

    Raises:
        TemplateRejectedError: the template does not work with this event.
    """
    deadline, parts, length, timely = time.thread_time() + RENDER_SECONDS, list[str](), 0, True
    try:
        for part in _compiled(template or (_SLACK_DEFAULT if markup is Markup.SLACK else _DEFAULT), markup).generate(
            _values(event, markup)
        ):
            parts.append(part)
            length += len(part)
            timely = time.thread_time() < deadline
            if length > MAX_TEXT or not timely:
                break
    except TemplateSyntaxError as error:
        raise TemplateRejectedError(f"line {error.lineno}: {error.message}") from error
    except (TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise TemplateRejectedError(str(error) or type(error).__name__) from error
    if not timely:
        raise TemplateRejectedError(f"it takes longer than {RENDER_SECONDS:g} s of processor time")
    return clip("".join(parts).strip(), MAX_TEXT, notice="…")


def check_template(template: str) -> None:
    """Render a template for an event of each kind.

    Raises:
        TemplateRejectedError: it does not work.
    """
    for kind in EventKind:
        render(NotificationEvent(kind=kind, at=datetime(2026, 1, 1, tzinfo=UTC), title="PodCrashLooping"), Markup.PLAIN, template)
    render(SAMPLE, Markup.PLAIN, template)


# The verdict that templates are checked with, and that tests of a target send.
SAMPLE = NotificationEvent(
    kind=EventKind.VERDICT,
    at=datetime(2026, 1, 1, tzinfo=UTC),
    title="This is a test: nothing is wrong",
    labels={"namespace": ("shop",)},
    outcome=VerdictOutcome.FAULT,
    confidence=Confidence.HIGH,
    object="Deployment/shop/cart",
    mechanism="The pods of cart crash at the start because a setting has no unit.",
    command="kubectl -n shop rollout undo deployment/cart",
)


def _values(event: NotificationEvent, markup: Markup) -> Mapping[str, Any]:
    values: dict[str, Any] = {field.name: getattr(event, field.name) for field in fields(event)}
    values = {name: clip(value, MAX_VALUE, notice="…") if type(value) is str else value for name, value in values.items()}
    values["answer"] = clip(event.answer, MAX_ANSWER, notice="…")
    # TARSy's own address, the only link.
    link = Escaped(f"<{event.link.translate(_SLACK_ENTITIES)}>" if markup is Markup.SLACK and event.link else event.link)
    labels = {name: ", ".join(found) for name, found in event.labels.items()}
    return {**values, "heading": _heading(event), "labels": labels, "link": link}


def _heading(event: NotificationEvent) -> str:  # noqa: PLR0911 - a case for each kind
    match event.kind:
        case EventKind.STARTED:
            return "Investigating"
        case EventKind.VERDICT:
            return "Investigated" if event.outcome is None else _OUTCOMES[event.outcome]
        case EventKind.FAILED:
            return "Investigation failed"
        case EventKind.WAITING:
            return "Approval needed" if event.approval else "Investigation waits"
        case EventKind.DECIDED:
            return f"Call {event.approval.state}" if event.approval else "Call decided"
        case EventKind.ANSWERED:
            return "Answer" if event.answer else "Question not answered"
        case EventKind.RESOLVED:
            return "Resolved"
        case EventKind.BUDGET:
            return "Investigation waits for a budget"
        case _:
            assert_never(event.kind)


_OUTCOMES: Mapping[VerdictOutcome, str] = {
    VerdictOutcome.FAULT: "Fault found",
    VerdictOutcome.NO_FAULT: "No fault found",
    VerdictOutcome.INCONCLUSIVE: "Inconclusive",
}


class _MessageEnvironment(SandboxedEnvironment):
    """Jinja2 without what could run long or grow large: multiplication, `range`, and filters that pad or repeat."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        del context, left, right
        raise SecurityError(f"a template cannot use the operator {operator}")

    def is_safe_callable(self, obj: Any) -> bool:
        """Refuse all calls: methods of text can repeat and pad it."""
        del obj
        return False


@cache
def _environment(markup: Markup) -> _MessageEnvironment:
    def shown(value: Any) -> Any:
        if isinstance(value, Escaped | Undefined):
            return value
        return "" if value is None else escape(str(value), markup)

    environment = _MessageEnvironment(undefined=StrictUndefined, finalize=shown)
    environment.globals.clear()

    def code(value: object) -> Escaped:
        return _code(str(value), markup)

    environment.filters = {**{name: FILTERS[name] for name in _FILTERS}, "code": code}
    return environment


@cache
def _compiled(template: str, markup: Markup) -> Template:
    return _environment(markup).from_string(template)
