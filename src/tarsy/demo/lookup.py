"""Finds objects of a world, and suggests others if there is no such object; the arguments by which tools name them."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Annotated, Protocol, TypeVar

from pydantic import Field

from tarsy.demo.stdio_server import ToolRefusedError
from tarsy.demo.world import ClusterData

# Described for the model.
Namespace = Annotated[str, Field(description="Namespace; empty means all namespaces")]
InNamespace = Annotated[str, Field(description="Namespace of the object")]
PodName = Annotated[str, Field(description="Full name of the pod, as pods_list shows it")]
NodeName = Annotated[str, Field(description="Name of the node")]
Minutes = Annotated[int, Field(description="How many minutes to look back from now", ge=1, le=20160)]


class UnknownObjectError(ToolRefusedError):
    """The cluster has no such object; the text names those it has. The caller can act."""


class _Named(Protocol):
    @property
    def namespace(self) -> str: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)


def check_namespace(world: ClusterData, namespace: str) -> None:
    """Raise UnknownObjectError for a namespace that does not exist; an empty one means all."""
    if namespace and namespace not in world.namespaces:
        raise UnknownObjectError(f'namespaces "{namespace}" not found. Namespaces in this cluster: {", ".join(world.namespaces)}')


def in_namespace(world: ClusterData, things: Iterable[T], namespace: str) -> list[T]:
    check_namespace(world, namespace)
    found = [thing for thing in things if namespace in ("", thing.namespace)]
    return sorted(found, key=lambda thing: (thing.namespace, thing.name))


def find(world: ClusterData, kind: str, things: Sequence[T], namespace: str, name: str) -> T:
    """Find an object by name.

    Raises:
        UnknownObjectError: with the most similar names of the namespace.
    """
    check_namespace(world, namespace)
    for thing in things:
        if (thing.namespace, thing.name) == (namespace, name):
            return thing
    names = [thing.name for thing in things if thing.namespace == namespace]
    if others := [f"{thing.namespace}/{thing.name}" for thing in things if thing.name == name]:
        hint = f" It exists as {', '.join(others)}."
    elif not names:
        hint = " There are none in this namespace."
    elif close := difflib.get_close_matches(name, names, n=5, cutoff=0.5):
        hint = f" Did you mean: {', '.join(close)}?"
    else:
        hint = f" There are: {', '.join(sorted(names)[:15])}."
    raise UnknownObjectError(f'{kind} "{name}" not found in namespace "{namespace}".' + hint)
