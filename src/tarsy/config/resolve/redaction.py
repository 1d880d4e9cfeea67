"""The configuration without secrets: values of environments, headers and tokens, and credentials in addresses, are hidden."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tarsy.config.parsed_data import as_list, as_mapping
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.schema.configuration import Config

HIDDEN = "***"
_SECRET_MAPPINGS = frozenset({"env", "custom_headers"})
_SECRET_KEYS = frozenset({"bearer_token", "client_secret"})
# Of an address, the credentials before the @ and the secrets in the query are hidden.
_URL_USER = re.compile(r"(?<=://)[^/\s]+@")
_SECRET_WORD = r"(?:token|password|passwd|secret|api[-_]?key|access[-_]?key|credential|auth|signature|sig)"  # noqa: S105 - words that announce a secret
_SECRET_QUERY = re.compile(rf"(?i)([?&](?:key|[^=&\s]*{_SECRET_WORD}[^=&\s]*)=)[^&\s#]+")
# `--token abc`: the secret is the next argument. `--token=abc`, `GITHUB_TOKEN=abc` (docker run -e), `Authorization: Bearer abc` contain it.
_SECRET_OPTION = re.compile(rf"(?i)-{{1,2}}[\w-]*{_SECRET_WORD}[\w-]*")
_SECRET_ASSIGNMENT = re.compile(rf"(?is)([\w-]*{_SECRET_WORD}[\w-]*(?:=|:\s*))(.+)")
_TEMPLATES_ONLY = re.compile(r"(?:\s*\{\{\s*\.\w+\s*\}\}\s*)+")


def redacted(config: Config) -> dict[str, Any]:
    """Return the whole effective configuration, in the structure of the files."""
    return {
        "system": _section(config.system),
        "defaults": _section(config.defaults),
        "queue": _section(config.queue),
        "mcp_servers": _entries(config.mcp_servers),
        "agents": _entries(config.agents),
        "agent_chains": _entries(config.chains),
        "llm_providers": _entries(config.llm_providers),
        "default_provider": config.default_provider,
        "routes": [_section(route) for route in config.routes],
        "senders": _entries(config.senders),
        "mute": [_section(mute) for mute in config.mute],
        "notify": _section(config.notify),
    }


def redacted_chain(chain: ResolvedChain) -> dict[str, Any]:
    """Return a resolved chain without secrets."""
    return {name: _shown(value) for name, value in chain.model_dump(mode="json").items()}


def redacted_text(text: str) -> str:
    """Return a text without credentials in addresses."""
    return _SECRET_QUERY.sub(rf"\1{HIDDEN}", _URL_USER.sub(f"{HIDDEN}@", text))


def _section(section: BaseModel) -> Any:
    return _shown(section.model_dump(mode="json", exclude_none=True, by_alias=True))


def _entries(entries: Mapping[str, BaseModel]) -> dict[str, Any]:
    return {name: _section(entry) for name, entry in entries.items()}


def _shown(value: Any, key: str = "") -> Any:
    if key in _SECRET_KEYS:
        return _hidden(value)
    if (entries := as_mapping(value)) is not None:
        if key in _SECRET_MAPPINGS:
            return {name: _hidden(entry) for name, entry in entries.items()}
        return {name: _shown(entry, name) for name, entry in entries.items()}
    if (items := as_list(value)) is not None:
        return _arguments(items) if key == "args" else [_shown(item) for item in items]
    return redacted_text(value) if isinstance(value, str) else value


def _hidden(value: object) -> object:
    """Hide a value, unless it consists of variable names, which are no secrets."""
    if value is None or (isinstance(value, str) and _TEMPLATES_ONLY.fullmatch(value)):
        return value
    return HIDDEN


def _arguments(arguments: Sequence[Any]) -> list[Any]:
    shown: list[Any] = []
    hide_next = False
    for argument in arguments:
        text = str(argument)
        assigned = _SECRET_ASSIGNMENT.fullmatch(text)
        if hide_next and not text.startswith("-"):
            shown.append(_hidden(text))
        elif assigned:
            shown.append(f"{assigned.group(1)}{_hidden(assigned.group(2))}")
        else:
            shown.append(redacted_text(text))
        hide_next = _SECRET_OPTION.fullmatch(text) is not None
    return shown
