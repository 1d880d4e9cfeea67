"""The operator's routes, mutes and senders, as read from the configuration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from tarsy.config.schema.configuration import Config
from tarsy.config.schema.routes import RouteConfig, SenderConfig
from tarsy.domain.alert import Alert, Severity
from tarsy.domain.incident import Mute
from tarsy.domain.route import (
    EACH,
    GROUP_WAIT,
    REOPEN_AFTER,
    REPEAT_INTERVAL,
    Matcher,
    OnResolved,
    RouteAction,
    all_accept,
    label_values,
    parse_matchers,
)
from tarsy.intake.adapters.generic import GenericMapping
from tarsy.intake.authentication import Basic, SenderCredential, Signature, Token
from tarsy.intake.fields import fingerprint


@dataclass(frozen=True, slots=True)
class ServerVariants:
    """The variants of a tool server, by the value of a label of the alert. A variant is never guessed."""

    server: str
    label: str
    by_value: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SameAs:
    """Another route, with the labels that it groups by and the names that they have in alerts of this one."""

    route: str
    labels: Mapping[str, str]

    def group(self, alert: Alert) -> dict[str, str] | None:
        """Return the labels as the other route groups by them, or None if the alert lacks one."""
        found = {name: next(iter(label_values(alert, own)), "") for name, own in self.labels.items()}
        return found if all(found.values()) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    name: str
    match: tuple[Matcher, ...] = ()
    action: RouteAction = RouteAction.INVESTIGATE
    # None: the configured default.
    alert_type: str | None = None
    # None: by the sender's group, or each alert alone if the sender does not group.
    group_by: tuple[str, ...] | None = None
    # Alerts that have its labels belong to incidents of another route.
    same_as: SameAs | None = None
    # None: 15 s for alerts that are grouped, nothing for single ones.
    group_wait: timedelta | None = None
    repeat_interval: timedelta = REPEAT_INTERVAL
    reopen_after: timedelta = REOPEN_AFTER
    # None: 24 h for senders that never report resolved alerts, no limit for others.
    auto_resolve_after: timedelta | None = None
    # None: from the severity.
    priority: int | None = None
    on_resolved: OnResolved = OnResolved.CANCEL_PENDING
    tool_servers: tuple[ServerVariants, ...] = ()

    def accepts(self, alert: Alert) -> bool:
        return all_accept(self.match, alert)

    def priority_of(self, severity: Severity) -> int:
        return severity.priority if self.priority is None else self.priority

    def wait_for(self, alert: Alert) -> timedelta:
        """Return how long an investigation waits for further alerts of its incident."""
        if self.group_wait is not None:
            return self.group_wait
        is_grouped = bool(alert.group_key) if self.group_by is None else EACH not in self.group_by
        return GROUP_WAIT if is_grouped or self.same_as else timedelta()

    def incident_key(self, alert: Alert) -> str:
        """Return a key that is the same for alerts that belong to one incident."""
        if self.same_as and (shared := self.same_as.group(alert)):
            return fingerprint(self.same_as.route, shared)
        # Without an instance it is the key that earlier versions gave the incident.
        sender = (self.name, *filter(None, (alert.source, alert.instance)))
        if self.group_by is None:
            return fingerprint(*sender, alert.group_key or alert.fingerprint)
        if EACH in self.group_by:
            return fingerprint(*sender, alert.fingerprint)
        # Alerts without a label are one group. If a label has two values, the first one is TARSy's own.
        return fingerprint(self.name, {name: next(iter(label_values(alert, name)), "") for name in self.group_by})


# After the operator's routes: heartbeats are recorded, all other alerts are investigated.
BUILT_IN_ROUTES = (
    Route(name="built-in: watchdog", match=parse_matchers('alertname = "Watchdog"'), action=RouteAction.RECORD),
    Route(name="built-in: severity none", match=parse_matchers('severity = "none"'), action=RouteAction.RECORD),
    Route(name="built-in: everything else"),
)


def route_for(alert: Alert, routes: Sequence[Route]) -> Route:
    """Return the first route that accepts the alert. The last built-in route accepts all alerts."""
    return next(route for route in (*routes, *BUILT_IN_ROUTES) if route.accepts(alert))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The part of the configuration that intake uses."""

    routes: tuple[Route, ...] = ()
    mutes: tuple[Mute, ...] = ()
    default_alert_type: str
    # As in `SystemConfig.max_webhook_bytes`.
    max_body_bytes: int = 16 * 1024**2
    # The names of the configured senders.
    senders: frozenset[str] = frozenset()
    # By sender.
    mappings: Mapping[str, GenericMapping] = field(default_factory=dict[str, GenericMapping])
    credentials: Mapping[str, SenderCredential] = field(default_factory=dict[str, SenderCredential])
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def policy_of(config: Config, env: Mapping[str, str]) -> Policy:
    senders = config.senders
    return Policy(
        routes=tuple(_route(route, config.routes) for route in config.routes),
        mutes=tuple(Mute(starts=mute.starts, ends=mute.ends, match=_matchers(mute.match), reason=mute.reason) for mute in config.mute),
        default_alert_type=config.defaults.alert_type,
        max_body_bytes=config.system.max_webhook_bytes,
        senders=frozenset(senders),
        mappings={
            name: GenericMapping(kind=mapping.kind, each=mapping.each, parts=mapping.parts())
            for name, sender in senders.items()
            if (mapping := sender.mapping)
        },
        credentials={name: credential for name, sender in senders.items() if (credential := _credential(sender, env))},
        topics={name: sender.topics for name, sender in senders.items() if sender.topics},
    )


def _route(route: RouteConfig, routes: Sequence[RouteConfig]) -> Route:
    same = route.same_as
    # Loading the configuration has checked that the other route is there, and what it groups by.
    grouped_by = next((other.group_by or () for other in routes if same and other.name == same.route), ())
    return Route(
        same_as=SameAs(same.route, {name: same.labels.get(name, name) for name in grouped_by}) if same else None,
        name=route.name,
        match=_matchers(route.match),
        action=route.action,
        alert_type=route.alert_type,
        group_by=route.group_by,
        group_wait=_seconds(route.group_wait),
        repeat_interval=timedelta(seconds=route.repeat_interval),
        reopen_after=timedelta(seconds=route.reopen_after),
        auto_resolve_after=_seconds(route.auto_resolve_after),
        priority=route.priority,
        on_resolved=route.on_resolved,
        tool_servers=tuple(
            ServerVariants(server, variants.label, dict(variants.variants)) for server, variants in route.tool_servers.items()
        ),
    )


def _matchers(texts: tuple[str, ...]) -> tuple[Matcher, ...]:
    return tuple(matcher for text in texts for matcher in parse_matchers(text))


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def _credential(sender: SenderConfig, env: Mapping[str, str]) -> SenderCredential | None:
    """Return how a sender authenticates, or None. Loading the configuration has checked that its secrets are set."""
    secrets = tuple(env.get(variable, "").strip() for variable in sender.secret_variables())
    if sender.basic:
        return Basic(sender.basic.username, secrets)
    if sender.signature:
        signature = sender.signature
        return Signature(signature.scheme, secrets, signature.header, signature.timestamp_header)
    return Token(secrets) if sender.token_env else None
