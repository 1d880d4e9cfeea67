"""Pure module: what the configuration says of routes, mutes and senders, in the words of this room."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from tarsy.config.schema.configuration import Config
from tarsy.config.schema.routes import MuteConfig, RouteConfig
from tarsy.config.schema.senders import SenderConfig
from tarsy.domain.matchers import Matcher, parse_matchers
from tarsy.domain.mute import Mute
from tarsy.intake.adapters.generic import GenericMapping
from tarsy.intake.authentication import Basic, Proof, Signature, Token
from tarsy.intake.routes import Route, ServerVariants


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the operator has configured."""

    routes: tuple[Route, ...] = ()
    mutes: tuple[Mute, ...] = ()
    default_alert_type: str
    # By sender.
    mappings: Mapping[str, GenericMapping] = field(default_factory=dict[str, GenericMapping])
    proofs: Mapping[str, Proof] = field(default_factory=dict[str, Proof])
    topics: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def policy_of(config: Config, env: Mapping[str, str]) -> Policy:
    senders = config.senders
    return Policy(
        routes=tuple(_route(route) for route in config.routes),
        mutes=tuple(_mute(mute) for mute in config.mute),
        default_alert_type=config.defaults.alert_type,
        mappings={name: mapping for name, sender in senders.items() if (mapping := _mapping(sender))},
        proofs={name: proof for name, sender in senders.items() if (proof := _proof(sender, env))},
        topics={name: sender.topics for name, sender in senders.items() if sender.topics},
    )


def _route(route: RouteConfig) -> Route:
    return Route(
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


def _mute(mute: MuteConfig) -> Mute:
    return Mute(starts=mute.starts, ends=mute.ends, match=_matchers(mute.match), reason=mute.reason)


def _matchers(texts: tuple[str, ...]) -> tuple[Matcher, ...]:
    return tuple(matcher for text in texts for matcher in parse_matchers(text))


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def _mapping(sender: SenderConfig) -> GenericMapping | None:
    mapping = sender.mapping
    return GenericMapping(kind=mapping.kind, each=mapping.each, parts=mapping.parts()) if mapping else None


def _proof(sender: SenderConfig, env: Mapping[str, str]) -> Proof | None:
    """What a sender must show. Loading has made sure that its secrets are there."""
    secrets = tuple(env.get(variable, "").strip() for variable in sender.secret_variables())
    if sender.basic:
        return Basic(sender.basic.username, secrets)
    if sender.signature:
        told = sender.signature
        return Signature(told.scheme, secrets, told.header, told.timestamp_header)
    return Token(secrets) if sender.token_env else None
