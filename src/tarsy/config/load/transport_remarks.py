"""What is allowed in a tool server's transport and probably not meant. Pure module."""

import re
from collections.abc import Iterator, Mapping

from tarsy.config.load.source import Source
from tarsy.config.problems import Path, Problem
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.config.templates import names_session, variables

_SECRET_NAME = re.compile(r"(?i)token|passw|secret|api[-_]?key|access[-_]?key|authorization|credential|cookie")
# A program's own arguments may hold `$NAME` for a reason; with braces it is a variable that stays unfilled.
_OTHER_NOTATION = re.compile(r"\$\{[A-Za-z_]\w*\}|\{\{[^{}]*\}\}")
_URL_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]+@")


def transport_remarks(servers: Mapping[str, MCPServerConfig], source: Source) -> Iterator[Problem]:
    """One remark for each value that looks like a secret, or like a variable in another notation."""
    for name, server in servers.items():
        for path, text in server.transport.texts():
            place = ("mcp_servers", name, "transport", *path)
            if not variables(text) and _looks_secret(path, text):
                # A literal is stored with every session; a template is not.
                message = "this looks like a secret, and it would be stored with every session that uses the server"
                yield source.problem(place, message, "put it into the environment and write {{.NAME}} here")
            for variable in sorted(set(_OTHER_NOTATION.findall(text))):
                if not variables(variable) and not names_session(variable):
                    yield source.problem(place, f"{variable} is taken literally", _cure(variable))


def _cure(variable: str) -> str:
    name = variable.strip("${}. ")
    return (
        f"write {{{{.{name}}}}} for the environment variable"
        if name.isidentifier()
        else "a variable is written {{.NAME}}, and nothing else"
    )


def _looks_secret(path: Path, text: str) -> bool:
    match path:
        case ("bearer_token",):
            return bool(text)
        case ("env" | "custom_headers", str() as name):
            return bool(text) and _SECRET_NAME.search(name) is not None
        case _:
            return _URL_PASSWORD.search(text) is not None
