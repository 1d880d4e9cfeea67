"""The control messages between a client and the server. Events are in `tarsy.domain.live_events` and `tarsy.events.live_state`."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from tarsy.kit.validation import reason

MAX_CHANNEL_LENGTH = 100


class _Action(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


EventId = Annotated[int, Field(ge=0, lt=2**63)]
ChannelName = Annotated[str, Field(min_length=1, max_length=MAX_CHANNEL_LENGTH)]


class Subscribe(_Action):
    action: Literal["subscribe"]
    channel: ChannelName
    last_event_id: EventId | None = None


class Unsubscribe(_Action):
    action: Literal["unsubscribe"]
    channel: ChannelName


class Catchup(_Action):
    action: Literal["catchup"]
    channel: ChannelName
    last_event_id: EventId


class Ping(_Action):
    action: Literal["ping"]


ClientAction = Subscribe | Unsubscribe | Catchup | Ping
_ACTION: TypeAdapter[ClientAction] = TypeAdapter(Annotated[ClientAction, Field(discriminator="action")])


class BadActionError(ValueError):
    """The client sent something that is not an action; the message has the reason."""


def parse_action(text: str | bytes) -> ClientAction:
    """Parse a client's message.

    Raises:
        BadActionError: it is none of the actions.
    """
    try:
        return _ACTION.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadActionError(f"{where} {reason(first)}" if where else f"The message {reason(first)}") from error


class ConnectionEstablished(BaseModel):
    type: Literal["connection.established"] = "connection.established"
    connection_id: str


class SubscriptionConfirmed(BaseModel):
    """`last_event_id` is the newest event of the channel: without an id of its own, the client gets what follows it."""

    type: Literal["subscription.confirmed"] = "subscription.confirmed"
    channel: str
    last_event_id: int


class SubscriptionError(BaseModel):
    type: Literal["subscription.error"] = "subscription.error"
    channel: str
    message: str


class CatchupOverflow(BaseModel):
    """The client cannot be brought up to date event by event: it reloads by REST; events after `last_event_id` follow."""

    type: Literal["catchup.overflow"] = "catchup.overflow"
    channel: str
    last_event_id: int


class ErrorMessage(BaseModel):
    type: Literal["error"] = "error"
    message: str


class Pong(BaseModel):
    type: Literal["pong"] = "pong"


ControlMessage = ConnectionEstablished | SubscriptionConfirmed | SubscriptionError | CatchupOverflow | ErrorMessage | Pong
