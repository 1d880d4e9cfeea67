"""Heavy modules, imported on first use without holding up the event loop."""

import gc
import sys
from importlib import import_module

from anyio.to_thread import run_sync


async def load(name: str) -> None:
    """Import a module in a thread, unless it is there already."""
    loaded = sys.modules.get(name)
    # A module that another task is importing is there already, but unfinished.
    if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
        return
    await run_sync(import_module, name)
    # What was imported stays for ever: a collector that looked through it again and again would stop everything for a tenth of a second.
    gc.freeze()
