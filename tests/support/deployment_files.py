"""The files of `deploy/`, read the way kustomize and container engines read them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from support.paths import ROOT

KUBERNETES = ROOT / "deploy" / "kubernetes"
Manifest = dict[str, Any]


def manifests(directory: Path) -> list[Manifest]:
    """Every object of a kustomization, with those of the ones it builds on; patches are not applied."""
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    found: list[Manifest] = []
    for name in kustomization["resources"]:
        place = (directory / name).resolve()
        found += manifests(place) if place.is_dir() else [one for one in yaml.safe_load_all(place.read_text()) if one]
    return found


def of_kind(objects: list[Manifest], kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in objects if one["kind"] == kind}


def containers(objects: list[Manifest]) -> Iterator[tuple[Manifest, Manifest]]:
    """Each container with the pod it is in."""
    for workload in (of_kind(objects, "Deployment") | of_kind(objects, "StatefulSet")).values():
        pod = workload["spec"]["template"]["spec"]
        for container in pod["containers"]:
            yield pod, container


@dataclass(frozen=True, slots=True)
class Instruction:
    name: str
    value: str


def containerfile() -> list[Instruction]:
    """The instructions of the Containerfile; continued lines are joined, comments left out."""
    lines = [line for line in (ROOT / "Containerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [Instruction(*line.split(maxsplit=1)) for line in text.splitlines() if line.strip()]
