"""The types of values in the configuration, with their validation: durations, switches, counts, names of other entries."""

import ipaddress
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from tarsy.config.parsed_data import as_mapping
from tarsy.config.problems import did_you_mean
from tarsy.domain.llm import LLMBackend
from tarsy.kit.text import clip

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
LATER: dict[str, JsonValue] = {"x-later": True}
NO_EFFECT = "x-no-effect"
_ON = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names of the entries of all files; the validation context of the models."""

    # Names with types.
    providers: Mapping[str, str] = field(default_factory=dict[str, str])
    agents: Mapping[str, str] = field(default_factory=dict[str, str])
    # Agents with a description.
    described_agents: Collection[str] = ()
    servers: Collection[str] = ()
    alert_types: Collection[str] = ()
    # None: not all skills could be read, so an unknown name may be valid.
    skills: Collection[str] | None = ()
    # Of notifications.
    targets: Collection[str] = ()


class Section(BaseModel):
    """A mapping in a file: frozen, and without unknown keys. An empty value means that the key is not set."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _without_empty_values(cls, data: Any) -> Any:
        if data is None:
            return {}
        entries = as_mapping(data)
        return data if entries is None else {key: value for key, value in entries.items() if value is not None}


def refuse(message: str, remedy: str = "") -> PydanticCustomError:
    """Return the error that a validator raises, with the remedy separate from the message."""
    return PydanticCustomError("refused", "{message}", {"message": message, "remedy": remedy})


# A hundred years: later times do not fit into dates.
LONGEST_SECONDS = 3_200_000_000


def parse_duration(value: object) -> float:
    """Parse `90s`, `15m`, `1h30m`, `500ms` or a number of seconds.

    Raises:
        PydanticCustomError: it is none of these.
    """
    seconds: float | None = None
    if (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST_SECONDS) or (
        isinstance(value, str) and _NUMBER.fullmatch(value)
    ):
        seconds = float(value)
    elif isinstance(value, str) and _DURATION.fullmatch(value):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _DURATION_PART.findall(value))
    if seconds is not None and seconds <= LONGEST_SECONDS:
        return seconds
    # Python does not write integers of thousands of digits.
    shown = f': "{clip(str(value), 40)}"' if isinstance(value, str) or (isinstance(value, int | float) and value < LONGEST_SECONDS) else ""
    raise refuse(f"this is not a duration{shown}", "write 90s, 15m, 1h30m, 500ms or a number of seconds")


def _moment(value: object) -> datetime:
    """Parse a date or time, in UTC unless it names a zone; a date means its first moment."""
    if isinstance(value, str):
        with suppress(ValueError, OverflowError):
            # RFC 3339 allows small letters.
            moment = datetime.fromisoformat(value.upper())
            return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    # Pydantic would read a number as seconds since 1970.
    raise refuse(f'"{value}" is not a time', "write 2026-03-01 or 2026-03-01T12:00:00Z")


