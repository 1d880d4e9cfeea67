"""The meaning of vendors' failures: one table from status codes, words and exception names to error codes, without knowing any SDK."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from tarsy.domain.llm import ErrorCode
from tarsy.kit.text import clip

# Enough for a vendor's explanation, too little for a page of HTML.
LONGEST_MESSAGE = 2000

_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context window|prompt is too long|input is too long|"
    r"exceeds the maximum number of tokens|token limit|exceeds? (?:the )?(?:available )?context|exceed_context_size|"
    # A proxy's words for HTTP 413, and those of gRPC's implementations for a message above their limit.
    r"(?:entity|payload|content) too large|request_too_large|message (?:is )?(?:larger than|exceeds) (?:the )?max",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|invalid[ _]api[ _]key|authentication_error|permission_error", re.IGNORECASE)
_EXHAUSTED_QUOTA = re.compile(r"insufficient_quota|billing_hard_limit|credit balance is too low", re.IGNORECASE)
_RATE_LIMIT = re.compile(r"rate_limit|RESOURCE_EXHAUSTED|too many requests", re.IGNORECASE)
_SERVER_TROUBLE = re.compile(
    r"overloaded|server_error|api_error|internal error|UNAVAILABLE|INTERNAL|bad gateway|No generation chunks", re.IGNORECASE
)

_STATUS_IN_TEXT = re.compile(r"\b(?:HTTP|status|code|error)[ :=]*([45]\d\d)\b", re.IGNORECASE)
_GATEWAY_TIMEOUT = re.compile(r"gateway time-?out", re.IGNORECASE)
_TIMED_OUT = re.compile(r"timed[ -]?out|time-?out|DEADLINE_EXCEEDED|deadline exceeded", re.IGNORECASE)
# A gateway's timeout, and the status that some content networks use for it.
_TIMEOUTS = {504, 524}

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_RETRY_DELAY = re.compile(r'"retryDelay": "(\d+(?:\.\d+)?)s"')

# Names of exceptions, or of their bases, that mean a broken connection. By name, because the SDKs bring two copies of one HTTP library.
_CONNECTION = {
    "TransportError",
    "NetworkError",
    "ProtocolError",
    "APIConnectionError",
    "ConnectionError",
    "ClientConnectionError",
    "OSError",
}
_TIMEOUT = {"TimeoutException", "APITimeoutError", "TimeoutError"}
# Google's credentials did not yield a token.
_NO_GOOGLE_TOKEN = {"GoogleAuthError"}
_UNREADABLE = {"JSONDecodeError", "UnknownApiResponseError", "APIResponseValidationError", "ValidationError", "UnicodeDecodeError"}

# Statuses with which a proxy that asks for a login, or a busy gateway, may send a page.
_PAGES_ALLOWED = {401, 403, 407, 408, 429}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a call failed."""

    code: ErrorCode
    message: str
    # The caller may try again later.
    retryable: bool = False
    # Retrying at once may help, so we do.
    transient: bool = False
    # The seconds that the vendor asked to wait.
    retry_after: float | None = None
    # No rule here knows it: the traceback is logged.
    unexpected: bool = False


class SilenceError(Exception):
    """The vendor sent nothing for too long; `started` tells whether its answer had begun."""

    def __init__(self, seconds: float, *, started: bool) -> None:
        self.started = started
        super().__init__(f"the answer stalled for {seconds:g} s" if started else f"no answer within {seconds:g} s")


class UnfinishedStreamError(Exception):
    """The stream ended before the vendor declared the answer complete."""


class RefusedAnswerError(Exception):
    """The vendor declined to answer this prompt; sending the same again changes nothing."""


class WrongAddressError(Exception):
    """A `base_url` leads to something else than a model's API; the operator can act."""


