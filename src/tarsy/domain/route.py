"""Routes of alerts: their actions and defaults, and the matchers that select alerts.

Matchers are written as in Alertmanager: `severity =~ "critical|high"`, `namespace != "shop"`, several with commas, also in braces.
https://prometheus.io/docs/alerting/latest/configuration/#matcher
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, assert_never

import re2  # pyright: ignore[reportMissingTypeStubs] - it comes without them

from tarsy.domain.alert import Alert

# The library has no types.
_re2: Any = re2

# How long the first alert of a group waits for others: as long as Alertmanager needs to send the next groups of one outage.
GROUP_WAIT = timedelta(seconds=15)
# Alertmanager's own default: by then an engineer should have acted, and the analysis may be out of date.
REPEAT_INTERVAL = timedelta(hours=4)
# Further investigations of an unchanged incident would find nothing new.
MAX_REINVESTIGATIONS = 3
# A problem that comes back this soon was not solved.
REOPEN_AFTER = timedelta(minutes=30)
# For senders that never report the end of an alert.
AUTO_RESOLVE_AFTER = timedelta(hours=24)
# In place of label names: every alert is a group of its own.
EACH = "..."


class RouteAction(StrEnum):
    INVESTIGATE = "investigate"
    # Kept and shown, not investigated.
    RECORD = "record"
    # Counted, and nothing else.
    DROP = "drop"


class OnResolved(StrEnum):
    """What happens to investigations when nothing of their incident fires any more."""

    # Waiting investigations are cancelled before they cost anything; running ones receive a note.
    CANCEL_PENDING = "cancel_pending"
    NOTE = "note"
    IGNORE = "ignore"


_WORD = r'"(?:[^"\\]|\\.)*"|[^\s{}!=~,\\"\'`]+'
_MATCHER = re.compile(rf"\s*(?P<name>{_WORD})\s*(?P<operator>=~|!~|!=|=)\s*(?P<value>{_WORD})\s*(?P<comma>,?)\s*")
_ESCAPE = re.compile(r"\\(.)")
# As in Alertmanager: only a quote, a backslash and `n` can be escaped; other backslashes are literal.
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


class MatcherError(ValueError):
    """A matcher cannot be parsed; the operator can act."""


class Operator(StrEnum):
    EQUAL = "="
    NOT_EQUAL = "!="
    LIKE = "=~"
    UNLIKE = "!~"


@dataclass(frozen=True, slots=True)
class Matcher:
    name: str
    operator: Operator
    value: str

    def accepts(self, values: Sequence[str]) -> bool:
        """Return whether a label with these values matches. An absent label is empty; of several values one must match, or none for `!=` and `!~`."""
        values = values or ("",)
        match self.operator:
            case Operator.EQUAL:
                return self.value in values
            case Operator.NOT_EQUAL:
                return self.value not in values
            case Operator.LIKE:
                return any(_regex(self.value).fullmatch(value) for value in values)
            case Operator.UNLIKE:
                return not any(_regex(self.value).fullmatch(value) for value in values)
            case _:
                assert_never(self.operator)

    def __str__(self) -> str:
        quoted = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.name} {self.operator} "{quoted}"'


@lru_cache(maxsize=1024)
def _regex(text: str) -> Any:
    """Compile a regular expression as Alertmanager does. RE2 takes linear time, which matters because labels come from outside."""
    options = _re2.Options()
    # Errors become a MatcherError instead of output on standard error.
    options.log_errors = False
    return _re2.compile(text, options)


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """Parse a line of matchers.

    Raises:
        MatcherError: the line is invalid; the text says why.
    """
    inner = text.strip()
    if inner.startswith("{") != inner.endswith("}") or inner in {"{", "}"}:
        raise MatcherError(f"{text}: a brace is missing")
    inner = inner[1:-1].strip() if inner.startswith("{") else inner
    found, position = list[Matcher](), 0
    while position < len(inner):
        matched = _MATCHER.match(inner, position)
        if not matched or (matched.end() < len(inner) and not matched["comma"]):
            raise MatcherError(f'{text}: write name = "value", with =, !=, =~ or !~ between them, and a comma before the next')
        matcher = Matcher(_unquoted(matched["name"]), Operator(matched["operator"]), _unquoted(matched["value"]))
        if matcher.operator in {Operator.LIKE, Operator.UNLIKE}:
            try:
                _regex(matcher.value)
            except _re2.error as error:
                reason: Any = error.args[0]
                detail = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
                raise MatcherError(f"{matcher}: this is not a regular expression: {detail}") from error
        found.append(matcher)
        position = matched.end()
    return tuple(found)


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        return token
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), token[1:-1])


def all_accept(matchers: Sequence[Matcher], alert: Alert) -> bool:
    return all(matcher.accepts(label_values(alert, matcher.name)) for matcher in matchers)


def label_values(alert: Alert, name: str) -> tuple[str, ...]:
    """Return the values of a label for matchers and grouping; `source`, `severity` and `title` are also fields of the alert.

    `severity` has the sender's value and TARSy's. `source` is only the authenticated sender, never a label.
    """
    own: Mapping[str, str] = {"source": alert.source, "severity": alert.severity, "title": alert.title}
    if name == "source" or name not in alert.labels:
        return (own[name],) if name in own else ()
    label = alert.labels[name]
    return (own[name], label) if name == "severity" and label != own[name] else (label,)
