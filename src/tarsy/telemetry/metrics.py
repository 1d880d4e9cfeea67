"""Every metric there is, by what it is about. In a server of several processes each writes its own file and any of them answers for all."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

# From a cached call to a model that thinks for minutes.
_CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300)
# From a sample to the longest session that the queue lets run.
_SESSION_SECONDS = (1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200)
# A step is one statement; half a second means that the database is in trouble.
_STEP_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30)
_HTTP_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class SessionMetrics:
    """What becomes of alerts."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.submitted = Counter("tarsy_sessions_submitted", "Sessions that were stored.", ["alert_type"], registry=registry)
        self.ended = Counter("tarsy_sessions_ended", "Sessions that ended, by how.", ["alert_type", "status"], registry=registry)
        self.wait = Histogram(
            "tarsy_session_wait_seconds", "From submission to the first claim.", buckets=_SESSION_SECONDS, registry=registry
        )
        self.run = Histogram(
            "tarsy_session_run_seconds", "From the first claim to the end.", ["status"], buckets=_SESSION_SECONDS, registry=registry
        )
        self.citations = Counter("tarsy_citations", "Citations of analyses, by what checking them found.", ["status"], registry=registry)
        self.ceilings = Counter(
            "tarsy_ceilings_met", "Calls that did not fit under a ceiling, by whose and of what.", ["account", "limit"], registry=registry
        )
        self.alert_to_verdict = Histogram(
            "tarsy_alert_to_verdict_seconds", "From submission to a completed analysis.", buckets=_SESSION_SECONDS, registry=registry
        )


class IntakeMetrics:
    """What monitoring systems say."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.alerts = Counter("tarsy_alerts", "Alerts that came in, by what became of them.", ["source", "action"], registry=registry)
        self.changes = Counter("tarsy_changes", "Changes that came in.", ["source"], registry=registry)
        self.refused = Counter("tarsy_webhook_refused", "Requests that were not their sender's.", ["source", "reason"], registry=registry)


class WorkMetrics:
    """What workers do."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.claimed = Counter("tarsy_work_claimed", "Pieces of work that a worker took.", ["kind"], registry=registry)
        self.released = Counter("tarsy_work_released", "Pieces of work let go of before their end.", ["kind", "how"], registry=registry)
        self.recovered = Counter(
            "tarsy_recoveries", "Pieces of work taken back from a silent worker.", ["kind", "outcome"], registry=registry
        )
        self.step = Histogram("tarsy_step_seconds", "Storing one step of a run.", buckets=_STEP_SECONDS, registry=registry)


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
            "tarsy_model_tokens", "Tokens; cached ones are also input, thinking may be output.", [*model, "type"], registry=registry
        )
        self.cost = Counter("tarsy_model_cost_usd", "US dollars, by the prices of the time.", model, registry=registry)
        self.unpriced = Counter(
            "tarsy_model_unpriced_calls", "Calls that used tokens at a price that is not known.", model, registry=registry
        )
        self.fallbacks = Counter("tarsy_model_fallbacks", "Executions that went on with another model.", model, registry=registry)


class ToolMetrics:
    """Tool calls that reached a tool, and the servers behind them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        tool = ["server", "tool"]
        self.calls = Counter("tarsy_tool_calls", "Tool calls that were made.", [*tool, "outcome"], registry=registry)
        self.seconds = Histogram("tarsy_tool_call_seconds", "Duration of tool calls.", tool, buckets=_CALL_SECONDS, registry=registry)
        self.shortened = Counter("tarsy_tool_results_shortened", "Results a model was not shown whole.", ["how"], registry=registry)
        self.server_up = Gauge(
            "tarsy_tool_server_up", "1 when the server answered last time.", ["server"], registry=registry, multiprocess_mode="livemin"
        )


class ProcessMetrics:
    """What this process holds at the moment, and how it answers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.build = Gauge("tarsy_build_info", "1, with the version.", ["version"], registry=registry, multiprocess_mode="livemax")
        self.connections = Gauge("tarsy_live_connections", "Clients that follow live.", registry=registry, multiprocess_mode="livesum")
        self.event_lag = Histogram(
            "tarsy_event_lag_seconds", "From a status move to its arrival here.", buckets=_STEP_SECONDS, registry=registry
        )
        self.database = Gauge(
            "tarsy_database_connections", "Connections of the pool.", ["state"], registry=registry, multiprocess_mode="livesum"
        )
        route = ["method", "route"]
        self.requests = Counter("tarsy_http_requests", "HTTP requests that were answered.", [*route, "status"], registry=registry)
        self.request_seconds = Histogram(
            "tarsy_http_request_seconds", "From a request to the begin of its answer.", route, buckets=_HTTP_SECONDS, registry=registry
        )


class InstallationMetrics:
    """The whole database. One process of the installation tells them: the one that has been there longest."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, told: str, *labels: str) -> Gauge:
            return Gauge(name, told, labels, registry=registry, multiprocess_mode="livemostrecent")

        self.sessions = gauge("tarsy_sessions", "Sessions that have not ended, by status.", "status")
        self.incidents = gauge("tarsy_incidents_open", "Incidents that are not resolved, by severity.", "severity")
        self.queue_depth = gauge("tarsy_queue_depth", "Sessions that wait for a worker, by priority.", "priority")
        self.queue_age = gauge("tarsy_queue_oldest_age_seconds", "Age of the session that has waited longest, by priority.", "priority")
        self.processes = gauge("tarsy_processes", "Processes that gave a sign of life, by role.", "role")
        self.workers = gauge("tarsy_workers", "Workers of these processes, by role.", "role")

        # As many series as there are budgets in the configuration; a chain or alert type that is empty means all.
        budget = ("per", "chain", "alert_type")
        self.budget_limit = gauge("tarsy_budget_limit_usd", "What may be spent in this day or month.", *budget)
        self.budget_spent = gauge("tarsy_budget_spent_usd", "What was spent of it.", *budget)
        self.budget_reserved = gauge("tarsy_budget_reserved_usd", "What is reserved of it for calls under way.", *budget)

    @property
    def gauges(self) -> tuple[Gauge, ...]:
        budgets = self.budget_limit, self.budget_spent, self.budget_reserved
        return self.sessions, self.incidents, self.queue_depth, self.queue_age, self.processes, self.workers, *budgets


class Metrics:
    """All of them, in a registry of their own: two applications in one process do not meet."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.sessions = SessionMetrics(self.registry)
        self.intake = IntakeMetrics(self.registry)
        self.work = WorkMetrics(self.registry)
        self.models = ModelMetrics(self.registry)
        self.tools = ToolMetrics(self.registry)
        self.process = ProcessMetrics(self.registry)
        self.installation = InstallationMetrics(self.registry)
