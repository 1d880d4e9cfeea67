"""Pure module: a session as a row of a table."""

import csv
from collections.abc import Sequence
from io import StringIO
from typing import Any

from tarsy.api.schemas.sessions import SessionListItem

HEADINGS = (
    "id",
    "title",
    "alert_type",
    "chain_id",
    "author",
    "status",
    "severity",
    "outcome",
    "object",
    "mechanism",
    "confidence",
    "citations",
    "citations_verified",
    "created_at",
    "started_at",
    "completed_at",
    "duration_ms",
    "agents",
    "fallbacks",
    "questions",
    "total_tokens",
    "cost_usd",
    "score",
    "cancelled_by",
    "error_message",
    "executive_summary",
)
# A spreadsheet takes a cell that begins so for a formula, and would compute what an alert or a model wrote.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def session_cells(session: SessionListItem) -> tuple[str, ...]:
    """Its cells, under `HEADINGS`."""
    found: dict[str, Any] = session.model_dump(mode="json")
    verdict: dict[str, Any] = found["verdict"] or {}
    citations: dict[str, Any] = found["citations"] or {}
    affected: dict[str, str] = verdict.get("object") or {}
    known = {
        **found,
        **{name: verdict.get(name) for name in ("outcome", "mechanism", "confidence")},
        "object": "/".join(part for part in affected.values() if part),
        "citations": citations.get("cited"),
        "citations_verified": citations.get("verified"),
        "cost_usd": found["cost"]["usd"],
    }
    return tuple("" if known[name] is None else str(known[name]) for name in HEADINGS)


def csv_line(cells: Sequence[str]) -> str:
    line = StringIO()
    csv.writer(line).writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return line.getvalue()
