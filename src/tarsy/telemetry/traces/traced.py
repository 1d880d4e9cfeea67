"""Tracing that is on: what a run is made with, each wrapped, and the book that they share."""

from tarsy.telemetry.ports import History, Journal, Model, Queue, ToolServers
from tarsy.telemetry.traces.run_book import RunBook
from tarsy.telemetry.traces.told_runs import ToldRuns
from tarsy.telemetry.traces.traced_model import TracedModel
from tarsy.telemetry.traces.traced_tools import TracedToolServers
from tarsy.telemetry.traces.traced_work import TracedHistory, TracedJournal, TracedQueue
from tarsy.telemetry.traces.tracing import Tracing


class Traced:
    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing
        self._book = RunBook()

    def model(self, inner: Model) -> Model:
        return TracedModel(inner, self._tracing)

    def tools(self, inner: ToolServers) -> ToolServers:
        return TracedToolServers(inner, self._tracing, self._book)

    def journal(self, inner: Journal) -> Journal:
        return TracedJournal(inner, ToldRuns(self._tracing, self._book))

    def history(self, inner: History) -> History:
        return TracedHistory(inner, self._book)

    def queue(self, inner: Queue) -> Queue:
        return TracedQueue(inner, self._book)

    def close(self) -> None:
        self._tracing.close()
