"""Heavy modules, imported on first use without holding up the event loop."""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import cast

from anyio.to_thread import run_sync


async def load(name: str) -> None:
    """Import a module in a thread, unless it is there already."""
    loaded = sys.modules.get(name)
    # A module that another task is importing is there already, but unfinished.
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return
    await run_sync(_import, name)


def _import(name: str) -> None:
    # What is imported stays for ever: a collector that looked through it, now or later, would stop everything for a tenth of a second.
    gc.disable()
    try:
        import_module(name)
        gc.freeze()
    finally:
        gc.enable()


@contextmanager
def absent(*names: str) -> Generator[None]:
    """What is imported meanwhile finds that these modules are not installed, unless they are loaded already.

    For libraries that load another one wherever they find it, for a use that is not ours.
    """
    missing = cast("dict[str, ModuleType]", {name: None for name in names if name not in sys.modules})
    sys.modules.update(missing)
    try:
        yield
    finally:
        for name in missing:
            sys.modules.pop(name, None)
