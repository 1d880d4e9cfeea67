"""Error responses as problem details (RFC 9457), and the table of the exceptions that cause them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Self

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from tarsy.config.problems import ConfigError
from tarsy.config.schema.configuration import NoProviderError
from tarsy.config.schema.selection import SelectionError
from tarsy.db.connection import DatabaseUnavailableError
from tarsy.db.errors import BadCursorError, ConflictError, NotFoundError, QueueFullError
from tarsy.db.retry import is_disk_full, is_transient
from tarsy.domain.fork import ForkRefusedError
from tarsy.intake.fields import TooManyValuesError
from tarsy.intake.service import SenderRefusedError, UnknownSenderError
from tarsy.intake.sns import CertificateUnavailableError
from tarsy.kit.text import clip
from tarsy.kit.validation import reason
from tarsy.session.chains import AlertRefusedError, UnknownAlertTypeError
from tarsy.session.submission import AlertTooLargeError, KeyReusedError
from tarsy.setup.recipes import StepRefusedError

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"
# A worker is free again in about this time when the queue is full of ordinary sessions.
RETRY_AFTER_SECONDS = 30
METHODS = ("DELETE", "GET", "PATCH", "POST")
# A client fixes all of them or none; a list as long as the request would only be more load.
MAX_FIELD_PROBLEMS = 20
MAX_LOCATION = 200
# Enough to recognise the value.
MAX_QUOTED = 60
ID_FORM = "An id has 32 hexadecimal digits, with hyphens or without, such as 4f0c6d0e-2f4b-4a57-9d1d-6a4f6f1d7e21."


class ProblemKind(StrEnum):
    """What went wrong, for programs; the last part of `type`."""

    status: HTTPStatus

    def __new__(cls, name: str, status: HTTPStatus) -> Self:
        kind = str.__new__(cls, name)
        kind._value_, kind.status = name, status
        return kind

    BAD_REQUEST = "bad-request", HTTPStatus.BAD_REQUEST
    UNKNOWN_ALERT_TYPE = "unknown-alert-type", HTTPStatus.BAD_REQUEST
    LOGIN_REQUIRED = "login-required", HTTPStatus.UNAUTHORIZED
    FORBIDDEN = "forbidden", HTTPStatus.FORBIDDEN
    NOT_FOUND = "not-found", HTTPStatus.NOT_FOUND
    UNKNOWN_SENDER = "unknown-sender", HTTPStatus.NOT_FOUND
    METHOD_NOT_ALLOWED = "method-not-allowed", HTTPStatus.METHOD_NOT_ALLOWED
    CONFLICT = "conflict", HTTPStatus.CONFLICT
    CONFIG_REFUSED = "config-refused", HTTPStatus.CONFLICT
    TOO_LARGE = "too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type", HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    MISDIRECTED = "misdirected", HTTPStatus.MISDIRECTED_REQUEST
    QUEUE_FULL = "queue-full", HTTPStatus.TOO_MANY_REQUESTS
    # No client receives it: the client is gone.
    ABANDONED = "abandoned", HTTPStatus.REQUEST_TIMEOUT
    INTERNAL = "internal", HTTPStatus.INTERNAL_SERVER_ERROR
    NO_CERTIFICATE = "no-certificate", HTTPStatus.SERVICE_UNAVAILABLE
    NO_MODEL = "no-model", HTTPStatus.SERVICE_UNAVAILABLE
    DATABASE_AWAY = "database-away", HTTPStatus.SERVICE_UNAVAILABLE
    DATABASE_FULL = "database-full", HTTPStatus.INSUFFICIENT_STORAGE


class FieldProblem(BaseModel):
    """One thing that is wrong with a request, and where."""

    location: str
    message: str


class Problem(BaseModel):
    """Problem details as in RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    # Present when single fields are at fault.
    errors: list[FieldProblem] | None = None
    # Present when the alert type is unknown.
    known_alert_types: list[str] | None = None
    # Present when a sender is refused: which one, and why, for programs.
    sender: str | None = None
    reason: str | None = None


