"""A `base_url` that leads to something else than a model's API, told by the head of what it answers. Knows no HTTP library, only what theirs share."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from tarsy.domain.llm import ErrorCode
from tarsy.kit.text import clip

# A proxy that asks for a login, or a gateway that is busy, may say so with a page.
_PAGES_ALLOWED = {401, 403, 407, 408, 429}


class WrongAddressError(Exception):
    """What is asked for is not at this address; the operator can act."""


async def refuse_wrong_address(response: Any) -> None:
    """Look at a response before the SDK reads it as an answer.

    Raises:
        WrongAddressError: it is a web page, or says that there is nothing at its address.
    """
    status, kind = response.status_code, response.headers.get("content-type", "")
    if kind.startswith("text/html") and status < 500 and status not in _PAGES_ALLOWED:
        raise WrongAddressError(
            f"{address_of(response.request)} answered with a web page (HTTP {status}), not as a model does: check base_url"
        )
    if status in {404, 405} and "json" not in kind:
        raise WrongAddressError(f"there is nothing at {address_of(response.request)} (HTTP {status}): check base_url")


HOOKS = {"response": [refuse_wrong_address]}


def address_of(request: Any) -> str:
    """Where a request went; neither a login nor a key in the query is told."""
    return f"{host_of(request)}{request.url.path}"


def host_of(request: Any) -> str:
    return f"{request.url.scheme}://{request.url.netloc.decode()}"


# Enough for a vendor's explanation, too little for a page of HTML.
LONGEST_MESSAGE = 2000

_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context window|prompt is too long|input is too long|"
    r"exceeds the maximum number of tokens|token limit|exceeds? (?:the )?(?:available )?context|exceed_context_size",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(r"API_KEY_INVALID|API key not valid|invalid[ _]api[ _]key|authentication_error|permission_error", re.IGNORECASE)
_EXHAUSTED_QUOTA = re.compile(r"insufficient_quota|billing_hard_limit|credit balance is too low", re.IGNORECASE)
_RATE_LIMIT = re.compile(r"rate_limit|RESOURCE_EXHAUSTED|too many requests", re.IGNORECASE)
_SERVER_TROUBLE = re.compile(
    r"overloaded|server_error|api_error|internal error|UNAVAILABLE|INTERNAL|bad gateway|No generation chunks", re.IGNORECASE
)

_GATEWAY_TIMEOUT = re.compile(r"(?:HTTP|status|code|error)[ :=]*504\b|gateway time-?out", re.IGNORECASE)
_TIMED_OUT = re.compile(r"timed[ -]?out|time-?out|DEADLINE_EXCEEDED|deadline exceeded", re.IGNORECASE)
# The vendor's gateway did not wait any longer, and what some content networks say for that.
_TIMEOUTS = {504, 524}

_NUMBER = re.compile(r"\d+(?:\.\d+)?")

# Names of exceptions, here or among their bases, that mean the connection broke; the SDKs bring two copies of the same HTTP library.
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
# Google's credentials, asked for a token, gave none.
_TOKENLESS = {"GoogleAuthError"}
_UNREADABLE = {"JSONDecodeError", "UnknownApiResponseError", "APIResponseValidationError", "ValidationError", "UnicodeDecodeError"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a call failed. `transient`: trying again at once may help, so we do; `retryable`: a caller may try again later."""

    code: ErrorCode
    message: str
    retryable: bool = False
    transient: bool = False
    # What the vendor asked for, in seconds.
    retry_after: float | None = None
    # No rule here knows it: the log should show where it came from.
    unexpected: bool = False


class UnfinishedStreamError(Exception):
    """The stream ended without the vendor's word that the answer is complete."""


class RefusedAnswerError(Exception):
    """The vendor declined to answer this prompt; asking the same again changes nothing."""


def describe(error: BaseException, *, now: datetime | None = None) -> Failure:
    """Say what `error`, raised by an SDK, means."""
    chain = tuple(_chain(error))
    status = next((found for link in chain if (found := _status(link)) is not None), None)
    words = _vendor_words(chain)
    text = " ".join((*map(str, chain), words or ""))
    message = clip(_message(chain, status, words), LONGEST_MESSAGE)
    if isinstance(error, RefusedAnswerError):
        return Failure(code=ErrorCode.INVALID_REQUEST, message=message)
    if wrong := next((link for link in chain if isinstance(link, WrongAddressError)), None):
        return Failure(code=ErrorCode.INVALID_REQUEST, message=str(wrong))
    if status is not None:
        return _by_status(status, text, message, _retry_after(chain, now or datetime.now(UTC)))
    return _by_words(text, message) or _by_name(chain, message)


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


