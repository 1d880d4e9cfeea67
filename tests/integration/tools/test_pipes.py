"""Our ends of a server's pipes, on the event loops that we run on."""

import os
from importlib.util import find_spec
from typing import Any

import anyio
import pytest

from tarsy.tools.pipes import PIPE_BYTES, LineHandler, LineReader, PipeWriter, ServerFloodError

LOOPS = [False, True] if find_spec("uvloop") is not None else [False]
LONGEST = 512 * 1024
LIMIT = 1024 * 1024


@pytest.fixture(params=LOOPS, ids=lambda use_uvloop: "uvloop" if use_uvloop else "asyncio")
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return "asyncio", {"use_uvloop": request.param}


class Heard:
    """Lines as they came, and why no more do."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.sizes: list[int] = []
        self.why: Exception | None = None
        self.ended = anyio.Event()

    @property
    def reader(self) -> LineHandler:
        return LineHandler(self.take, self.end, LONGEST, LIMIT)

    def take(self, line: bytes, size: int) -> None:
        self.lines.append(line)
        self.sizes.append(size)

    def end(self, why: Exception | None) -> None:
        self.why = why
        self.ended.set()


def pipe() -> tuple[int, int]:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    return reading, writing


def is_full(writing: int) -> bool:
    try:
        os.write(writing, b"\n")
    except BlockingIOError:
        return True
    return False


async def ended(received: Heard) -> None:
    with anyio.fail_after(60):
        await received.ended.wait()


async def test_lines_arrive_whole_wherever_they_were_cut_and_before_the_end() -> None:
    reading, writing = pipe()
    received, lines = Heard(), LineReader(reading)
    lines.start(received.reader)
    for piece in (b"one\ntw", b"o\n\nthr", b"e", b"e\nunfinished"):
        os.write(writing, piece)
        await anyio.lowlevel.checkpoint()
    os.close(writing)
    await ended(received)
    lines.close()
    assert received.lines == [b"one", b"two", b"", b"three", b"unfinished"]
    assert received.why is None


async def test_a_server_that_floods_us_has_to_wait() -> None:
    reading, writing = pipe()
    full: list[bool] = []

    class Slow(Heard):
        def take(self, line: bytes, size: int) -> None:
            super().take(line, size)
            if len(self.lines) == 1:
                # All that it held has been read: it takes as much again, and that stays there while the first lines wait.
                assert os.write(writing, b"y" * (PIPE_BYTES - 1) + b"\n") == PIPE_BYTES
            elif len(self.lines) <= PIPE_BYTES // 2:
                full.append(is_full(writing))

    received, lines = Slow(), LineReader(reading)
    assert os.write(writing, b"x\n" * (PIPE_BYTES // 2)) == PIPE_BYTES
    lines.start(received.reader)
    with anyio.fail_after(30):
        while len(received.lines) <= PIPE_BYTES // 2:
            await anyio.lowlevel.checkpoint()
    lines.close()
    os.close(writing)
    assert len(full) == PIPE_BYTES // 2 - 1
    assert all(full)
    assert received.lines[-1] == b"y" * (PIPE_BYTES - 1)


async def test_nothing_comes_from_a_pipe_that_was_closed_while_lines_waited() -> None:
    reading, writing = pipe()
    lines = LineReader(reading)

    class Once(Heard):
        def take(self, line: bytes, size: int) -> None:
            super().take(line, size)
            lines.close()

    closed = Once()
    os.write(writing, b"one\ntwo\nthree\n")
    lines.start(closed.reader)
    with anyio.fail_after(60):
        while not closed.lines:
            await anyio.lowlevel.checkpoint()
    # The number of the file is free again, and what comes by it is for the next who has it.
    next_reading, next_writing = os.pipe()
    assert next_reading == reading
    received, next_lines = Heard(), LineReader(next_reading)
    next_lines.start(received.reader)
    os.write(next_writing, b"four\n")
    os.close(next_writing)
    await ended(received)
    next_lines.close()
    os.close(writing)
    assert (closed.lines, received.lines) == ([b"one"], [b"four"])
    assert not closed.ended.is_set()


async def test_a_line_without_an_end_is_given_up_and_what_follows_it_is_read_into_the_void() -> None:
    reading, writing = pipe()
    received, lines, out = Heard(), LineReader(reading), PipeWriter(writing)
    lines.start(received.reader)
    out.send(b"x" * (LIMIT + 1), received.ended.set)
    await ended(received)
    assert isinstance(received.why, ServerFloodError)
    out.send(b"\n" * LIMIT, received.ended.set)
    with anyio.fail_after(60):
        while is_full(writing):
            await anyio.lowlevel.checkpoint()
    lines.close()
    out.close()
    assert received.lines == []


async def test_of_a_line_too_long_to_be_parsed_only_the_ends_are_kept() -> None:
    reading, writing = pipe()
    received, lines, out = Heard(), LineReader(reading), PipeWriter(writing)
    lines.start(received.reader)
    out.send(b"begin " + b"x" * (LONGEST + 2 * PIPE_BYTES) + b" end\nnext\n", received.ended.set)
    with anyio.fail_after(60):
        while len(received.lines) < 2:
            await anyio.lowlevel.checkpoint()
    lines.close()
    out.close()
    first, second = received.lines
    assert (first[:6], first[-4:], second) == (b"begin ", b" end", b"next")
    assert received.sizes == [len(b"begin  end") + LONGEST + 2 * PIPE_BYTES, 4]
    assert len(first) <= 3 * PIPE_BYTES


async def test_what_the_reader_raises_is_why_no_more_lines_come() -> None:
    reading, writing = pipe()
    trouble = ValueError("not this one")

    class Failing(Heard):
        def take(self, line: bytes, size: int) -> None:
            super().take(line, size)
            raise trouble

    received, lines = Failing(), LineReader(reading)
    os.write(writing, b"one\ntwo\n")
    lines.start(received.reader)
    await ended(received)
    lines.close()
    os.close(writing)
    assert received.lines == [b"one"]
    assert received.why is trouble


async def test_more_than_a_pipe_holds_is_sent_whole_and_in_order() -> None:
    reading, writing = pipe()
    received, lines, out = Heard(), LineReader(reading), PipeWriter(writing)
    sent = [bytes([letter]) * (LONGEST - 1) for letter in b"abc"]
    for line in sent:
        out.send(line + b"\n", received.ended.set)
    lines.start(received.reader)
    with anyio.fail_after(60):
        while len(received.lines) < len(sent):
            await anyio.lowlevel.checkpoint()
    out.close()
    await ended(received)
    lines.close()
    assert received.lines == sent


async def test_the_sender_is_notified_when_the_server_stops_reading_in_the_middle() -> None:
    reading, writing = pipe()
    out, gone = PipeWriter(writing), anyio.Event()
    out.send(b"x" * LIMIT, gone.set)
    assert not gone.is_set()
    os.close(reading)
    with anyio.fail_after(60):
        await gone.wait()
    out.close()


async def test_a_closed_pipe_tells_the_sender_at_once() -> None:
    reading, writing = pipe()
    out, gone = PipeWriter(writing), anyio.Event()
    out.close()
    out.send(b"too late", gone.set)
    os.close(reading)
    assert gone.is_set()
