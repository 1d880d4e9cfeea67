"""Tracing on or off: wraps the ports that a run is made with."""

from collections.abc import Mapping

from tarsy.agent.ports import Journal, LLMClient, ToolServers
from tarsy.queue.handler import Queue
from tarsy.session.ports import History
from tarsy.telemetry.traced_calls import TracedModel, TracedToolServers
from tarsy.telemetry.traced_runs import RunSpans, TracedHistory, TracedJournal, TracedQueue
from tarsy.telemetry.tracing import Tracing, is_traced


class Observer:
    """Tracing is off: every port stays as it is."""

    def model(self, inner: LLMClient) -> LLMClient:
        return inner

    def tools(self, inner: ToolServers) -> ToolServers:
        return inner

    def journal(self, inner: Journal) -> Journal:
        return inner

    def history(self, inner: History) -> History:
        return inner

    def queue(self, inner: Queue) -> Queue:
        return inner

    def close(self) -> None:
        return


class TracingObserver(Observer):
    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing
        self._runs = RunSpans(tracing)

    def model(self, inner: LLMClient) -> LLMClient:
        return TracedModel(inner, self._tracing)

    def tools(self, inner: ToolServers) -> ToolServers:
        return TracedToolServers(inner, self._tracing, self._runs.session_of)

    def journal(self, inner: Journal) -> Journal:
        return TracedJournal(inner, self._runs)

    def history(self, inner: History) -> History:
        return TracedHistory(inner, self._runs)

    def queue(self, inner: Queue) -> Queue:
        return TracedQueue(inner, self._runs)

    def close(self) -> None:
        """Export what is left; may take seconds where the collector does not answer."""
        self._tracing.close()


def observer(env: Mapping[str, str]) -> Observer:
    """Trace if the environment names a collector. Exporters have threads: call this after the process has forked."""
    return TracingObserver(Tracing(env)) if is_traced(env) else Observer()
