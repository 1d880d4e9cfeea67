"""Which models a server at an address has, asked as OpenAI's clients ask (`GET …/models`): Ollama, llama.cpp, vLLM and LM Studio all answer."""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import anyio

from tarsy.config.parsed_data import listing_at, mapping

# A server on one's own network answers at once or not at all.
PROBE_SECONDS = 8.0
# A thousand names are a hundred kilobytes.
MAX_ANSWER_BYTES = 1_000_000
MAX_MODELS = 500
MAX_NAME = 200


class NoModelsError(Exception):
    """The address has no list of models for us; the person who typed it can act."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


@dataclass(frozen=True, slots=True)
class ModelServer:
    # As it belongs into `base_url`: with the `/v1` that people forget.
    base_url: str
    models: tuple[str, ...]


async def probe(address: str) -> ModelServer:
    """Ask the server for its models, at the address as it is and, if there are none, below `/v1`.

    Raises:
        NoModelsError: saying what was found instead.
    """
    parts = _checked(address)
    await _refuse_forbidden(parts)
    given = address.strip().rstrip("/")
    candidates = (given,) if parts.path.rstrip("/").endswith("/v1") else (given, f"{given}/v1")
    found = [await _models_at(candidate) for candidate in candidates]
    best = next((server for server in found if isinstance(server, ModelServer) and server.models), None)
    if best:
        return best
    empty = next((server for server in found if isinstance(server, ModelServer)), None)
    if empty:
        raise NoModelsError(
            f"The server at {empty.base_url} answers and has no model.", "load one there first, for example: ollama pull qwen3:32b"
        )
    raise next(server for server in found if isinstance(server, NoModelsError))


def _checked(address: str) -> SplitResult:
    cure = "write it as http://localhost:11434/v1"
    try:
        parts = urlsplit(address.strip())
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable, parts = False, urlsplit("")
    if not usable:
        raise NoModelsError("This is not the address of a server.", cure)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise NoModelsError("The address has more than a host, a port and a path.", cure)
    return parts


async def _refuse_forbidden(parts: SplitResult) -> None:
    """Addresses of one's own network are what this is for; those that machines of a cloud give credentials away at are not."""
    addresses = await _addresses(parts.hostname or "")
    if any(address.is_link_local or address.is_multicast or address.is_unspecified for address in addresses):
        raise NoModelsError(f"{parts.hostname} is not an address that models are served at.", "write the address of the model's own server")


async def _addresses(host: str) -> Sequence[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """What the name stands for, an IPv4 address in the disguise of IPv6 as what it is."""
    try:
        written = [ipaddress.ip_address(host)]
    except ValueError:
        written = await _resolved(host)
    return [address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address for address in written]


async def _resolved(host: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        found = await anyio.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NoModelsError(f"The name {host} is not known here.", "check the name, or write the machine's address") from error
    return [ipaddress.ip_address(str(place[4][0]).partition("%")[0]) for place in found]


async def _models_at(base_url: str) -> ModelServer | NoModelsError:
    import httpx  # noqa: PLC0415 - loaded only where an installation is set up

    reached = "check that the server runs and that this machine can reach it"
    try:
        async with httpx.AsyncClient(timeout=PROBE_SECONDS, trust_env=False, follow_redirects=False) as http:
            with anyio.fail_after(PROBE_SECONDS):
                async with http.stream("GET", f"{base_url}/models") as answer:
                    return await _read(base_url, answer)
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
        return NoModelsError(f"Nothing answers at {base_url}: {error or 'it took too long'}.", reached)


async def _read(base_url: str, answer: Any) -> ModelServer | NoModelsError:
    speaks = "check the address; servers that speak like OpenAI usually want /v1 at its end"
    if answer.status_code in {401, 403}:
        return NoModelsError(
            f"The server at {base_url} asks for a key.", "configure it by hand: `api_key_env` in llm-providers.yaml names its variable"
        )
    if answer.status_code != 200:
        return NoModelsError(f"{base_url}/models answers with HTTP {answer.status_code}, not with a list of models.", speaks)
    body = b""
    async for part in answer.aiter_bytes():
        body += part
        if len(body) > MAX_ANSWER_BYTES:
            return NoModelsError(f"{base_url}/models answers with more than a list of models.", speaks)
    return _named(base_url, body) or NoModelsError(f"{base_url}/models does not answer with a list of models.", speaks)


def _named(base_url: str, body: bytes) -> ModelServer | None:
    import orjson  # noqa: PLC0415 - as above

    try:
        read = mapping(orjson.loads(body))
    except orjson.JSONDecodeError:
        return None
    if read is None or "data" not in read:
        return None
    names = [(mapping(entry) or {}).get("id") for entry in listing_at(read, "data")]
    shown = (name for name in names if isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable())
    return ModelServer(base_url, tuple(sorted(dict.fromkeys(shown))[:MAX_MODELS]))
