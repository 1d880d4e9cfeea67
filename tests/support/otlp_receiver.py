"""A collector inside the test: takes what OTLP exporters send over HTTP."""

import gzip
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(slots=True)
class Collector:
    url: str = ""
    bodies: list[bytes] = field(default_factory=list[bytes])
    spans: list[Span] = field(default_factory=list[Span])
    metrics: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    headers: list[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])
    # What the sender says of itself.
    origin: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def env(self) -> dict[str, str]:
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url}

    def named(self, name: str) -> Span:
        """The only span of that name."""
        (span,) = [span for span in self.spans if span.name == name]
        return span

    def parents(self) -> dict[str, str | None]:
        """Each span's parent, by their names; None for a root."""
        names = {span.span_id: span.name for span in self.spans}
        return {span.name: names[span.parent_span_id] if span.parent_span_id else None for span in self.spans}

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if body.startswith(b"{"):
            # JSON: a test that asks for it reads the body itself.
            return
        if path == "/v1/traces":
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.origin = attributes(resource.resource)
                self.spans += [span for scope in resource.scope_spans for span in scope.spans]
        else:
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    self.metrics |= {metric.name: list(metric.histogram.data_points) for metric in scope.metrics}


def attributes(owner: Span | Resource) -> dict[str, Any]:
    return {one.key: _value(one.value) for one in owner.attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    return [_value(one) for one in value.array_value.values] if kind == "array_value" else getattr(value, kind)


@contextmanager
def otlp_receiver() -> Generator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            collector.take(self.path, gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
