"""Every Prometheus metric, by subject. Where several processes share a directory, each writes its own file and any of them reports for all."""

from collections.abc import Sequence
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

OTHER = "other"
# Far more alert types, models or tools than an installation has, far fewer series than Prometheus minds.
MOST_VALUES = 200

# From a cached call to a model that thinks for minutes.
_CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300)
# From a sample to the longest session that the queue lets run.
_SESSION_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)
# A step is one statement; half a second means that the database is in trouble.
_STEP_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
_HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

# How the values of several processes become one.
GaugeMode = Literal["livemin", "livemax", "livesum", "livemostrecent"]


class BoundedLabel:
    """Passes the first `most` different values of a label and replaces later ones by `other`: Prometheus keeps every series for weeks."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._seen: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._seen:
            return value
        if len(self._seen) >= self._most:
            return OTHER
        self._seen.add(value)
        return value


class MetricGroup:
    """Creates metrics in one registry. `label_names` has those of each, for the reference page."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self.label_names: dict[Counter | Gauge | Histogram, Sequence[str]] = {}

    def counter(self, name: str, documentation: str, *labels: str) -> Counter:
        metric = Counter(name, documentation, labels, registry=self._registry)
        self.label_names[metric] = labels
        return metric

    def gauge(self, name: str, documentation: str, *labels: str, across_processes: GaugeMode) -> Gauge:
        metric = Gauge(name, documentation, labels, registry=self._registry, multiprocess_mode=across_processes)
        self.label_names[metric] = labels
        return metric

    def histogram(self, name: str, documentation: str, *labels: str, buckets: Sequence[float]) -> Histogram:
        metric = Histogram(name, documentation, labels, buckets=buckets, registry=self._registry)
        self.label_names[metric] = labels
        return metric


class SessionMetrics(MetricGroup):
    """Investigations and their results."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self.submitted = self.counter("tarsy_sessions_submitted", "Sessions submitted.", "alert_type")
        self.ended = self.counter("tarsy_sessions_ended", "Sessions that ended, by status.", "alert_type", "status")
        self.wait = self.histogram("tarsy_session_wait_seconds", "From submission to the first claim.", buckets=_SESSION_SECONDS)
        self.run = self.histogram("tarsy_session_run_seconds", "From the first claim to the end.", "status", buckets=_SESSION_SECONDS)
        self.citations = self.counter("tarsy_citations", "Citations in analyses, by the result of the check.", "status")
        self.ceilings = self.counter(
            "tarsy_ceilings_met", "Calls that did not fit under a ceiling, by account and limit.", "account", "limit"
        )
        self.alert_to_verdict = self.histogram(
            "tarsy_alert_to_verdict_seconds", "From submission to a completed analysis.", buckets=_SESSION_SECONDS
        )


class IntakeMetrics(MetricGroup):
    """What monitoring systems send."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self.alerts = self.counter("tarsy_alerts", "Alerts received, by sender and outcome.", "source", "action")
        self.changes = self.counter("tarsy_changes", "Changes received.", "source")
        self.refused = self.counter(
            "tarsy_webhook_refused", "Webhook requests that got an error response, by sender and reason.", "source", "reason"
        )


class WorkMetrics(MetricGroup):
    """What workers do."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self.claimed = self.counter("tarsy_work_claimed", "Work items claimed by a worker.", "kind")
        self.released = self.counter("tarsy_work_released", "Work items released before they ended.", "kind", "how")
        self.recovered = self.counter("tarsy_recoveries", "Work items taken over from a silent worker.", "kind", "outcome")
        self.notifications = self.counter(
            "tarsy_notifications", "Attempts to deliver a notification, by target and result.", "target", "result"
        )
        self.step = self.histogram("tarsy_step_seconds", "Time to store one step of a run.", buckets=_STEP_SECONDS)


class ModelMetrics(MetricGroup):
    """Model calls, as they were stored."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        model = "provider", "model"
        self.calls = self.counter("tarsy_model_calls", "Model calls that ended.", *model, "kind", "outcome")
        self.seconds = self.histogram("tarsy_model_call_seconds", "Duration of model calls.", *model, buckets=_CALL_SECONDS)
        self.first_chunk = self.histogram(
            "tarsy_model_first_chunk_seconds", "From a model call to its first chunk.", *model, buckets=_CALL_SECONDS
        )
        self.tokens = self.counter("tarsy_model_tokens", "Tokens; input includes cached, and output may include thinking.", *model, "type")
        self.cost = self.counter("tarsy_model_cost_usd", "Cost in US dollars, at the prices of the time of the call.", *model)
        self.unpriced = self.counter("tarsy_model_unpriced_calls", "Calls to models of unknown price.", *model)
        self.fallbacks = self.counter("tarsy_model_fallbacks", "Executions that switched to another model.", *model)


