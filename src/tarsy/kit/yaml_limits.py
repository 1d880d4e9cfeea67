"""Limits for YAML from others: aliases that expand to gigabytes, and nesting that overflows the parser's stack."""

from collections.abc import Iterator
from typing import cast

import yaml

# No file of ours has ten levels beside a chain or an OpenAPI schema.
MAX_DEPTH = 100
# Values that aliases repeat. A configuration repeats a few sections, a recording none.
MAX_REPEATED = 100_000


class YamlLimitError(yaml.YAMLError):
    """The document is nested too deeply, or its aliases repeat too much."""


def check_yaml(text: str) -> None:
    """Check a document without building it.

    Raises:
        yaml.YAMLError: it is no YAML, or beyond the limits.
    """
    # The anchor and the size of each open collection, the document itself first.
    around: list[tuple[str | None, int]] = [(None, 0)]
    sizes: dict[str, int] = {}
    repeated = 0
    for event in cast("Iterator[yaml.Event]", yaml.parse(text, Loader=yaml.CSafeLoader)):  # pyright: ignore[reportUnknownMemberType] - untyped in the stubs
        anchor, size = None, 0
        match event:
            case yaml.CollectionStartEvent():
                around.append((event.anchor, 0))
                if len(around) > MAX_DEPTH:
                    raise YamlLimitError(f"it is nested deeper than {MAX_DEPTH} levels")
                continue
            case yaml.CollectionEndEvent():
                anchor, size = around.pop()
                size += 1
            case yaml.ScalarEvent():
                anchor, size = event.anchor, 1
            case yaml.AliasEvent():
                # An alias within its own anchor has no size yet; the loader finds it.
                size = sizes.get(event.anchor or "", 0)
                repeated += size
                if repeated > MAX_REPEATED:
                    raise YamlLimitError(f"its aliases repeat more than {MAX_REPEATED} values")
            case _:
                continue
        if anchor is not None:
            sizes[anchor] = size
        around[-1] = (around[-1][0], around[-1][1] + size)
