"""Every metric there is, by what it is about. In a server of several processes each writes its own file and any of them answers for all."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tarsy.telemetry.backlog import Backlog

OTHER = "other"
# Far more alert types, models or tools than an installation has, far fewer series than Prometheus minds.
MOST_VALUES = 200


class BoundedLabel:
    """Lets the first so many different values through; later ones are `other`."""

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


# From a cached call to a model that thinks for minutes.
_CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300)
# From a sample to the longest session that the queue lets run.
_SESSION_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)
# A step is one statement; half a second means that the database is in trouble.
_STEP_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
_HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class SessionMetrics:
    """Investigations and their results."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.submitted = Counter("tarsy_sessions_submitted", "Sessions submitted.", ["alert_type"], registry=registry)
        self.ended = Counter("tarsy_sessions_ended", "Sessions that ended, by status.", ["alert_type", "status"], registry=registry)
        self.wait = Histogram(
            "tarsy_session_wait_seconds", "From submission to the first claim.", buckets=_SESSION_SECONDS, registry=registry
        )
        self.run = Histogram(
            "tarsy_session_run_seconds", "From the first claim to the end.", ["status"], buckets=_SESSION_SECONDS, registry=registry
        )
        self.citations = Counter("tarsy_citations", "Citations in analyses, by the result of the check.", ["status"], registry=registry)
        self.ceilings = Counter(
            "tarsy_ceilings_met", "Calls that did not fit under a ceiling, by account and limit.", ["account", "limit"], registry=registry
        )
        self.alert_to_verdict = Histogram(
            "tarsy_alert_to_verdict_seconds", "From submission to a completed analysis.", buckets=_SESSION_SECONDS, registry=registry
        )


class IntakeMetrics:
    """What monitoring systems send."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.alerts = Counter("tarsy_alerts", "Alerts received, by sender and outcome.", ["source", "action"], registry=registry)
        self.changes = Counter("tarsy_changes", "Changes received.", ["source"], registry=registry)
        self.refused = Counter(
            "tarsy_webhook_refused", "Webhook requests refused because authentication failed.", ["source", "reason"], registry=registry
        )


class WorkMetrics:
    """What workers do."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.claimed = Counter("tarsy_work_claimed", "Work items claimed by a worker.", ["kind"], registry=registry)
        self.released = Counter("tarsy_work_released", "Work items released before they ended.", ["kind", "how"], registry=registry)
        self.recovered = Counter("tarsy_recoveries", "Work items taken over from a silent worker.", ["kind", "outcome"], registry=registry)
        self.step = Histogram("tarsy_step_seconds", "Time to store one step of a run.", buckets=_STEP_SECONDS, registry=registry)


class ModelMetrics:
    """Model calls, as they were stored."""

    def __init__(self, registry: CollectorRegistry) -> None:
        model = ["provider", "model"]
        self.calls = Counter("tarsy_model_calls", "Model calls that ended.", [*model, "kind", "outcome"], registry=registry)
        self.seconds = Histogram("tarsy_model_call_seconds", "Duration of model calls.", model, buckets=_CALL_SECONDS, registry=registry)
        self.first_chunk = Histogram(
            "tarsy_model_first_chunk_seconds", "From a model call to its first chunk.", model, buckets=_CALL_SECONDS, registry=registry
        )
        self.tokens = Counter(
            "tarsy_model_tokens", "Tokens; input includes cached, and output may include thinking.", [*model, "type"], registry=registry
        )
        self.cost = Counter("tarsy_model_cost_usd", "Cost in US dollars, at the prices of the time of the call.", model, registry=registry)
        self.unpriced = Counter("tarsy_model_unpriced_calls", "Calls to models of unknown price.", model, registry=registry)
        self.fallbacks = Counter("tarsy_model_fallbacks", "Executions that switched to another model.", model, registry=registry)


