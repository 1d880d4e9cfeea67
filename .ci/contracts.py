"""Compare what two checkouts promise: API, live events, columns, recordings with their prompts, command line, and all strings of the program.

Run it as `python .ci/contracts.py BEFORE AFTER`; both are checkouts that `make setup` has been run in. It prints what differs and exits
with 1 if anything does. It needs nothing but Python.
"""

import ast
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# What differs between two runs of the same program.
IDENTIFIER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\dZ")
MARKER = re.compile(r"(untrusted|data|fence)[-_ ]?[0-9a-f]{6,}", re.IGNORECASE)
# Tags of masked values are made with a random key.
RANDOM = re.compile(r"\b[0-9a-f]{12,64}\b|(?<= ~)\w{1,8}(?=\])")
TIMINGS = re.compile(r"duration|_ms$|_at$|^hash$|seconds")

COLUMNS = """
from tarsy.db.tables import metadata
for table in sorted(metadata.tables.values(), key=lambda table: table.name):
    for column in table.columns:
        print(table.name, column.name, column.type, "null" if column.nullable else "not null")
"""
COMMANDS = """
import typer, typer.main
from tarsy.cli import main
def show(command, path):
    print("##", path); print(command.get_help(typer.Context(command, info_name=path)))
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        show(inner, f"{path} {name}")
show(typer.main.get_command(main.app), "tarsy")
"""
# What the models were sent, in the order of each conversation.
PROMPTS = """
import asyncio, os, sqlalchemy
from pathlib import Path
from tarsy.db.connection import create_engine
from tarsy.db.embedded.server import open_database
async def main():
    async with open_database(None, Path(os.environ["TARSY_DATA_DIR"])) as url:
        engine = create_engine(url)
        async with engine.connect() as connection:
            rows = await connection.execute(sqlalchemy.text(
                "SELECT e.agent_name, m.sequence_number, m.role, m.content FROM messages m JOIN agent_executions e ON e.id = m.execution_id"))
            for row in rows:
                print(*(part if isinstance(part, int) else repr(part) for part in row))
        await engine.dispose()
asyncio.run(main())
"""


def run(checkout: Path, *arguments: str, data: Path) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(data), "COLUMNS": "140", "TARSY_DATA_DIR": str(data)}
    done = subprocess.run(arguments, cwd=checkout, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own commands
    if done.returncode:
        sys.exit(f"{checkout}: {' '.join(arguments)[:200]} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def recordings(checkout: Path, data: Path) -> Iterator[str]:
    """Run every sample, and yield what its recording holds: prompts, requests, inputs and fields, without ids, times and random markers."""
    tarsy = str(checkout / ".venv/bin/tarsy")
    # Below the heads of the columns.
    for sample in [line.split()[0] for line in run(checkout, tarsy, "samples", "list", data=data).splitlines()[1:]]:
        shown = run(checkout, tarsy, "demo", sample, "--fast", data=data)
        session = IDENTIFIER.findall(shown)[-1]
        text = run(checkout, tarsy, "export", session, data=data)
        recording = json.loads(normal(text).replace(str(checkout), "CHECKOUT"))
        for name in ("calls", "catalogs", "tools", "inputs"):
            # Agents that work at the same time are recorded in the order in which they came.
            recording[name].sort(key=lambda entry: (entry["track"], entry.get("turn", 0), json.dumps(entry)))
        yield from (f"{sample}: {line}" for line in flatten(recording))


def normal(text: str) -> str:
    return RANDOM.sub("RANDOM", MARKER.sub("MARKER", TIME.sub("TIME", IDENTIFIER.sub("ID", text))))


def flatten(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flatten(inner, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from flatten(inner, f"{path}[{place}]")
    else:
        yield f"{path} = {'…' if TIMINGS.search(path.rpartition('.')[2]) else json.dumps(value, ensure_ascii=False)}"


def strings(checkout: Path) -> Iterator[str]:
    """Yield every string of the program, with a placeholder for what is filled in; docstrings are not strings."""
    for path in (checkout / "src").rglob("*.py"):
        tree = ast.parse(path.read_text())
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)} - {
            id(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        }
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in inner or id(node) in texts:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def promises(checkout: Path) -> dict[str, list[str]]:
    python = str(checkout / ".venv/bin/python")
    # In memory the database starts in a second; the name must be short, because its socket lies in it.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:  # noqa: S108 - a new directory in it
        data = Path(directory)
        return {
            "API": run(checkout, python, "-m", "tarsy.api.openapi", data=data).splitlines(),
            "live events": (checkout / "docs/live-events.schema.json").read_text().splitlines(),
            "columns": run(checkout, python, "-c", COLUMNS, data=data).splitlines(),
            "command line": run(checkout, python, "-c", COMMANDS, data=data).splitlines(),
            "recordings": sorted(recordings(checkout, data)),
            "prompts": sorted(normal(line) for line in run(checkout, python, "-c", PROMPTS, data=data).splitlines() if line[0] == "'"),
        }


def main() -> None:
    before, after = (Path(argument).resolve() for argument in sys.argv[1:3])
    old, new = promises(before), promises(after)
    differs = False
    for name, lines in old.items():
        difference = list(difflib.unified_diff(lines, new[name], "before", "after", n=1, lineterm=""))
        differs |= bool(difference)
        print(f"== {name}: {'differs' if difference else f'the same, {len(lines)} lines'}")
        print(*difference[:200], sep="\n", end="\n" if difference else "")
    written, rewritten = Counter(strings(before)), Counter(strings(after))
    gone, come = set(written) - set(rewritten), set(rewritten) - set(written)
    print(f"== strings: {len(written)} before, {len(rewritten)} after, {len(gone)} gone, {len(come)} new")
    print(*sorted(f"- {text!r}" for text in gone), *sorted(f"+ {text!r}" for text in come), sep="\n")
    sys.exit(differs)


if __name__ == "__main__":
    main()
