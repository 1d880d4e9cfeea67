"""The part of MCP that a server of read-only tools on standard input and output needs.

Every execution starts its own server, and importing the SDK would take a second of CPU time each time. The contract tests use this server
with the SDK's client.
"""

import inspect
import json
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from pydantic import BaseModel, ValidationError, create_model

# Versions with the `initialize`, `tools/list` and `tools/call` below; the newest is offered to a client that requests another.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HARMLESS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


class ToolRefusedError(Exception):
    """The tool cannot do what was requested; the text is for the model, which can act."""


class _RefusedRequestError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Tool:
    """A function of a `subject`, and the schema of its other arguments."""

    function: Callable[..., str]
    subject: object
    arguments: type[BaseModel]

    @classmethod
    def of(cls, function: Callable[..., str], subject: object) -> "Tool":
        """Make a tool from a function's name, docstring and signature; its first argument is the subject."""
        return cls(function, subject, _arguments(function))

    @property
    def name(self) -> str:
        return self.function.__name__

    def described(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": inspect.getdoc(self.function) or "",
            "inputSchema": _schema(self.arguments),
            "annotations": HARMLESS,
        }

    def call(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run the function; a mistake of the caller becomes an error result."""
        try:
            checked = self.arguments.model_validate(arguments)
            given = {name: getattr(checked, name) for name in type(checked).model_fields}
            text, failed = self.function(self.subject, **given), False
        except (ToolRefusedError, ValidationError) as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}


# Evals open a cluster for every case, each with the same tools; making their models and schemas takes a tenth of a second.
@cache
def _arguments(function: Callable[..., str]) -> type[BaseModel]:
    _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
    fields: dict[str, Any] = {
        parameter.name: (parameter.annotation, ... if parameter.default is inspect.Parameter.empty else parameter.default)
        for parameter in parameters
    }
    return create_model(f"{function.__name__}Arguments", **fields)


@cache
def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    return arguments.model_json_schema()


class StdioServer:
    """Handles one message after the other."""

    def __init__(self, name: str, instructions: str, tools: Iterable[Tool]) -> None:
        self._name = name
        self._instructions = instructions
        self._tools = {tool.name: tool for tool in tools}

    def run(self) -> None:
        """Serve until the client closes the connection."""
        # Ctrl-C in the client's terminal reaches this process too, and should print no traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for line in sys.stdin:
            answer = self.answer(line)
            if answer is not None:
                sys.stdout.write(f"{answer}\n")
                sys.stdout.flush()

    def answer(self, line: str) -> str | None:
        """Return the answer to one message; None for a notification."""
        request_id: object = None
        try:
            message = _message(line)
            if "id" not in message:
                return None
            request_id = message["id"]
            params = message.get("params")
            given = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
            content: dict[str, Any] = {"result": self._result(str(message.get("method")), given)}
        except _RefusedRequestError as error:
            content = {"error": {"code": error.code, "message": str(error)}}
        return json.dumps({"jsonrpc": "2.0", "id": request_id, **content})

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                wanted = params.get("protocolVersion")
                return {
                    "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": self._name, "version": "1"},
                    "instructions": self._instructions,
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.described() for tool in self._tools.values()]}
            case "tools/call":
                return self.call(str(params.get("name")), params.get("arguments") or {})
            case _:
                raise _RefusedRequestError(METHOD_NOT_FOUND, f"there is no method {method}")

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name not in self._tools:
            raise _RefusedRequestError(INVALID_PARAMS, f"there is no tool {name}; there are: {', '.join(self._tools)}")
        return self._tools[name].call(arguments)


def _message(line: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise _RefusedRequestError(PARSE_ERROR, f"this is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise _RefusedRequestError(INVALID_REQUEST, "a message is a JSON object")
    return cast("dict[str, Any]", message)
