"""A model as a session is given it: resolved at submission, stored with the session, named in every request.

Values that come from the environment stay `{{.VAR}}` templates here: a snapshot never holds a secret.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from pydantic import ConfigDict

from tarsy.domain.agent import ProviderType
from tarsy.kit.model import Model


class ResolvedProvider(Model):
    """A model and the way to reach it. Times in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    type: ProviderType
    model: str
    api_key_env: str | None = None
    credentials_env: str | None = None
    project_env: str | None = None
    location_env: str | None = None
    base_url: str | None = None
    native_tools: Mapping[str, bool] = {}
    # A model that thinks long before it speaks still says its first word within a minute.
    first_chunk_timeout: float = 60.0
    stall_timeout: float = 30.0
    max_tool_result_tokens: int | None = None
    context_window: int | None = None
    # Replay only: the recording file, or `sample:NAME`.
    recording: str | None = None
    # Replay only: how fast it is played; None leaves it to the process that plays.
    replay_speed: float | None = None


def provider_named(snapshot: Mapping[str, Any], name: str) -> ResolvedProvider | None:
    """The provider of that name in a stored chain, wherever in it an agent may ask it."""
    found = next((fields for fields in _providers(snapshot) if fields.get("name") == name), None)
    return ResolvedProvider.model_validate(found) if found else None


def _providers(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _providers(item)
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, Any]", value).items():
            if key == "provider" and isinstance(item, Mapping):
                yield cast("Mapping[str, Any]", item)
            else:
                yield from _providers(item)
