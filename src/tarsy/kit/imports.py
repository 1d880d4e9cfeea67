"""Heavy modules, imported on first use without holding up the event loop."""

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Self, cast

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


def hollow(*names: str) -> None:
    """What imports these modules from now on finds them, with all that it asks them for, but nothing of it can be used; loaded ones stay.

    For libraries that cannot do without a part that is not ours to leave out, and that is large.
    """
    for name in names:
        sys.modules.setdefault(name, _Hollow(name))


@contextmanager
def hollowed(*names: str) -> Generator[None]:
    """The same, for what is imported meanwhile: others find these modules as they are."""
    missing = [name for name in names if name not in sys.modules]
    hollow(*missing)
    try:
        yield
    finally:
        for name in missing:
            del sys.modules[name]


class _Hollow(ModuleType):
    def __getattr__(self, name: str) -> type:
        return _unusable(name, self.__name__)


def _unusable(name: str, module: str) -> type:
    if name.startswith("__"):
        # The import system and classes ask for these, and know what to do without them.
        raise AttributeError(name)
    return _Parts(name, (_Unusable,), {"__module__": module})


class _Parts(type):
    """What a class of such a module has is there too: sse-starlette wraps a method of uvicorn's server when it is imported."""

    def __getattr__(cls, name: str) -> type:
        return _unusable(name, cls.__module__)


class _Unusable(metaclass=_Parts):
    def __new__(cls, *_arguments: object, **_options: object) -> Self:
        raise NotImplementedError(f"{cls.__module__}.{cls.__name__} is left out of this program; see `hollow` in {__name__}")