async def refuse_wrong_address(response: Any) -> None:
    """Check the head of a response before the SDK reads it as an answer.

    Raises:
        WrongAddressError: it is a web page, or says that there is nothing at its address.
    """
    status, kind = response.status_code, response.headers.get("content-type", "")
    if kind.startswith("text/html") and status < 500 and status not in _PAGES_ALLOWED:
        raise WrongAddressError(
            f"{address_of(response.request)} answered with a web page (HTTP {status}), not with a model's answer: check base_url"
        )
    if status in {404, 405} and "json" not in kind:
        raise WrongAddressError(f"there is nothing at {address_of(response.request)} (HTTP {status}): check base_url")


# Event hooks for the HTTP clients of the SDKs.
HOOKS = {"response": [refuse_wrong_address]}


def address_of(request: Any) -> str:
    """Return the address of a request without a login, or a key in its query."""
    return f"{host_of(request)}{request.url.path}"


def host_of(request: Any) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"


def describe(error: BaseException, *, now: datetime | None = None) -> Failure:
    """Return the meaning of `error`, which an SDK or `attempts` raised."""
    if isinstance(error, SilenceError):
        return Failure(code=ErrorCode.STALLED if error.started else ErrorCode.TIMEOUT, message=str(error), retryable=True)
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    statuses = (getattr(link, name, None) for link in chain for name in ("status_code", "code"))
    status = next((value for value in statuses if isinstance(value, int) and 400 <= value < 600), None)
    words = _vendor_words(chain)
    text = " ".join((*map(str, chain), words or ""))
    message = clip(_message(chain, status, words), LONGEST_MESSAGE)
    if isinstance(error, RefusedAnswerError):
        return Failure(code=ErrorCode.INVALID_REQUEST, message=message)
    if wrong := next((link for link in chain if isinstance(link, WrongAddressError)), None):
        return Failure(code=ErrorCode.INVALID_REQUEST, message=str(wrong))
    if status is not None:
        return _by_status(status, text, message, _retry_after(chain, now or datetime.now(UTC)))
    return _by_text(text, message) or _by_name(chain, message)


def _by_status(status: int, text: str, message: str, retry_after: float | None) -> Failure:
    if status in {401, 403} or (status == 400 and _BAD_KEY.search(text)):
        return Failure(code=ErrorCode.CREDENTIALS, message=message)
    if status == 413 or (status in {400, 422, 500} and _TOO_LONG.search(text)):
        return Failure(code=ErrorCode.CONTEXT_TOO_LONG, message=message)
    if status == 429:
        transient = not _EXHAUSTED_QUOTA.search(text)
        return Failure(code=ErrorCode.RATE_LIMITED, message=message, retryable=True, transient=transient, retry_after=retry_after)
    if status in _TIMEOUTS:
        return Failure(code=ErrorCode.TIMEOUT, message=message, retryable=True, transient=True, retry_after=retry_after)
    if status == 408 or status >= 500:
        return Failure(code=ErrorCode.PROVIDER_UNAVAILABLE, message=message, retryable=True, transient=True, retry_after=retry_after)
    return Failure(code=ErrorCode.INVALID_REQUEST, message=message)


def _by_text(text: str, message: str) -> Failure | None:
    """Classify an error inside a stream that began with HTTP 200: it has no status, only words."""
    if _TOO_LONG.search(text):
        return Failure(code=ErrorCode.CONTEXT_TOO_LONG, message=message)
    if _BAD_KEY.search(text):
        return Failure(code=ErrorCode.CREDENTIALS, message=message)
    if _RATE_LIMIT.search(text):
        return Failure(code=ErrorCode.RATE_LIMITED, message=message, retryable=True, transient=True)
    if _TIMED_OUT.search(text):
        # As after our own time limits: such a long wait is not repeated at once.
        return Failure(code=ErrorCode.TIMEOUT, message=message, retryable=True)
    if _SERVER_TROUBLE.search(text):
        return Failure(code=ErrorCode.PROVIDER_UNAVAILABLE, message=message, retryable=True, transient=True)
    return None


