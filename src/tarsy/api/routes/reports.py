"""A session as a document to keep: one file that needs neither this server nor a network."""

from enum import StrEnum
from typing import Annotated, assert_never

from anyio import to_thread
from fastapi import Query, Response

from tarsy.api.router import api_router
from tarsy.api.schemas.view import SessionId
from tarsy.api.services import ServicesOf
from tarsy.db.errors import NotFoundError
from tarsy.domain.recording import recording_text
from tarsy.report.reading import read_report
from tarsy.report.report import Report

router = api_router("/sessions/{session_id}", tag="sessions")


class ReportFormat(StrEnum):
    HTML = "html"
    MD = "md"


_MEDIA = {ReportFormat.HTML: "text/html; charset=utf-8", ReportFormat.MD: "text/markdown; charset=utf-8"}


@router.get(
    "/report",
    operation_id="getReport",
    response_class=Response,
    responses={200: {"content": {"text/html": {}, "text/markdown": {}}, "description": "The report, as a file."}},
)
async def get_report(
    session_id: SessionId,
    services: ServicesOf,
    form: Annotated[ReportFormat, Query(alias="format", description="A page, or Markdown.")] = ReportFormat.HTML,
) -> Response:
    """The session as a file: alert, verdict, analysis, questions, and every cited result."""
    report = await read_report(services, str(session_id))
    # Rendering takes a second at the worst, in which other requests are answered.
    text = await to_thread.run_sync(_written, report, form)
    # A file, never a page of this site: it holds words that no one has checked.
    name = f'attachment; filename="tarsy-{session_id}.{form}"'
    return Response(text.encode("utf-8", "replace"), media_type=_MEDIA[form], headers={"Content-Disposition": name})


@router.get(
    "/recording",
    operation_id="getRecording",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}, "description": "The recording, as a file."}},
)
async def get_recording(session_id: SessionId, services: ServicesOf) -> Response:
    """The session as a recording for `tarsy replay`, with secrets masked."""
    await services.sessions.require(str(session_id))
    recording = await services.recordings.read(str(session_id))
    if recording is None:
        raise NotFoundError("session", str(session_id))
    # Megabytes at the worst, in which other requests are answered.
    text = await to_thread.run_sync(recording_text, recording)
    name = f'attachment; filename="tarsy-{session_id}.json"'
    return Response(text.encode(), media_type="application/json", headers={"Content-Disposition": name})


def _written(report: Report, form: ReportFormat) -> str:
    from tarsy.report.markdown import as_markdown  # noqa: PLC0415 - what renders Markdown is loaded by the first reader, not by every start
    from tarsy.report.page import as_html  # noqa: PLC0415 - the same

    match form:
        case ReportFormat.HTML:
            return as_html(report)
        case ReportFormat.MD:
            return as_markdown(report)
        case _:
            assert_never(form)
