"""Examples of what senders send, each in a file with what becomes of it. `python tests/support/sender_examples.py` writes the results anew, to be read."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from tarsy.intake.adapters.registry import parse_delivery
from tarsy.intake.delivery import Delivery, WebhookRequest, parse_request

EXAMPLES = Path(__file__).parents[1] / "unit" / "intake" / "examples"


@dataclass(frozen=True, slots=True)
class Example:
    sender: str
    name: str
    body: Any
    headers: dict[str, str]
    # What was read and found right; None when it was not written yet.
    becomes: Any

    @property
    def received(self) -> WebhookRequest:
        return parse_request(json.dumps(self.body), self.headers)

    @property
    def label(self) -> str:
        return f"{self.sender}-{self.name}"


def load_examples() -> list[Example]:
    paths = sorted(EXAMPLES.glob("*/*.json"))
    return [_example(path) for path in paths]


def _example(path: Path) -> Example:
    content = json.loads(path.read_text(encoding="utf-8"))
    return Example(path.parent.name, path.stem, content["body"], content["headers"], content.get("becomes"))


def as_read(delivery: Delivery) -> Any:
    """A delivery as plain JSON: without what is empty, and without the bodies."""
    return json.loads(json.dumps(_shown(asdict(delivery)), default=_text))


def _shown(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _shown(item) for name, item in cast("dict[str, Any]", value).items() if name != "body"}
        return {name: item for name, item in kept.items() if item not in (None, {}, [], 0, "")}
    return [_shown(item) for item in cast("list[Any]", value)] if isinstance(value, (list, tuple)) else value


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _write_anew() -> None:
    for path in sorted(EXAMPLES.glob("*/*.json")):
        example = _example(path)
        content = {"headers": example.headers, "body": example.body, "becomes": as_read(parse_delivery(example.received))}
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _write_anew()
