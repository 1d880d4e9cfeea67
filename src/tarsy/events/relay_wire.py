"""Pure module: what processes tell each other of transient things, packed into as few notifications as fit."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tarsy.domain.live_events import StreamDelta

TEXT_NOTIFICATION = "tarsy_stream"
WATCH_NOTIFICATION = "tarsy_watch"
# PostgreSQL refuses 8,000 bytes and more.
PAYLOAD_LIMIT = 7_900
# What the envelope around the items takes, generously.
_ENVELOPE = 100
_TEXT = "t"
_PROGRESS = "p"


@dataclass(frozen=True, slots=True)
class Bulletin:
    """Text and progress from one process."""

    sender: str
    texts: Sequence[StreamDelta] = ()
    progress: Sequence[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@dataclass(frozen=True, slots=True)
class Watch:
    """The channels a process follows, and those of which it needs the text from the beginning."""

    sender: str
    channels: Sequence[str]
    from_start: Sequence[str] = ()


def pack_bulletin(bulletin: Bulletin) -> list[str]:
    """As few payloads as hold it all; texts too large for one are split."""
    items = [item for delta in bulletin.texts for item in _text_items(delta)]
    items += [orjson.dumps([_PROGRESS, fields]) for fields in bulletin.progress]
    return _pack(bulletin.sender, items)


def read_bulletin(payload: str) -> Bulletin:
    sender, items = _unpack(payload)
    texts = [StreamDelta(*fields) for kind, *fields in items if kind == _TEXT]
    return Bulletin(sender, texts, [fields for kind, fields, *_ in items if kind == _PROGRESS])


def is_from(payload: str, sender: str) -> bool:
    """Whether `sender` wrote a payload, told without reading the rest of it: a process also hears itself."""
    return payload.startswith(_head(sender).decode())


def pack_watch(watch: Watch) -> list[str]:
    from_start = set(watch.from_start)
    return _pack(watch.sender, [orjson.dumps([channel, channel in from_start]) for channel in watch.channels])


def read_watch(payload: str) -> Watch:
    sender, items = _unpack(payload)
    return Watch(sender, [channel for channel, _ in items], [channel for channel, from_start in items if from_start])


def _text_items(delta: StreamDelta) -> Iterator[bytes]:
    item = orjson.dumps([_TEXT, delta.session_id, delta.event_id, delta.offset, delta.delta])
    if len(item) <= PAYLOAD_LIMIT - _ENVELOPE:
        yield item
        return
    half = len(delta.delta) // 2
    yield from _text_items(StreamDelta(delta.session_id, delta.event_id, delta.offset, delta.delta[:half]))
    yield from _text_items(StreamDelta(delta.session_id, delta.event_id, delta.offset + half, delta.delta[half:]))


def _pack(sender: str, items: Iterable[bytes]) -> list[str]:
    payloads: list[str] = []
    group: list[bytes] = []
    size = _ENVELOPE
    for item in items:
        if group and size + len(item) + 1 > PAYLOAD_LIMIT:
            payloads.append(_envelope(sender, group))
            group, size = [], _ENVELOPE
        group.append(item)
        size += len(item) + 1
    if group:
        payloads.append(_envelope(sender, group))
    return payloads


def _envelope(sender: str, group: Sequence[bytes]) -> str:
    return (b'%b,"items":[%b]}' % (_head(sender), b",".join(group))).decode()


def _head(sender: str) -> bytes:
    return b'{"from":%b' % orjson.dumps(sender)


def _unpack(payload: str) -> tuple[str, list[Any]]:
    message = orjson.loads(payload)
    return message["from"], message["items"]
