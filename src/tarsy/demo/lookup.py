"""Finding things in a world, and saying helpfully that they are not there. Pure."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from tarsy.demo.stdio_server import ToolRefusedError
from tarsy.demo.world import World


class NotThereError(ToolRefusedError):
    """The caller asked for something the cluster does not have; the text says what it has instead."""


class _Named(Protocol):
    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)


def check_namespace(world: World, namespace: str) -> None:
    """Raise NotThereError for a namespace that does not exist; an empty one means all."""
    if namespace and namespace not in world.namespaces:
        raise NotThereError(f'namespaces "{namespace}" not found. Namespaces in this cluster: {", ".join(world.namespaces)}')


def in_namespace(world: World, things: Iterable[T], namespace: str) -> list[T]:
    check_namespace(world, namespace)
    found = [thing for thing in things if namespace in ("", thing.namespace)]
    return sorted(found, key=lambda thing: (thing.namespace, thing.name))


def find(world: World, kind: str, things: Sequence[T], namespace: str, name: str) -> T:
    """Find one thing by name.

    Raises:
        NotThereError: with the most similar names of the namespace.
    """
    check_namespace(world, namespace)
    for thing in things:
        if (thing.namespace, thing.name) == (namespace, name):
            return thing
    names = [thing.name for thing in things if thing.namespace == namespace]
    elsewhere = [f"{thing.namespace}/{thing.name}" for thing in things if thing.name == name]
    raise NotThereError(f'{kind} "{name}" not found in namespace "{namespace}".' + _hint(name, names, elsewhere))


def _hint(name: str, names: Sequence[str], elsewhere: Sequence[str]) -> str:
    if elsewhere:
        return f" It exists as {', '.join(elsewhere)}."
    if not names:
        return " There are none in this namespace."
    close = difflib.get_close_matches(name, names, n=5, cutoff=0.5)
    return f" Did you mean: {', '.join(close)}?" if close else f" There are: {', '.join(sorted(names)[:15])}."
