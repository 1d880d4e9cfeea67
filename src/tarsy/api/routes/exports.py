"""Sessions as a file for a spreadsheet or a program."""

from collections.abc import AsyncIterator
from enum import StrEnum
from typing import Annotated, assert_never

from fastapi import Query, Response
from fastapi.responses import StreamingResponse
from pydantic import Field

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.routes.sessions import MAX_PAGE, SessionChoice
from tarsy.api.schemas.sessions import SessionListItem
from tarsy.api.services import Services, ServicesOf
from tarsy.api.session_table import HEADINGS, csv_line, session_cells
from tarsy.db.session.listing import SessionFilter

router = api_router(tag="sessions")

# A file that a spreadsheet opens at once, and some hundred short queries.
MAX_EXPORTED = 10_000


class ExportFormat(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"


_MEDIA = {ExportFormat.CSV: "text/csv; charset=utf-8", ExportFormat.JSONL: "application/jsonl"}


class ExportQuery(SessionChoice):
    """Which sessions, and as what."""

    form: ExportFormat = Field(default=ExportFormat.CSV, alias="format", description="A CSV table, or one JSON object per line.")


@router.get(
    "/session-export",
    operation_id="exportSessions",
    response_class=Response,
    responses={200: {"content": {"text/csv": {}, "application/jsonl": {}}, "description": "The sessions, newest first, as a file."}},
)
async def export_sessions(services: ServicesOf, query: Annotated[ExportQuery, Query()]) -> Response:
    """The list as a file, at most 10,000 sessions: alert type, verdict, duration and cost."""
    where = query.filter()
    found = sum((await services.sessions.counts(where)).values())
    if found > MAX_EXPORTED:
        detail = f"{found:,} sessions fit, and at most {MAX_EXPORTED:,} are exported at once: say `from` and `to`."
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, detail)
    headers = {"Content-Disposition": f'attachment; filename="tarsy-sessions.{query.form}"'}
    return StreamingResponse(_lines(services, where, query.form), media_type=_MEDIA[query.form], headers=headers)


async def _lines(services: Services, where: SessionFilter, form: ExportFormat) -> AsyncIterator[str]:
    if form is ExportFormat.CSV:
        yield csv_line(HEADINGS)
    cursor = None
    while True:
        page = await services.sessions.list(where, limit=MAX_PAGE, cursor=cursor)
        yield "".join(_line(SessionListItem.of(session), form) for session in page.sessions)
        cursor = page.next_cursor
        if cursor is None:
            return


def _line(session: SessionListItem, form: ExportFormat) -> str:
    match form:
        case ExportFormat.CSV:
            return csv_line(session_cells(session))
        case ExportFormat.JSONL:
            return f"{session.model_dump_json()}\n"
        case _:
            assert_never(form)
