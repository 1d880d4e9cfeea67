"""Spans that have ended reach the collector: in batches, none twice, and the last ones at the end."""

from collections.abc import Sequence
from threading import Event

from opentelemetry.sdk.resources import Resource

from tarsy.telemetry.traces.span import OpenSpan, Place, Sender
from tarsy.telemetry.traces.span_sender import BATCH_SIZE, DELAY, QUEUE_SIZE, SpanSender

BATCH, QUEUE = 4, 8
# Longer than any test takes: nothing is sent because time passes.
ENV = {BATCH_SIZE: str(BATCH), QUEUE_SIZE: str(QUEUE), DELAY: "600000"}


class Held:
    """Takes a batch and does not answer until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.taken, self.let_go = Event(), Event()

    def export(self, spans: Sequence[OpenSpan]) -> None:
        self.batches.append([span.name for span in spans])
        self.taken.set()
        assert self.let_go.wait(60)

    def shutdown(self) -> None: ...


def send(sender: SpanSender, names: str) -> None:
    for name in names:
        OpenSpan(name, Place(1, None, 1, Sender(Resource.get_empty(), sender.send)), 1).end()


def test_a_full_batch_is_sent_at_once_and_the_rest_at_the_end() -> None:
    exporter = Held()
    sender = SpanSender(exporter, ENV)
    send(sender, "abcd")
    assert exporter.taken.wait(60)
    send(sender, "ef")
    exporter.let_go.set()
    sender.close()
    assert exporter.batches == [list("abcd"), list("ef")]


def test_the_oldest_are_lost_where_a_collector_is_too_slow() -> None:
    exporter = Held()
    sender = SpanSender(exporter, ENV)
    send(sender, "abcd")
    assert exporter.taken.wait(60)
    send(sender, "efghijklmn")
    exporter.let_go.set()
    sender.close()
    assert exporter.batches == [list("abcd"), list("ghij"), list("klmn")]


def test_what_is_sent_now_and_then_is_sent_without_a_full_batch() -> None:
    exporter = Held()
    exporter.let_go.set()
    sender = SpanSender(exporter, {**ENV, DELAY: "1"})
    send(sender, "a")
    assert exporter.taken.wait(60)
    sender.close()
    assert exporter.batches == [["a"]]


def test_a_batch_that_cannot_be_sent_does_not_hold_up_the_next() -> None:
    class Failing(Held):
        def export(self, spans: Sequence[OpenSpan]) -> None:
            super().export(spans)
            raise ConnectionError("gone")

    exporter = Failing()
    exporter.let_go.set()
    sender = SpanSender(exporter, {**ENV, BATCH_SIZE: "1"})
    send(sender, "ab")
    sender.close()
    assert exporter.batches == [["a"], ["b"]]
