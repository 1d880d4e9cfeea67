"""A tool server over stdio that writes every call it executes into a file: what happened really, whoever was killed.

It speaks the protocol by hand, so that starting one costs milliseconds.
"""

import json
import os
import signal
import sys
import time
from typing import Any

_EMPTY: dict[str, Any] = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


def tool(name: str, **annotations: bool) -> dict[str, Any]:
    return {"name": name, "description": f"{name} something", "inputSchema": _EMPTY, "annotations": annotations}


TOOLS = [
    tool("look", readOnlyHint=True),
    tool("dump", readOnlyHint=True),
    tool("ensure", readOnlyHint=False, idempotentHint=True, destructiveHint=False),
    tool("act", readOnlyHint=False, idempotentHint=False),
    tool("wait", readOnlyHint=True),
]


def execute(name: str, key: str) -> str:
    line = json.dumps({"pid": os.getpid(), "tool": name, "key": key}) + "\n"
    descriptor = os.open(os.environ["LEDGER"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)
    kill = os.path.join(os.path.dirname(os.environ["LEDGER"]), "kill")  # noqa: PTH118, PTH120 - importing pathlib takes longer than the call
    if os.path.exists(kill):  # noqa: PTH110
        with open(kill) as file:  # noqa: PTH123
            victim, pid = file.read().split()
        if victim == key:
            os.remove(kill)  # noqa: PTH107
            os.kill(int(pid) or os.getpid(), signal.SIGKILL)
    if name == "wait" or key == "hang":
        time.sleep(60)
    if name == "dump":
        return "\n".join(f"{key} line {number}: nothing unusual here, as far as anybody can tell" for number in range(500))
    return f"{name} {key}: done"


def answer(request: dict[str, Any]) -> dict[str, Any]:
    params: dict[str, Any] = request.get("params") or {}
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "ledger", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return {"content": [{"type": "text", "text": execute(params["name"], params["arguments"]["key"])}]}
        case _:
            return {}


def main() -> None:
    known = {"initialize", "tools/list", "tools/call", "ping"}
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] in known:
            reply["result"] = answer(request)
        else:
            reply["error"] = {"code": -32601, "message": "there is no such method"}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