class RequestRefusedError(Exception):
    """A route or middleware refuses a request for a reason that only HTTP has."""

    def __init__(self, kind: ProblemKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


# Subclasses first: the first class that matches is used.
TABLE: tuple[tuple[type[Exception], ProblemKind], ...] = (
    (NotFoundError, ProblemKind.NOT_FOUND),
    (ConflictError, ProblemKind.CONFLICT),
    (ForkRefusedError, ProblemKind.CONFLICT),
    (ConfigError, ProblemKind.CONFIG_REFUSED),
    (QueueFullError, ProblemKind.QUEUE_FULL),
    (BadCursorError, ProblemKind.BAD_REQUEST),
    (SenderRefusedError, ProblemKind.LOGIN_REQUIRED),
    (UnknownSenderError, ProblemKind.UNKNOWN_SENDER),
    (CertificateUnavailableError, ProblemKind.NO_CERTIFICATE),
    (KeyReusedError, ProblemKind.CONFLICT),
    (AlertTooLargeError, ProblemKind.TOO_LARGE),
    (TooManyValuesError, ProblemKind.TOO_LARGE),
    (UnknownAlertTypeError, ProblemKind.UNKNOWN_ALERT_TYPE),
    (AlertRefusedError, ProblemKind.BAD_REQUEST),
    (SelectionError, ProblemKind.BAD_REQUEST),
    (StepRefusedError, ProblemKind.BAD_REQUEST),
    (NoProviderError, ProblemKind.NO_MODEL),
    (DatabaseUnavailableError, ProblemKind.DATABASE_AWAY),
    (PoolTimeoutError, ProblemKind.DATABASE_AWAY),
)


_HEADERS: Mapping[ProblemKind, Mapping[str, str]] = {
    ProblemKind.QUEUE_FULL: {"Retry-After": str(RETRY_AFTER_SECONDS)},
    ProblemKind.LOGIN_REQUIRED: {"WWW-Authenticate": "Bearer"},
}


@dataclass(frozen=True, slots=True)
class ProblemResponse:
    problem: Problem
    headers: Mapping[str, str]


def problem_of(kind: ProblemKind, detail: str, **more: Any) -> Problem:
    return Problem(type=f"urn:tarsy:problem:{kind}", title=kind.status.phrase, status=kind.status.value, detail=detail, **more)


def problem_response(error: Exception) -> ProblemResponse:
    """Return the problem that the caller gets for `error`; if it is no fault of the caller, without its details."""
    match error:
        case RequestRefusedError():
            return ProblemResponse(problem_of(error.kind, str(error)), _HEADERS.get(error.kind, {}))
        case RequestValidationError():
            return ProblemResponse(_validation_problem(error), {})
        case HTTPException():
            kind = next((kind for kind in ProblemKind if kind.status == error.status_code), None)
            if kind is not None:
                return ProblemResponse(problem_of(kind, str(error.detail)), error.headers or {})
            status = HTTPStatus(error.status_code)
            problem = Problem(type="about:blank", title=status.phrase, status=status.value, detail=str(error.detail))
            return ProblemResponse(problem, error.headers or {})
        case _:
            return _expected_problem(error)


def _validation_problem(error: RequestValidationError) -> Problem:
    errors: list[FieldProblem] = []
    for entry in error.errors()[:MAX_FIELD_PROBLEMS]:
        message = reason(entry)
        if entry["type"] in {"uuid_parsing", "uuid_type", "uuid_version"}:
            message = f'"{clip(str(entry["input"]), MAX_QUOTED)}" is not an id. {ID_FORM}'
        errors.append(FieldProblem(location=clip(".".join(map(str, entry["loc"])), MAX_LOCATION), message=message))
    detail = "; ".join(
        entry.message if entry.location.startswith("path.") else f"{entry.location}: {entry.message}" for entry in errors[:5]
    )
    return problem_of(ProblemKind.BAD_REQUEST, detail or "The request is not valid.", errors=errors)


def _expected_problem(error: Exception) -> ProblemResponse:
    kind = next((kind for known, kind in TABLE if isinstance(error, known)), ProblemKind.INTERNAL)
    if isinstance(error, DBAPIError) and is_transient(error):
        kind = ProblemKind.DATABASE_AWAY
    if is_disk_full(error):
        detail = "The database's disk is full, so nothing was stored. Try again when the operator has freed some space."
        return ProblemResponse(problem_of(ProblemKind.DATABASE_FULL, detail), {"Retry-After": str(RETRY_AFTER_SECONDS)})
    if kind is ProblemKind.INTERNAL:
        return ProblemResponse(problem_of(kind, "An internal error occurred in TARSy. The log has the details."), {})
    if kind is ProblemKind.DATABASE_AWAY:
        return ProblemResponse(problem_of(kind, "The database is unreachable. Try again in a moment."), {"Retry-After": "5"})
    if isinstance(error, UnknownAlertTypeError):
        return ProblemResponse(problem_of(kind, str(error), known_alert_types=list(error.known)), {})
    if isinstance(error, SenderRefusedError):
        return ProblemResponse(problem_of(kind, str(error), sender=error.source, reason=error.refusal), _HEADERS.get(kind, {}))
    return ProblemResponse(problem_of(kind, str(error)), _HEADERS.get(kind, {}))


def respond(error: Exception) -> Response:
    """Return the response to `error`, and log it if the caller is not at fault."""
    response = problem_response(error)
    status = response.problem.status
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("request.broke", exc_info=error)
    elif status > HTTPStatus.INTERNAL_SERVER_ERROR:
        # The database or the configuration is at fault, so a traceback would not help.
        log.warning("request.failed", status=status, error=str(error))
    # Not pydantic's JSON: the problem may quote half a surrogate pair of the request, which is not UTF-8.
    body = json.dumps(response.problem.model_dump(exclude_none=True))
    return Response(body, status, dict(response.headers), media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Handle every expected exception; the middleware `UnexpectedErrors` handles all others."""

    def handler(request: Request, error: Exception) -> Response:
        response = respond(error)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            # A route knows only its own method, so each method is matched against all routes.
            scope = {key: value for key, value in request.scope.items() if key != "path_params"}
            routes = app.router.routes
            allowed = [method for method in METHODS if any(one.matches({**scope, "method": method})[0] is Match.FULL for one in routes)]
            response.headers["Allow"] = ", ".join(allowed)
        return response

    for known in (RequestRefusedError, RequestValidationError, HTTPException, DBAPIError, *(known for known, _ in TABLE)):
        app.add_exception_handler(known, handler)
