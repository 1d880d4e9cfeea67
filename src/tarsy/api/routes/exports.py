"""Sessions as files: the report and the recording of one, and a list of many as CSV or JSON lines."""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Annotated, Any, assert_never

from anyio import to_thread
from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.routes.sessions import MAX_PAGE, SessionChoice
from tarsy.api.schemas.sessions import SessionListItem
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import ServicesDep
from tarsy.db.errors import NotFoundError
from tarsy.db.session.listing import SessionFilter
from tarsy.db.session.repository import SessionRepository
from tarsy.domain.recording import recording_text
from tarsy.domain.usage import csv_lines
from tarsy.report.html import as_html
from tarsy.report.markdown import as_markdown
from tarsy.report.report import read_report

router = api_router(tag="sessions")
# Of one session; a router of its own because the OpenAPI document lists these operations before others.
session_router = api_router("/sessions/{session_id}", tag="sessions")


class ReportFormat(StrEnum):
    HTML = "html"
    MD = "md"


_REPORT_MEDIA = {ReportFormat.HTML: "text/html; charset=utf-8", ReportFormat.MD: "text/markdown; charset=utf-8"}


@session_router.get(
    "/report",
    operation_id="getReport",
    response_class=Response,
    responses={200: {"content": {"text/html": {}, "text/markdown": {}}, "description": "The report, as a file."}},
)
async def get_report(
    session_id: SessionId,
    services: ServicesDep,
    form: Annotated[ReportFormat, Query(alias="format", description="A page, or Markdown.")] = ReportFormat.HTML,
) -> Response:
    """The session as a file: alert, verdict, analysis, questions, and every cited result."""
    report = await read_report(services.repositories, str(session_id))
    # In a thread: rendering may take a second.
    text = await to_thread.run_sync(as_html if form is ReportFormat.HTML else as_markdown, report)
    # An attachment, never a page of this site: it contains text of models and alerts.
    name = f'attachment; filename="tarsy-{session_id}.{form}"'
    return Response(text.encode("utf-8", "replace"), media_type=_REPORT_MEDIA[form], headers={"Content-Disposition": name})


@session_router.get(
    "/recording",
    operation_id="getRecording",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}, "description": "The recording, as a file."}},
)
async def get_recording(session_id: SessionId, services: ServicesDep) -> Response:
    """The session as a recording for `tarsy replay`, with secrets masked."""
    await services.repositories.sessions.require(str(session_id))
    recording = await services.repositories.recordings.read(str(session_id))
    if recording is None:
        raise NotFoundError("session", str(session_id))
    # In a thread: a recording may have megabytes.
    text = await to_thread.run_sync(recording_text, recording)
    name = f'attachment; filename="tarsy-{session_id}.json"'
    return Response(text.encode(), media_type="application/json", headers={"Content-Disposition": name})


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


def session_cells(session: SessionListItem) -> tuple[str, ...]:
    """Return the cells of a session's row, in the order of `HEADINGS`."""
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


# A file that a spreadsheet opens at once, and some hundred short queries.
MAX_EXPORTED = 10_000


class ExportFormat(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


_EXPORT_MEDIA = {ExportFormat.CSV: "text/csv; charset=utf-8", ExportFormat.JSONL: "application/jsonl"}


class ExportQuery(SessionChoice):
    """Which sessions, and as what."""

    form: ExportFormat = Field(default=ExportFormat.CSV, alias="format", description="A CSV table, or one JSON object per line.")


@router.get(
    "/session-export",
    operation_id="exportSessions",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}, "application/jsonl": {}}, "description": "The sessions, newest first, as a file."}},
)
async def export_sessions(services: ServicesDep, query: Annotated[ExportQuery, Query()]) -> Response:
    """The list as a file, at most 10,000 sessions: alert type, verdict, duration and cost."""
    where = query.filter()
    found = sum((await services.repositories.sessions.counts(where)).values())
    if found > MAX_EXPORTED:
        detail = f"{found:,} sessions match, and at most {MAX_EXPORTED:,} can be exported at once: narrow them with `from` and `to`."
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, detail)
    headers = {"Content-Disposition": f'attachment; filename="tarsy-sessions.{query.form}"'}
    lines = _lines(services.repositories.sessions, where, query.form)
    return StreamingResponse(lines, media_type=_EXPORT_MEDIA[query.form], headers=headers)


async def _lines(sessions: SessionRepository, where: SessionFilter, form: ExportFormat) -> AsyncIterator[str]:
    if form is ExportFormat.CSV:
        yield csv_lines([HEADINGS])
    cursor = None
    while True:
        page = await sessions.list(where, limit=MAX_PAGE, cursor=cursor)
        items = [SessionListItem.of(session) for session in page.sessions]
        match form:
            case ExportFormat.CSV:
                yield csv_lines(map(session_cells, items))
            case ExportFormat.JSONL:
                yield "".join(f"{item.model_dump_json()}\n" for item in items)
            case _:
                assert_never(form)
        cursor = page.next_cursor
        if cursor is None:
            return
