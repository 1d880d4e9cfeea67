"""Tracing that is off: everything stays as it is, and nothing of OpenTelemetry is loaded."""

from tarsy.telemetry.ports import History, Journal, Model, Queue, ToolServers


class Untraced:
    def model(self, inner: Model) -> Model:
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