class ToolMetrics:
    """Tool calls that reached a tool, and the servers behind them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        tool = ["server", "tool"]
        self.calls = Counter("tarsy_tool_calls", "Tool calls.", [*tool, "outcome"], registry=registry)
        self.seconds = Histogram("tarsy_tool_call_seconds", "Duration of tool calls.", tool, buckets=_CALL_SECONDS, registry=registry)
        self.shortened = Counter(
            "tarsy_tool_results_shortened", "Tool results that were shortened for the model.", ["how"], registry=registry
        )
        self.server_up = Gauge(
            "tarsy_tool_server_up", "1 if the server answered the last check.", ["server"], registry=registry, multiprocess_mode="livemin"
        )


class ProcessMetrics:
    """The state of this process and its HTTP requests."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.build = Gauge("tarsy_build_info", "1, with the version.", ["version"], registry=registry, multiprocess_mode="livemax")
        self.connections = Gauge(
            "tarsy_live_connections", "Clients connected for live updates.", registry=registry, multiprocess_mode="livesum"
        )
        self.event_lag = Histogram(
            "tarsy_event_lag_seconds",
            "From a status change to its arrival in this process, while clients follow live updates here.",
            buckets=_STEP_SECONDS,
            registry=registry,
        )
        self.database = Gauge(
            "tarsy_database_connections", "Database connections of the pool.", ["state"], registry=registry, multiprocess_mode="livesum"
        )
        route = ["method", "route"]
        self.requests = Counter("tarsy_http_requests", "HTTP requests answered.", [*route, "status"], registry=registry)
        self.request_seconds = Histogram(
            "tarsy_http_request_seconds", "From a request to the start of its response.", route, buckets=_HTTP_SECONDS, registry=registry
        )


class InstallationMetrics:
    """The whole installation. Only one process reports these: the one that has run longest."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, told: str, *labels: str) -> Gauge:
            return Gauge(name, told, labels, registry=registry, multiprocess_mode="livemostrecent")

        self.sessions = gauge("tarsy_sessions", "Sessions that have not ended, by status.", "status")
        self.incidents = gauge("tarsy_incidents_open", "Incidents that are not resolved, by severity.", "severity")
        self.queue_depth = gauge("tarsy_queue_depth", "Sessions waiting for a worker, by priority.", "priority")
        self.queue_age = gauge("tarsy_queue_oldest_age_seconds", "Age of the session that has waited longest, by priority.", "priority")
        self.processes = gauge("tarsy_processes", "Processes with a recent heartbeat, by role.", "role")
        self.workers = gauge("tarsy_workers", "Workers of these processes, by role.", "role")

        # As many series as there are budgets in the configuration; a chain or alert type that is empty means all.
        budget = ("per", "chain", "alert_type")
        self.budget_limit = gauge("tarsy_budget_limit_usd", "Budget of this day or month in US dollars.", *budget)
        self.budget_spent = gauge("tarsy_budget_spent_usd", "Part of the budget that is spent.", *budget)
        self.budget_reserved = gauge("tarsy_budget_reserved_usd", "Part of the budget that is reserved for running calls.", *budget)

    @property
    def gauges(self) -> tuple[Gauge, ...]:
        budgets = self.budget_limit, self.budget_spent, self.budget_reserved
        return self.sessions, self.incidents, self.queue_depth, self.queue_age, self.processes, self.workers, *budgets


class Metrics:
    """All of them, in a registry of their own: two applications in one process do not meet."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # The first to be asked at a scrape.
        self.backlog = Backlog()
        self.registry.register(self.backlog)
        self.sessions = SessionMetrics(self.registry)
        self.intake = IntakeMetrics(self.registry)
        self.work = WorkMetrics(self.registry)
        self.models = ModelMetrics(self.registry)
        self.tools = ToolMetrics(self.registry)
        self.process = ProcessMetrics(self.registry)
        self.installation = InstallationMetrics(self.registry)