def as_text(value: str | float) -> str:
    """Return a plain value as it is written in YAML."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _as_text(value: object) -> object:
    return as_text(value) if isinstance(value, int | float) else value


def _positive(value: float) -> float:
    if value <= 0:
        raise refuse("this must be longer than 0")
    return value


def _web_address(value: str) -> str:
    if "{{" in value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise refuse("this is not a web address", "write http://… or https://…")
    return value


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError as error:
        raise refuse(f'"{value}" is not an address or network', "write 10.1.2.3 or 10.0.0.0/8") from error
    return value


def _origin(value: str) -> str:
    parts = urlsplit(_web_address(value))
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise refuse(f'"{value}" is not an origin', f"write {parts.scheme}://{parts.netloc}")
    return value.rstrip("/")


def _not_blank(value: str) -> str:
    if not value.strip():
        raise refuse("this must not be empty")
    return value


def known_names(info: ValidationInfo) -> KnownNames | None:
    return info.context if isinstance(info.context, KnownNames) else None


def existing(kind: str, options: Callable[[KnownNames], Collection[str] | None]) -> AfterValidator:
    """Return a validator for names of entries; it accepts all names while the entries are unknown."""

    def check(value: str, info: ValidationInfo) -> str:
        names = known_names(info)
        known = options(names) if names else None
        if known is None or value in known:
            return value
        raise refuse(f'there is no {kind} "{value}"', did_you_mean(value, known))

    return AfterValidator(check)


def _agent_type(value: str, info: ValidationInfo) -> str:
    names = known_names(info)
    return names.agents.get(value, "default") if names else "default"


def _usable_in_a_stage(value: str, info: ValidationInfo) -> str:
    if (kind := _agent_type(value, info)) in {"scoring", "exec_summary"}:
        raise refuse(f'agent "{value}" has type {kind}, which runs after the stages', "name an agent of type default or synthesis")
    return value


def _usable_as_sub_agent(value: str, info: ValidationInfo) -> str:
    if (kind := _agent_type(value, info)) != "default":
        raise refuse(f'agent "{value}" has type {kind} and cannot be sent by another', "name an agent of type default")
    names = known_names(info)
    if names and value in names.agents and value not in names.described_agents:
        message = f'agent "{value}" has no description, so other agents cannot know what to send it for'
        raise refuse(message, f"write agents.{value}.description")
    return value


def _usable_in_chat(value: str, info: ValidationInfo) -> str:
    if (kind := _agent_type(value, info)) not in {"default", "orchestrator"}:
        raise refuse(f'agent "{value}" has type {kind} and cannot hold a conversation', "name an agent of type default")
    return value


_DURATION_SCHEMA = {
    "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^(\d+(\.\d+)?(ms|s|m|h))+$"}],
    "x-kind": "duration",
}

Duration = Annotated[float, BeforeValidator(parse_duration), AfterValidator(_positive), WithJsonSchema(_DURATION_SCHEMA)]
DurationOrZero = Annotated[float, BeforeValidator(parse_duration), WithJsonSchema(_DURATION_SCHEMA)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Text = Annotated[str, BeforeValidator(_as_text)]
Name = Annotated[str, BeforeValidator(_as_text), AfterValidator(_not_blank)]
WebAddress = Annotated[str, AfterValidator(_web_address)]
Origin = Annotated[str, AfterValidator(_origin)]
Network = Annotated[str, AfterValidator(_network)]
Switch = Annotated[
    bool,
    BeforeValidator(lambda value: _ON.get(value.lower(), value) if isinstance(value, str) else value),
    Field(strict=True),
]
# Fits into PostgreSQL's and JavaScript's integers.
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000_000_000)]
Backend = Annotated[
    LLMBackend,
    # The wire format of the LLM service calls it google-native.
    BeforeValidator(lambda value: LLMBackend.NATIVE_GEMINI.value if value == "google-native" else value),
    WithJsonSchema({"type": "string", "enum": [*(item.value for item in LLMBackend), "google-native"]}),
]
ProviderName = Annotated[Name, existing("LLM provider", lambda known: known.providers)]
AgentName = Annotated[Name, existing("agent", lambda known: known.agents)]
StageAgentName = Annotated[AgentName, AfterValidator(_usable_in_a_stage)]
ChatAgentName = Annotated[AgentName, AfterValidator(_usable_in_chat)]
SubAgentName = Annotated[AgentName, AfterValidator(_usable_as_sub_agent)]
ServerName = Annotated[Name, existing("MCP server", lambda known: known.servers)]
AlertTypeName = Annotated[Name, existing("chain for alert type", lambda known: known.alert_types)]
SkillName = Annotated[Name, existing("skill", lambda known: known.skills)]
TargetName = Annotated[Name, existing("notification target", lambda known: known.targets)]


def ignored_key(description: str, reason: str) -> Any:
    """Declare a key of other TARSy configurations that has no effect here; setting it gives a warning with the reason."""
    return Field(default=None, description=description, json_schema_extra={NO_EFFECT: reason})


def planned_key(description: str) -> Any:
    """Declare a key that is validated but not implemented yet; setting it gives a warning."""
    return Field(default=None, description=description, json_schema_extra=LATER)


def has_effect(key: FieldInfo) -> bool:
    """Return whether a key has an effect, or will have one, unlike those that are only ignored."""
    return NO_EFFECT not in (as_mapping(key.json_schema_extra) or {})  # pyright: ignore[reportUnknownMemberType] - pydantic leaves it open
