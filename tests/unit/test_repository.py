"""Habits of the repository that nothing else would notice being broken."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_lock_pins_every_package_with_a_hash_and_names_no_index() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pins = re.findall(r"^\S+==\S+(?: ; [^\\\n]+)? \\\n    --hash=sha256:", lock, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^\S", lock, re.MULTILINE))
    assert "://" not in lock


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_relative_link_of_a_document_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", document.read_text())
    broken = [link for link in links if "://" not in link and not (document.parent / link).exists()]
    assert broken == []


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_functions_on_the_ways_through_the_program_exist() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    steps = re.findall(r"^\d+\. .+$", page.partition("## Four ways through the program")[2].partition("\n## ")[0], re.MULTILINE)
    assert len(steps) > 40
    missing: list[str] = []
    for step in steps:
        spans = re.findall(r"`([^`]+)`", step)
        modules = [ROOT / "src" / "tarsy" / span for span in spans if span.endswith(".py")]
        missing += [str(module) for module in modules if not module.is_file()]
        nodes = [node for module in modules if module.is_file() for node in ast.walk(ast.parse(module.read_text()))]
        defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
        names = [span for span in spans if "/" not in span]
        missing += [name for name in names if not defined.issuperset(name.split("."))]
    assert missing == []
