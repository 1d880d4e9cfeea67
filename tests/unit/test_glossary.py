"""The glossary names things that exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<code>[^|]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str]]:
    text = (ROOT / "docs" / "glossary.md").read_text()
    return [(row["term"], row["code"], row["meaning"]) for row in ROW.finditer(text) if row["term"] != "Term"]


def defined_names() -> Iterator[str]:
    for path in (ROOT / "src").rglob("*.py"):
        yield path.parent.name
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    yield name
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    yield name
                case _:
                    pass


def test_each_term_of_the_glossary_has_a_name_in_the_code() -> None:
    named = {name for _, code, _ in rows() for name in re.findall(r"`(\w+)`", code)}
    assert len(named) >= len(rows())
    assert named - set(defined_names()) == set()


def test_each_term_is_explained_once_and_in_one_sentence() -> None:
    terms = [term for term, _, _ in rows()]
    assert len(terms) == len(set(terms))
    assert [term for term, _, meaning in rows() if not re.fullmatch(r"[^.]+\.", meaning.replace("SKILL.md", "SKILL"))] == []
