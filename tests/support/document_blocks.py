"""The fenced blocks of a Markdown document, and what the page says about running them."""

import re
from dataclasses import dataclass
from pathlib import Path

NOT_RUN = re.compile(r"<!-- not run: (.+) -->")


@dataclass(frozen=True, slots=True)
class Block:
    language: str
    text: str
    line: int
    # Why the tests cannot run it, as the page says.
    not_run: str | None = None


def blocks_of(document: Path) -> list[Block]:
    found: list[Block] = []
    lines = document.read_text(encoding="utf-8").splitlines()
    number = 0
    while number < len(lines):
        fence = re.fullmatch(r"```(\w*)", lines[number].strip())
        # A fence in another style would be passed over, and its commands with it.
        if not fence and lines[number].strip().startswith(("```", "~~~")):
            raise ValueError(f"{document}:{number + 1}: a fence is three backticks and at most one word")
        if fence:
            end = next(index for index in range(number + 1, len(lines)) if lines[index].strip() == "```")
            reason = NOT_RUN.fullmatch(lines[number - 1].strip()) if number else None
            found.append(Block(fence[1], "\n".join(lines[number + 1 : end]), number + 1, reason[1] if reason else None))
            number = end
        number += 1
    return found


def commands_in_the_text(document: Path) -> list[str]:
    """The `tarsy …` commands that stand between backticks in sentences and tables."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [command.replace("\n", " ") for command in re.findall(r"`(tarsy [^`]+)`", text)]
