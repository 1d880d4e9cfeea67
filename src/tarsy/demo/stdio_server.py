"""Just enough of MCP for a server of read-only tools on standard input and output.

Every execution starts a server of its own. The SDK would take a second of processor time to be imported each time;
without it a start takes a quarter of that. The contract tests drive this one with the SDK's client.
"""

import inspect
import json
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel, ValidationError, create_model

# The versions whose `initialize`, `tools/list` and `tools/call` are the ones below; the newest is offered to a client that asks for another.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HARMLESS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


class ToolRefusedError(Exception):
    """The tool cannot do what it was asked; the text is for the model."""


class _RefusedRequestError(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that shows something of its `subject`, with its other arguments' schema."""

    function: Callable[..., str]
    subject: object
    arguments: type[BaseModel]

    @classmethod
    def of(cls, function: Callable[..., str], subject: object) -> "Tool":
        """Take name, description and arguments from a function's signature; its first argument is the subject."""
        _, *parameters = inspect.signature(function, eval_str=True).parameters.values()
        fields: dict[str, Any] = {
            parameter.name: (parameter.annotation, ... if parameter.default is inspect.Parameter.empty else parameter.default)
            for parameter in parameters
        }
        return cls(function, subject, create_model(f"{function.__name__}Arguments", **fields))

    @property
    def name(self) -> str:
        return self.function.__name__

    def described(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": inspect.getdoc(self.function) or "",
            "inputSchema": self.arguments.model_json_schema(),
            "annotations": HARMLESS,
        }

    def call(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Run it; a mistake of the caller is a result that says so."""
        try:
            checked = self.arguments.model_validate(arguments)
            given = {name: getattr(checked, name) for name in type(checked).model_fields}
            text, failed = self.function(self.subject, **given), False
        except (ToolRefusedError, ValidationError) as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}


class StdioServer:
    """Answers one message after the other."""

    def __init__(self, name: str, instructions: str, tools: Iterable[Tool]) -> None:
        self._name = name
        self._instructions = instructions
        self._tools = {tool.name: tool for tool in tools}

    def run(self) -> None:
        """Serve until the client hangs up."""
        # Ctrl-C in the client's terminal reaches us too: no reason for a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for line in sys.stdin:
            answer = self.answer(line)
            if answer is not None:
                sys.stdout.write(f"{answer}\n")
                sys.stdout.flush()

    def answer(self, line: str) -> str | None:
        """The answer to one message; None to a notification."""
        request_id: object = None
        try:
            message = _message(line)
            if "id" not in message:
                return None
            request_id = message["id"]
            content: dict[str, Any] = {"result": self._result(str(message.get("method")), message.get("params", {}))}
        except _RefusedRequestError as error:
            content = {"error": {"code": error.code, "message": str(error)}}
        return json.dumps({"jsonrpc": "2.0", "id": request_id, **content})

    def _result(self, method: str, params: object) -> dict[str, Any]:
        given = cast("dict[str, Any]", params) if isinstance(params, dict) else {}
        match method:
            case "initialize":
                return self._introduction(given.get("protocolVersion"))
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool.described() for tool in self._tools.values()]}
            case "tools/call":
                return self.call(str(given.get("name")), given.get("arguments") or {})
            case _:
                raise _RefusedRequestError(METHOD_NOT_FOUND, f"there is no method {method}")

    def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name not in self._tools:
            raise _RefusedRequestError(INVALID_PARAMS, f"there is no tool {name}; there are: {', '.join(self._tools)}")
        return self._tools[name].call(arguments)

    def _introduction(self, wanted: object) -> dict[str, Any]:
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self._name, "version": "1"},
            "instructions": self._instructions,
        }


def _message(line: str) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError as error:
        raise _RefusedRequestError(PARSE_ERROR, f"this is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise _RefusedRequestError(INVALID_REQUEST, "a message is a JSON object")
    return cast("dict[str, Any]", message)
