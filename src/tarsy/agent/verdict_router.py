"""Text that people see while a model writes it, without the verdict in it."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from tarsy.agent.cut_answer import joined
from tarsy.agent.evidence.verdict_stream import VerdictFilter
from tarsy.agent.model_call import TextRouter, WholeText
from tarsy.domain.timeline import TimelineEventType


class WithoutVerdict:
    """Holds the verdict back from whatever another router shows.

    `before` are the pieces of the answer that the model goes on with: what they began, a block or a section, goes on. `shown_as` is the kind of the event
    that the rest of the answer belongs to, where its beginning is still open.
    """

    def __init__(self, inner: TextRouter, before: Sequence[str] = (), shown_as: TimelineEventType | None = None) -> None:
        self._inner = inner
        self._filters: dict[TimelineEventType, VerdictFilter] = {}
        self._newest: TimelineEventType | None = None
        if before:
            # Shown already.
            deque(self.route(joined(before)), maxlen=0)
        if shown_as:
            self._inner = WholeText(shown_as)

    def route(self, delta: str) -> Iterator[tuple[TimelineEventType, str]]:
        return self._filtered(self._inner.route(delta))

    def finish(self) -> Iterator[tuple[TimelineEventType, str]]:
        yield from self._filtered(self._inner.finish())
        yield from self._rest()

    def _filtered(self, pieces: Iterable[tuple[TimelineEventType, str]]) -> Iterator[tuple[TimelineEventType, str]]:
        for kind, text in pieces:
            if kind is not self._newest:
                yield from self._rest()
                self._newest = kind
            yield kind, self._filter(kind).feed(text)

    def _rest(self) -> Iterator[tuple[TimelineEventType, str]]:
        if self._newest and (rest := self._filter(self._newest).finish()):
            yield self._newest, rest

    def _filter(self, kind: TimelineEventType) -> VerdictFilter:
        if kind not in self._filters:
            self._filters[kind] = VerdictFilter()
        return self._filters[kind]