def _by_words(text: str, message: str) -> Failure | None:
    """Errors told inside a stream that began with HTTP 200 have no status, only words."""
    if _TOO_LONG.search(text):
        return Failure(code=ErrorCode.CONTEXT_TOO_LONG, message=message)
    if _BAD_KEY.search(text):
        return Failure(code=ErrorCode.CREDENTIALS, message=message)
    if _RATE_LIMIT.search(text):
        return Failure(code=ErrorCode.RATE_LIMITED, message=message, retryable=True, transient=True)
    if _TIMED_OUT.search(text):
        # As after our own time limits: a wait that long is not begun again at once.
        return Failure(code=ErrorCode.TIMEOUT, message=message, retryable=True)
    if _SERVER_TROUBLE.search(text):
        return Failure(code=ErrorCode.PROVIDER_UNAVAILABLE, message=message, retryable=True, transient=True)
    return None


def code_in_words(text: str) -> ErrorCode:
    """What a failure means of which only words are known."""
    if _GATEWAY_TIMEOUT.search(text):
        return ErrorCode.TIMEOUT
    found = _by_words(text, text)
    return found.code if found else ErrorCode.PROVIDER_UNAVAILABLE


def _by_name(chain: tuple[BaseException, ...], message: str) -> Failure:
    names = {base.__name__ for link in chain for base in type(link).__mro__}
    if names & _TOKENLESS:
        return Failure(code=ErrorCode.CREDENTIALS, message=message)
    if names & _TIMEOUT:
        return Failure(code=ErrorCode.TIMEOUT, message=message, retryable=True)
    if names & (_CONNECTION | _UNREADABLE) or UnfinishedStreamError.__name__ in names:
        return Failure(code=ErrorCode.PROVIDER_UNAVAILABLE, message=message, retryable=True, transient=True)
    # Something the SDK did not expect either: it may pass, but repeating it blindly does not help it.
    return Failure(code=ErrorCode.PROVIDER_UNAVAILABLE, message=message, retryable=True, unexpected=True)


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__


def _status(error: BaseException) -> int | None:
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return None


def _message(chain: tuple[BaseException, ...], status: int | None, words: str | None) -> str:
    if status is not None:
        # The path may be wrong as well as the model's name.
        place = f" from {address}" if status in {404, 405} and (address := _asked(chain, address_of)) else ""
        return f"HTTP {status}{place}: {words or _words(chain[0])}"
    # Of a connection, the SDKs say only that there is none; what stands behind that says why, and to whom.
    address = _asked(chain, host_of)
    *before, last = dict.fromkeys(map(_words, chain))
    reasons = "; ".join((*(reason.rstrip(".") for reason in before), last))
    return words or (f"{reasons} ({address})" if address else reasons)


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _asked(chain: tuple[BaseException, ...], of: Callable[[Any], str]) -> str | None:
    for link in chain:
        for holder in (link, getattr(link, "response", None)):
            try:
                return of(cast("Any", holder).request)
            except (AttributeError, RuntimeError):
                continue
    return None


def _vendor_words(chain: tuple[BaseException, ...]) -> str | None:
    """The vendor's own sentence, out of the JSON that surrounds it; the whole body, if that is something else."""
    sources = ((getattr(link, "body", None), getattr(link, "details", None)) for link in chain)
    sentences = (_sentence(source) for pair in sources for source in pair)
    bodies = (_body(link) for link in chain)
    return next((words for words in (*sentences, *bodies) if words), None)


def _sentence(body: Any) -> str | None:
    if isinstance(body, str):
        return body
    if not isinstance(body, Mapping):
        return None
    fields = cast("Mapping[str, Any]", body)
    inner = fields.get("error")
    if isinstance(inner, Mapping | str):
        return _sentence(inner)
    message = fields.get("message")
    return message if isinstance(message, str) else None


def _body(error: BaseException) -> str | None:
    try:
        text: Any = cast("Any", error).response.text
    except (AttributeError, RuntimeError):
        # There is none, or the SDK has not read it.
        return None
    return text.strip() if isinstance(text, str) else None


def _retry_after(chain: tuple[BaseException, ...], now: datetime) -> float | None:
    for link in chain:
        headers = getattr(getattr(link, "response", None), "headers", None)
        if headers is not None:
            found = parse_retry_after(headers.get("retry-after-ms"), headers.get("retry-after"), now)
            if found is not None:
                return found
        found = _google_retry_delay(getattr(link, "details", None))
        if found is not None:
            return found
    return None


def parse_retry_after(milliseconds: str | None, value: str | None, now: datetime) -> float | None:
    """Read Retry-After as seconds or as a date, or the finer header some vendors add."""
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


def _google_retry_delay(details: Any) -> float | None:
    found = re.search(r'"retryDelay": "(\d+(?:\.\d+)?)s"', json.dumps(details, default=str)) if details else None
    return float(found.group(1)) if found else None
