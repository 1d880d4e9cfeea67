"""Pure module: the running sums of what models and tools were used for, as SQL. A step adds to them in the statement that stores its calls.

Writers add to rows of their own: connections are spread over shards, so that two sessions of one chain seldom wait for each other.
"""

# More than the connections that write at the same moment.
SHARDS = 16

_DAY = "CAST(r.started_at AT TIME ZONE 'UTC' AS date)"
_SHARD = f"pg_backend_pid() % {SHARDS}"
_COUNTS = {
    "calls": "count(*)",
    "failed_calls": "count(*) FILTER (WHERE r.error_code IS NOT NULL)",
    "input_tokens": "sum(r.input_tokens)",
    "cached_tokens": "sum(r.cached_tokens)",
    "output_tokens": "sum(r.output_tokens)",
    "thinking_tokens": "sum(r.thinking_tokens)",
    "cost_usd": "coalesce(sum(r.cost_usd), 0)",
    "unpriced_calls": "count(*) FILTER (WHERE r.cost_usd IS NULL AND r.total_tokens > 0)",
    "duration_ms": "sum(r.duration_ms)",
}
_OF_TOOL = {"calls": "count(*)", "failed_calls": "count(*) FILTER (WHERE r.is_error)", "duration_ms": "sum(r.duration_ms)"}
_OF_SESSION = {name: _COUNTS[name] for name in ("calls", "cost_usd", "unpriced_calls")} | {"total_tokens": "sum(r.total_tokens)"}


def _adding(table: str, keys: dict[str, str], counts: dict[str, str], source: str) -> str:
    """Add what `source` (rows `r`) amounts to. In the order of their keys: two writers never wait for each other in a circle."""
    columns = ", ".join([*keys, *counts])
    values = ", ".join([*keys.values(), *counts.values()])
    places = ", ".join(str(place) for place in range(1, len(keys) + 1))
    added = ", ".join(f"{name} = u.{name} + excluded.{name}" for name in counts)
    return f"""
        INSERT INTO {table} AS u ({columns}) SELECT {values} FROM {source} GROUP BY {places} ORDER BY {places}
        ON CONFLICT ({", ".join(keys)}) DO UPDATE SET {added}"""  # noqa: S608 - our own words


_MODEL_KEYS = {
    "day": _DAY,
    "shard": _SHARD,
    "chain_id": "s.chain_id",
    "alert_type": "s.alert_type",
    "agent_name": "e.agent_name",
    "provider": "r.provider",
    "model": "r.model",
}
_RUN = "JOIN agent_executions e ON e.id = r.execution_id JOIN alert_sessions s ON s.id = r.session_id"


def model_sums(rows: str) -> str:
    """Adds model calls to the sums of their day."""
    return _adding("usage_days", _MODEL_KEYS, _COUNTS, f"{rows} {_RUN}")


def session_sums(rows: str) -> str:
    """Adds model calls to the sum of their session."""
    return _adding("session_spending", {"session_id": "r.session_id"}, _OF_SESSION, rows)


def tool_sums(rows: str) -> str:
    """Adds tool calls to the sums of their day; lists of tools are no calls."""
    keys = {"day": _DAY, "shard": _SHARD, "server": "r.server", "tool": "r.tool"}
    return _adding("tool_days", keys, _OF_TOOL, f"{rows} WHERE r.kind = 'tool_call' AND r.tool IS NOT NULL")
