"""Print the figures of the code's shape: size, files, small private functions, the four ways, cycles, exemptions, the time of the tests.

Run it as `python .ci/shape.py [CHECKOUT]`; it needs nothing but Python.
"""

import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

GENERATED = "proto"
WAY = re.compile(r"^### (?P<name>.+)$", re.MULTILINE)
STEP = re.compile(r"^\d+\. .*$", re.MULTILINE)
MODULE = re.compile(r"`([a-z0-9_/]+)\.py`")
EXEMPTION = re.compile(r"#\s*(noqa|type: ignore|pyrefly: ignore|pyright: ignore|pyright: \w+=false)")


def python_files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if GENERATED not in path.parts and "node_modules" not in path.parts)


def small_private_functions(sources: dict[Path, str]) -> tuple[int, int]:
    """Count the private functions that are named once besides their definition, and those of them with at most three lines."""
    once = small = 0
    for text in sources.values():
        tree = ast.parse(text)
        names = Counter(re.findall(r"\b_\w+", text))
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("_") or node.name.endswith("__"):
                continue
            if names[node.name] == 2:
                once += 1
                body = [part for part in node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))]
                small += bool(body) and (body[-1].end_lineno or 0) - body[0].lineno < 3
    return once, small


def module_name(path: Path, src: Path) -> str:
    return ".".join(path.relative_to(src).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path, text: str, src: Path, known: set[str]) -> Iterator[str]:
    name = module_name(path, src)
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            parent = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in known else base


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Find the groups of modules that import each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph[node]:
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            place = stack.index(node)
            group = stack[place:]
            del stack[place:]
            if len(group) > 1:
                found.append(sorted(group))

    sys.setrecursionlimit(10_000)
    for node in graph:
        if node not in index:
            visit(node)
    return found


def ways(document: Path) -> Iterator[tuple[str, int]]:
    """Read the ways that docs/architecture.md describes and count the modules each one passes."""
    text = document.read_text() if document.exists() else ""
    for part in WAY.split(text.partition("## Four ways through the program")[2])[1:]:
        if "\n" not in part:
            name = part
            continue
        modules = {module for step in STEP.findall(part.partition("\n## ")[0]) for module in MODULE.findall(step)}
        if modules:
            yield name, len(modules)


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    src = root / "src"
    sources = {path: path.read_text() for path in python_files(src)}
    tests = [path.read_text() for path in python_files(root / "tests")]
    lines = [line for text in sources.values() for line in text.splitlines()]
    written = [line for line in lines if line.strip()]
    files = [len(text.splitlines()) for path, text in sources.items() if path.name != "__init__.py"]
    once, small = small_private_functions(sources)
    known = {module_name(path, src) for path in sources}
    graph = {
        module_name(path, src): set(imports(path, text, src, known)) & known - {module_name(path, src)} for path, text in sources.items()
    }
    found = cycles(graph)
    exemptions = Counter(match[1] for text in sources.values() for match in EXEMPTION.finditer(text))
    duration = root / ".venv" / ".test-seconds"

    rows: list[tuple[str, object]] = [
        ("lines of src", len(lines)),
        ("files of src", f"{len(sources)} ({len(files)} without __init__.py)"),
        ("lines of tests", sum(len(text.splitlines()) for text in tests)),
        ("median file of src", statistics.median(files)),
        ("mean length of a written line", round(statistics.mean(map(len, written)), 1)),
        ("share of blank lines", f"{(len(lines) - len(written)) / len(lines):.1%}"),
        ("private functions used once per 1,000 lines", round(once * 1000 / len(lines), 1)),
        ("  of them with at most three lines", round(small * 1000 / len(lines), 1)),
        *((f"modules on the way: {name}", count) for name, count in ways(root / "docs" / "architecture.md")),
        ("import cycles", f"{len(found)}" + "".join(f"\n    {', '.join(group)}" for group in found)),
        ("exemptions from lint and types", ", ".join(f"{count} {name}" for name, count in exemptions.most_common()) or 0),
        (
            "last `make test`",
            f"{int(duration.read_text()) // 60}m{int(duration.read_text()) % 60}s" if duration.exists() else "not run here",
        ),
    ]
    for name, value in rows:
        print(f"{name:48} {value}")


if __name__ == "__main__":
    main()
