"""The configuration without secrets: values of environments, headers and tokens, and credentials in addresses, are hidden."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tarsy.config.parsed_data import as_list, as_mapping
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.schema.configuration import Config
from tarsy.config.secret_names import names_secret

HIDDEN = "***"
_SECRET_MAPPINGS = frozenset({"env", "custom_headers", "parameters"})
_SECRET_KEYS = frozenset({"bearer_token", "client_secret"})
# Of an address, the credentials before the @ and the secrets in the query are hidden.
_URL_USER = re.compile(r"(?<=://)[^/\s]+@")
_QUERY_VALUE = re.compile(r"([?&]([^=&\s#]+)=)[^&\s#]+")
# `--token abc`: the secret is the next argument. `--token=abc`, `GITHUB_TOKEN=abc` (docker run -e), `--header=Cookie: abc` contain it.
_OPTION = re.compile(r"-{1,2}([\w-]+)")
_NEXT_OPTION = re.compile(r"-\w|--.*")
_ASSIGNMENT = re.compile(r"(?s)(?<![?&\w-])([\w-]+)[\"']?(?:=|:(?!//))\s*(?=\S)")
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
    return _QUERY_VALUE.sub(
        lambda found: found[1] + HIDDEN if names_secret(found[2]) else found[0],
        _URL_USER.sub(f"{HIDDEN}@", text),
    )


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
        secret = next((found.end() for found in _ASSIGNMENT.finditer(text) if names_secret(found[1])), None)
        if hide_next and not _NEXT_OPTION.fullmatch(text):
            shown.append(_hidden(text))
        elif secret is not None:
            shown.append(f"{redacted_text(text[:secret])}{_hidden(text[secret:])}")
        else:
            shown.append(redacted_text(text))
        option = _OPTION.fullmatch(text)
        hide_next = option is not None and names_secret(option[1])
    return shown
