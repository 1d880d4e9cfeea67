"""A `base_url` that leads to something else than a model's API, told by the head of what it answers. Knows no HTTP library, only what theirs share."""

from typing import Any

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
