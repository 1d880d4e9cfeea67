"""A change that was told to us: a deployment, a synchronisation, a switched feature."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tarsy.domain.alert import ChangeOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    id: str
    source: str
    title: str
    outcome: ChangeOutcome
    labels: Mapping[str, str]
    link: str | None
    at: datetime
    body: str
