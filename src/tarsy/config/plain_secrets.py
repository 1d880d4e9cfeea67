"""Secrets that stand in a file as they are. They would be stored with every session; a `{{.VAR}}` is not. Pure module."""

import re
from collections.abc import Iterator, Mapping

from tarsy.config.mcp_servers import MCPServerConfig
from tarsy.config.problems import Path, Problem
from tarsy.config.source import Source
from tarsy.config.templates import variables

_SECRET_NAME = re.compile(r"(?i)token|passw|secret|api[-_]?key|access[-_]?key|authorization|credential|cookie")
_URL_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")


def plain_secrets(servers: Mapping[str, MCPServerConfig], source: Source) -> Iterator[Problem]:
    """One remark for each value of a tool server that looks like a secret and is not taken from the environment."""
    for name, server in servers.items():
        for path, text in server.transport.texts():
            if not variables(text) and _looks_secret(path, text):
                yield source.problem(
                    ("mcp_servers", name, "transport", *path),
                    "this looks like a secret, and it would be stored with every session that uses the server",
                    "put it into the environment and write {{.NAME}} here",
                )


def _looks_secret(path: Path, text: str) -> bool:
    match path:
        case ("bearer_token",):
            return bool(text)
        case ("env" | "custom_headers", str() as name):
            return bool(text) and _SECRET_NAME.search(name) is not None
        case _:
            return _URL_PASSWORD.search(text) is not None