def code_from_text(text: str) -> ErrorCode:
    """Return the code of a failure of which only the message is known."""
    if status := _STATUS_IN_TEXT.search(text):
        return _by_status(int(status[1]), text, text, None).code
    if _GATEWAY_TIMEOUT.search(text):
        return ErrorCode.TIMEOUT
    found = _by_text(text, text)
    return found.code if found else ErrorCode.PROVIDER_UNAVAILABLE


def _by_name(chain: Sequence[BaseException], message: str) -> Failure:
    names = {base.__name__ for link in chain for base in type(link).__mro__}
    if names & _NO_GOOGLE_TOKEN:
        return Failure(code=ErrorCode.CREDENTIALS, message=message)
    if names & _TIMEOUT:
        return Failure(code=ErrorCode.TIMEOUT, message=message, retryable=True)
    if names & (_CONNECTION | _UNREADABLE) or UnfinishedStreamError.__name__ in names:
        return Failure(code=ErrorCode.PROVIDER_UNAVAILABLE, message=message, retryable=True, transient=True)
    # The SDK did not expect it either: it may pass, but repeating the call at once does not help.
    return Failure(code=ErrorCode.PROVIDER_UNAVAILABLE, message=message, retryable=True, unexpected=True)


def _message(chain: Sequence[BaseException], status: int | None, words: str | None) -> str:
    if status is not None:
        # The path may be wrong as well as the model's name.
        place = f" from {address}" if status in {404, 405} and (address := _requested(chain, address_of)) else ""
        return f"HTTP {status}{place}: {words or str(chain[0]) or type(chain[0]).__name__}"
    # The SDKs report only that there is no connection; the causes tell why, and to which host.
    address = _requested(chain, host_of)
    *before, last = dict.fromkeys(str(link) or type(link).__name__ for link in chain)
    reasons = "; ".join((*(reason.rstrip(".") for reason in before), last))
    return words or (f"{reasons} ({address})" if address else reasons)


def _requested(chain: Sequence[BaseException], of: Callable[[Any], str]) -> str | None:
    """Return what `of` reads from the request of the first error that has one."""
    for link in chain:
        for holder in (link, getattr(link, "response", None)):
            try:
                return of(cast("Any", holder).request)
            except (AttributeError, RuntimeError):
                continue
    return None


def _vendor_words(chain: Sequence[BaseException]) -> str | None:
    """Return the vendor's own sentence from the JSON around it, or else the whole body."""
    for link in chain:
        for source in (getattr(link, "body", None), getattr(link, "details", None)):
            if sentence := _sentence(source):
                return sentence
    for link in chain:
        try:
            text: Any = cast("Any", link).response.text
        except (AttributeError, RuntimeError):
            # There is no body, or the SDK has not read it.
            continue
        if isinstance(text, str) and text.strip():
            return text.strip()
    return None


def _sentence(body: Any) -> str | None:
    if isinstance(body, str):
        return body
    if not isinstance(body, Mapping):
        return None
    fields = cast("Mapping[str, Any]", body)
    inner = fields.get("error")
    if isinstance(inner, (Mapping, str)):
        return _sentence(inner)
    message = fields.get("message")
    return message if isinstance(message, str) else None


def _retry_after(chain: Sequence[BaseException], now: datetime) -> float | None:
    for link in chain:
        headers = getattr(getattr(link, "response", None), "headers", None)
        if headers is not None:
            seconds = parse_retry_after(headers.get("retry-after-ms"), headers.get("retry-after"), now)
            if seconds is not None:
                return seconds
        # Google's own way.
        details: Any = getattr(link, "details", None)
        if found := _RETRY_DELAY.search(json.dumps(details, default=str)) if details else None:
            return float(found.group(1))
    return None


def parse_retry_after(milliseconds: str | None, value: str | None, now: datetime) -> float | None:
    """Parse Retry-After, in seconds or as a date, or the finer header that some vendors add."""
    if milliseconds and _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    if not value:
        return None
    if _NUMBER.fullmatch(value):
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds())
    except (ValueError, TypeError):
        return None
