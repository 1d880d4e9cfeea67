"""Whether the model layer can be asked at all; says nothing about the vendors behind it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMHealth:
    ok: bool
    detail: str
