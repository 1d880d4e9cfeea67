"""Routes of alerts: their actions and defaults, and the matchers that select alerts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any, assert_never

from tarsy.domain.alert import Alert

# What a group's first notification waits for its companions: as long as Alertmanager needs to send the next groups of one outage.
GROUP_WAIT = timedelta(seconds=15)
# Alertmanager's own default: by then an engineer should have acted, and what the agents found may no longer be true.
REPEAT_INTERVAL = timedelta(hours=4)
# What was looked at so often without anything new is not understood better by looking again.
MAX_REINVESTIGATIONS = 3
# A problem that comes back so soon was not over.
REOPEN_AFTER = timedelta(minutes=30)
# For senders that never say resolved.
AUTO_RESOLVE_AFTER = timedelta(hours=24)
# Instead of the names of labels: every alert for itself.
EACH = "..."


class RouteAction(StrEnum):
    INVESTIGATE = "investigate"
    # Kept and shown, not investigated.
    RECORD = "record"
    # Counted, and nothing else.
    DROP = "drop"


class OnResolved(StrEnum):
    """What happens to investigations when nothing of their incident fires any more."""

    # Those that wait are cancelled before they cost anything; those that run are told.
    CANCEL_PENDING = "cancel_pending"
    NOTE = "note"
    IGNORE = "ignore"


_WORD = r'"(?:[^"\\]|\\.)*"|[^\s{}!=~,\\"\'`]+'
_MATCHER = re.compile(rf"\s*(?P<name>{_WORD})\s*(?P<operator>=~|!~|!=|=)\s*(?P<value>{_WORD})\s*(?P<comma>,?)\s*")
_ESCAPE = re.compile(r"\\(.)")
# As in Alertmanager: a quote, a backslash and a new line; any other character after a backslash stands as it is.
_ESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


class MatcherError(ValueError):
    """A matcher cannot be read; the operator can act."""


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
        """Whether a label with these values is meant. One that is absent is empty; of several, one that fits is enough, and must not be if it is refused."""
        told = values or ("",)
        match self.operator:
            case Operator.EQUAL:
                return self.value in told
            case Operator.NOT_EQUAL:
                return self.value not in told
            case Operator.LIKE:
                return self._like(told)
            case Operator.UNLIKE:
                return not self._like(told)
            case _:
                assert_never(self.operator)

    def _like(self, values: Sequence[str]) -> bool:
        expression = _expression(self.value)
        return any(expression.fullmatch(value) is not None for value in values)

    def __str__(self) -> str:
        quoted = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.name} {self.operator} "{quoted}"'


def _re2() -> Any:
    """Alertmanager's own kind of expression: it takes time in proportion to the text, whatever stands in the two. Labels come from outside."""
    import re2  # pyright: ignore[reportMissingTypeStubs] # noqa: PLC0415 - large, and only for matchers with expressions

    return re2


@lru_cache(maxsize=1024)
def _expression(text: str) -> Any:
    re2 = _re2()
    options = re2.Options()
    # Its complaints go into our error, not to standard error.
    options.log_errors = False
    return re2.compile(text, options)


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """The matchers of a line.

    Raises:
        MatcherError: saying what is wrong.
    """
    inner = _without_braces(text)
    found, position = list[Matcher](), 0
    while position < len(inner):
        matched = _MATCHER.match(inner, position)
        if not matched or (matched.end() < len(inner) and not matched["comma"]):
            raise MatcherError(f'{text}: write name = "value", with =, !=, =~ or !~ between them, and a comma before the next')
        found.append(_matcher(matched))
        position = matched.end()
    return tuple(found)


def _without_braces(text: str) -> str:
    inner = text.strip()
    if inner.startswith("{") != inner.endswith("}") or inner in {"{", "}"}:
        raise MatcherError(f"{text}: a brace is missing")
    return inner[1:-1].strip() if inner.startswith("{") else inner


def _matcher(matched: re.Match[str]) -> Matcher:
    matcher = Matcher(_unquoted(matched["name"]), Operator(matched["operator"]), _unquoted(matched["value"]))
    if matcher.operator in {Operator.LIKE, Operator.UNLIKE}:
        try:
            _expression(matcher.value)
        except _re2().error as error:
            reason = error.args[0]
            detail = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
            raise MatcherError(f"{matcher}: this is not a regular expression: {detail}") from error
    return matcher


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        return token
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[0]), token[1:-1])


def all_accept(matchers: Sequence[Matcher], alert: Alert) -> bool:
    return all(matcher.accepts(label_values(alert, matcher.name)) for matcher in matchers)


def label_values(alert: Alert, name: str) -> tuple[str, ...]:
    """What a matcher, or a route that groups, sees under a name: a label, or one of the alert's own words.

    The severity is both: the sender's own word and ours. The source is only who was authenticated, whatever a label says.
    """
    own: Mapping[str, str] = {"source": alert.source, "severity": alert.severity, "title": alert.title}
    if name == "source" or name not in alert.labels:
        return (own[name],) if name in own else ()
    label = alert.labels[name]
    return (own[name], label) if name == "severity" and label != own[name] else (label,)
