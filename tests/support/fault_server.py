"""A stdio MCP server that misbehaves on demand. Standard library only, so that it starts at once."""

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

# The first revision of the protocol without a handshake.
STATELESS = "2026-07-28"
# It wants these in answers; the earlier ones do not mind.
CACHING = {"resultType": "complete", "cacheScope": "private", "ttlMs": 0}
READ_ONLY = {"readOnlyHint": True}
IDEMPOTENT = {"idempotentHint": True}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def tool(name: str, schema: dict[str, Any] = NOTHING, **annotations: bool) -> dict[str, Any]:
    return {"name": name, "description": f"does {name}", "inputSchema": schema, "annotations": annotations}


def nested(levels: int) -> dict[str, Any]:
    """A schema of so many levels."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range((levels - 1) // 2):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


TOOLS = [
    tool("echo", TEXT, **READ_ONLY),
    tool("environment"),
    tool("meta"),
    tool("ancestors"),
    tool("hang"),
    tool("crash"),
    tool("crash_always", NOTHING, **READ_ONLY),
    tool("crash_once", {"type": "object", "properties": {"marker": {"type": "string"}}, "required": ["marker"]}, **READ_ONLY),
    tool("crash_once_writing", {"type": "object", "properties": {"marker": {"type": "string"}}, "required": ["marker"]}),
    tool("crash_once_idempotent", {"type": "object", "properties": {"marker": {"type": "string"}}, "required": ["marker"]}, **IDEMPOTENT),
    tool("say_and_wait", {"type": "object", "properties": {"marker": {"type": "string"}}, "required": ["marker"]}),
    tool("flood"),
    tool("deluge"),
    tool("deluge_id_last"),
    tool("dense"),
    tool("crowd"),
    tool("deep_result"),
    tool("null_result"),
    tool("broken_utf8"),
    tool("unknown_block"),
    tool("pester"),
    tool("many_notices"),
    {**tool("only_as_task"), "execution": {"taskSupport": "required"}},
    {**tool("also_as_task"), "execution": {"taskSupport": "optional"}},
    tool("deep_schema", nested(150)),
    tool("nested_schema", nested(60)),
    tool("endless_line"),
    tool("close_stdout"),
    tool("garbage"),
    tool("wrong_shape"),
    tool("say_error"),
    tool("rpc_error"),
    tool("grow"),
    tool("shrink"),
    tool("leak_stderr"),
    tool("say_on_stderr", TEXT),
    tool("say_as_error", TEXT),
    tool("log_and_progress"),
    tool("cut_character"),
    tool("babble"),
    tool("blank"),
    tool("mumble"),
    tool("shout"),
    tool(
        "keeper",
        {
            "type": "object",
            "properties": {
                "key": {"type": "string", "default": os.environ.get("API_TOKEN", "")},
                "t": {"description": "e.g. password=hunter2"},
            },
        },
    ),
    tool("twin", NOTHING),
    tool("twin", NOTHING),
    tool("pid"),
    tool("ask_back"),
    tool("told"),
    tool("textual_id"),
    tool("spawn", {"type": "object", "properties": {"pids": {"type": "string"}}, "required": ["pids"]}),
]


# The notifications that the client has sent.
NOTICES: list[str] = []


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ancestors(count: int) -> list[int]:
    """Who started us, who started that one, and so on."""
    found = [os.getppid()]
    while len(found) < count:
        with open(f"/proc/{found[-1]}/stat", encoding="utf-8") as stat:  # noqa: PTH123 - nothing is imported for its comfort
            found.append(int(stat.read().rpartition(")")[2].split()[1]))
    return found


def read_environment(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as environ:  # noqa: PTH123 - as above
            return environ.read()
    except PermissionError:
        return "refused"


def answer(request_id: Any, text: str, **more: Any) -> None:
    send({"id": request_id, "result": {"content": [{"type": "text", "text": text}], "resultType": "complete", **more}})


def crash_unless_marked(marker: str, request_id: Any) -> None:
    """Die the first time, answer the second."""
    if os.path.exists(marker):  # noqa: PTH110 - starts faster without pathlib
        answer(request_id, "second time")
        return
    with open(marker, "w", encoding="utf-8"):  # noqa: PTH123 - as above
        os._exit(3)


def spawn(pids: str) -> None:
    """Leave the process group and start children that ignore polite requests."""
    code = "import os, signal, time; os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    children = [subprocess.Popen([sys.executable, "-S", "-c", code]) for _ in range(2)]
    with open(pids, "w", encoding="utf-8") as out:  # noqa: PTH123 - as above
        out.write(" ".join(str(pid) for pid in (os.getpid(), *(child.pid for child in children))))


def report(meta: dict[str, Any]) -> None:
    """Say something on the side, in both ways there are."""
    send({"method": "notifications/message", "params": {"level": "info", "data": "looking, password=hunter2"}})
    progress = {"progressToken": meta.get("progressToken"), "progress": 1, "total": 2, "message": "halfway"}
    send({"method": "notifications/progress", "params": progress})


def call(name: str, arguments: dict[str, Any], request_id: Any, meta: dict[str, Any]) -> None:  # noqa: C901, PLR0912, PLR0915 - one branch per fault
    match name:
        case "echo":
            answer(request_id, arguments["text"])
        case "environment":
            answer(request_id, json.dumps(dict(os.environ)))
        case "meta":
            answer(request_id, json.dumps(meta))
        case "ancestors":
            answer(request_id, json.dumps([read_environment(pid) for pid in ancestors(3)]))
        case "hang":
            pass
        case "crash" | "crash_always":
            sys.stderr.write("fatal: out of cheese, password=hunter2-in-stderr\n")
            sys.stderr.flush()
            os._exit(3)
        case "crash_once" | "crash_once_writing" | "crash_once_idempotent":
            crash_unless_marked(arguments["marker"], request_id)
        case "flood":
            answer(request_id, "x" * (10 * 1024 * 1024))
        case "deluge":
            answer(request_id, "x" * (50 * 1024 * 1024))
        case "deluge_id_last":
            sys.stdout.write(f'{{"result": {{"id": 7, "content": "{"x" * (20 * 1024 * 1024)}"}}, "jsonrpc": "2.0", "id": {request_id}}}\n')
            sys.stdout.flush()
        case "dense":
            send({"id": request_id, "result": {"content": [], "structuredContent": {"rows": [[]] * 150_000}}})
        case "crowd":
            send({"id": request_id, "result": {"content": [{"type": "text", "text": "x"}] * 5000}})
        case "deep_result":
            nested = json.loads("[" * 500 + "]" * 500)
            send({"id": request_id, "result": {"content": [{"type": "text", "text": "seen"}], "structuredContent": {"deep": nested}}})
        case "null_result":
            send({"id": request_id, "result": None})
        case "broken_utf8":
            line = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": {"content": [{"type": "text", "text": "caf@"}]}})
            sys.stdout.buffer.write(line.encode().replace(b"@", b"\xe9") + b"\n")
            sys.stdout.flush()
        case "unknown_block":
            blocks = [{"type": "hologram", "data": 1}, {"type": "text", "text": "seen"}, {"type": "image"}, "no block"]
            send({"id": request_id, "result": {"content": blocks, "resultType": "complete"}})
        case "pester":
            line = json.dumps({"jsonrpc": "2.0", "id": "mine", "method": "roots/list"}) + "\n"
            sys.stdout.write(line * 12_000)
            answer(request_id, "done")
        case "many_notices":
            for number in range(3000):
                send({"method": "notifications/progress", "params": {"progressToken": meta.get("progressToken"), "progress": number}})
            answer(request_id, "done")
        case "endless_line":
            for _ in range(80):
                sys.stdout.write("x" * 1024 * 1024)
            sys.stdout.flush()
        case "close_stdout":
            os.close(1)
        case "garbage":
            sys.stdout.write("<html>502 Bad Gateway</html>\n")
            sys.stdout.flush()
            answer(request_id, "after the garbage")
        case "wrong_shape":
            send({"id": request_id, "result": {"content": "not a list"}})
        case "cut_character":
            answer(request_id, "cut off \ud83d")
        case "babble":
            for _ in range(100):
                send({"method": "notifications/message", "params": {"level": "info", "data": "password=hunter2 " * 2000}})
            time.sleep(0.1)
            answer(request_id, "done")
        case "blank":
            send({"method": "notifications/message", "params": {"level": " " * 300_000, "data": "x"}})
            answer(request_id, "done")
        case "mumble":
            sys.stdout.write("password=hunter2 " * (2 * 1024 * 1024) + "\n")
            answer(request_id, "done")
        case "shout":
            sys.stderr.write("all is well\n" * 2000)
            sys.stderr.flush()
            answer(request_id, "done")
        case "say_error":
            answer(request_id, "pod not found; token=abc123def456ghi", isError=True)
        case "rpc_error":
            data = {"backend": "db-1", "hint": "password=hunter2"}
            send({"id": request_id, "error": {"code": -32000, "message": "backend said password=hunter2", "data": data}})
        case "grow":
            TOOLS.append(tool("grown"))
            send({"method": "notifications/tools/list_changed"})
            answer(request_id, "grown")
        case "shrink":
            TOOLS[:] = [one for one in TOOLS if one["name"] != "grown"]
            send({"method": "notifications/tools/list_changed"})
            answer(request_id, "shrunk")
        case "leak_stderr":
            key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n-----END PRIVATE KEY-----\n"
            sys.stderr.write(f"connecting with password=hunter2\n{key}db:\n  password:\n    hunter2\nready\n")
            sys.stderr.flush()
            answer(request_id, "done")
        case "say_on_stderr":
            sys.stderr.write(f"{arguments['text']}\nready\n")
            sys.stderr.flush()
            answer(request_id, "done")
        case "say_as_error":
            answer(request_id, arguments["text"], isError=True)
        case "say_and_wait":
            report(meta)
            while not os.path.exists(arguments["marker"]):  # noqa: PTH110 - as above
                time.sleep(0.01)
            answer(request_id, "done")
        case "log_and_progress":
            report(meta)
            # Notifications are delivered by tasks of their own, so that they are seen before the answer ends the call.
            time.sleep(0.1)
            answer(request_id, "done")
        case "ask_back":
            for asked in ("ping", "roots/list"):
                send({"id": f"mine-{asked}", "method": asked})
            replies = [json.loads(sys.stdin.readline()) for _ in range(2)]
            answer(request_id, json.dumps({reply["id"]: reply.get("result", reply.get("error")) for reply in replies}))
        case "told":
            answer(request_id, json.dumps(NOTICES))
        case "textual_id":
            answer(str(request_id), "found all the same")
        case "attack":
            attack(arguments["text"], request_id, meta)
        case "pid":
            answer(request_id, str(os.getpid()))
        case "spawn":
            spawn(arguments["pids"])
            answer(request_id, "spawned")
        case _:
            answer(request_id, "grown up")


def attack(kind: str, request_id: Any, meta: dict[str, Any]) -> None:
    """Send far more than anybody reads."""
    head = f'{{"jsonrpc": "2.0", "id": {json.dumps(request_id)}, "result": {{"content": ['
    match kind:
        case "200,000 requests":
            sys.stdout.write((json.dumps({"jsonrpc": "2.0", "id": "mine", "method": "roots/list"}) + "\n") * 200_000)
        case "50,000 progress notices":
            params = {"progressToken": meta.get("progressToken"), "progress": 1}
            sys.stdout.write((json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + "\n") * 50_000)
        case "a line of 50 MB":
            answer(request_id, "x" * 50_000_000)
        case "a million content items":
            sys.stdout.write(head + ",".join(['{"type":"text","text":"x"}'] * 1_000_000) + "]}}\n")
        case "five million values":
            sys.stdout.write(head + '], "structuredContent": {"rows": [' + ",".join(["[]"] * 5_000_000) + "]}}}\n")
        case _:
            sys.stdout.write(head + '], "structuredContent": {"rows": [' + ",".join(["1"] * 90_000) + "]}}}\n")
    sys.stdout.flush()


def greeting(mode: str, method: str) -> dict[str, Any]:
    if method == "server/discover":
        return {"result": {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}, **CACHING}}
    if mode == "stateless":
        return {"error": {"code": -32022, "message": "no handshake", "data": {"supported": [STATELESS]}}}
    capabilities = {"tools": {"listChanged": True}}
    return {"result": {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "fault", "version": "1"}}}


def tools_of(mode: str) -> list[dict[str, Any]]:
    match mode:
        case "attack":
            return [tool("attack", TEXT)]
        case "attack:description":
            return [{**tool("long"), "description": "word " * 6_800_000}]
        case "attack:schemas":
            words = {f"name{number}": {"type": "string", "description": "a word and another"} for number in range(30)}
            return [tool(f"t{number}", {"type": "object", "properties": words}) for number in range(6_000)]
        case "verbose":
            return [{**tool("long"), "description": "word " * 3_000_000}, *(tool(f"t{number}") for number in range(1_500))]
        case _:
            return TOOLS


def main(mode: str) -> None:
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    TOOLS[:] = tools_of(mode)
    if mode == "mute":
        time.sleep(600)
    for line in sys.stdin:
        message = json.loads(line)
        request_id, params = message.get("id"), message.get("params", {})
        match message["method"]:
            case "initialize" | "server/discover" as method:
                send({"id": request_id, **greeting(mode, method)})
            case "tools/list":
                send({"id": request_id, "result": {"tools": TOOLS, **CACHING}})
            case "tools/call":
                call(params["name"], params.get("arguments", {}), request_id, params.get("_meta", {}))
            case "ping":
                send({"id": request_id, "result": {}})
            case notice:
                NOTICES.append(notice)
    if mode == "stubborn":
        time.sleep(600)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