class ToolMetrics(MetricGroup):
    """Tool calls that reached a tool, and the servers behind them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        tool = "server", "tool"
        self.calls = self.counter("tarsy_tool_calls", "Tool calls.", *tool, "outcome")
        self.seconds = self.histogram("tarsy_tool_call_seconds", "Duration of tool calls.", *tool, buckets=_CALL_SECONDS)
        self.shortened = self.counter("tarsy_tool_results_shortened", "Tool results that were shortened for the model.", "how")
        self.server_up = self.gauge(
            "tarsy_tool_server_up", "1 if the server answered the last check.", "server", across_processes="livemin"
        )


class ProcessMetrics(MetricGroup):
    """The state of this process and its HTTP requests."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self.build = self.gauge("tarsy_build_info", "1, with the version.", "version", across_processes="livemax")
        self.connections = self.gauge("tarsy_live_connections", "Clients connected for live updates.", across_processes="livesum")
        self.event_lag = self.histogram(
            "tarsy_event_lag_seconds",
            "From a status change, by any process, to its notification in this process.",
            buckets=_STEP_SECONDS,
        )
        self.database = self.gauge("tarsy_database_connections", "Database connections of the pool.", "state", across_processes="livesum")
        route = "method", "route"
        self.requests = self.counter("tarsy_http_requests", "HTTP requests answered.", *route, "status")
        self.request_seconds = self.histogram(
            "tarsy_http_request_seconds", "From a request to the start of its response.", *route, buckets=_HTTP_SECONDS
        )


class InstallationMetrics(MetricGroup):
    """The whole installation. Only one process reports these: the one that has run longest."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)

        def gauge(name: str, documentation: str, *labels: str) -> Gauge:
            return self.gauge(name, documentation, *labels, across_processes="livemostrecent")

        self.sessions = gauge("tarsy_sessions", "Sessions that have not ended, by status.", "status")
        self.incidents = gauge("tarsy_incidents_open", "Incidents that are not resolved, by severity.", "severity")
        self.queue_depth = gauge("tarsy_queue_depth", "Sessions waiting for a worker, by priority.", "priority")
        self.queue_age = gauge("tarsy_queue_oldest_age_seconds", "Age of the session that has waited longest, by priority.", "priority")
        self.processes = gauge("tarsy_processes", "Processes with a recent heartbeat, by role.", "role")
        self.workers = gauge("tarsy_workers", "Workers of these processes, by role.", "role")

        # As many series as there are budgets in the configuration; a chain or alert type that is empty means all.
        budget = "per", "chain", "alert_type"
        self.budget_limit = gauge("tarsy_budget_limit_usd", "Budget of this day or month in US dollars.", *budget)
        self.budget_spent = gauge("tarsy_budget_spent_usd", "Part of the budget that is spent.", *budget)
        self.budget_reserved = gauge("tarsy_budget_reserved_usd", "Part of the budget that is reserved for running calls.", *budget)


class Metrics:
    """All of them, in a registry of their own: two applications in one process do not share it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.sessions = SessionMetrics(self.registry)
        self.intake = IntakeMetrics(self.registry)
        self.work = WorkMetrics(self.registry)
        self.models = ModelMetrics(self.registry)
        self.tools = ToolMetrics(self.registry)
        self.process = ProcessMetrics(self.registry)
        self.installation = InstallationMetrics(self.registry)
