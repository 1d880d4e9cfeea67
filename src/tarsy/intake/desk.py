"""Intake put together: one object for the wiring to build, and for tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from sqlalchemy.ext.asyncio import AsyncEngine

from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.intake.commands import IncidentCommands
from tarsy.intake.door import Door
from tarsy.intake.investigations import Investigations
from tarsy.intake.policy import Policy
from tarsy.intake.ports import IntakeWatch, Unwatched
from tarsy.intake.reception import Reception
from tarsy.intake.sns_client import SnsClient
from tarsy.intake.upkeep import IncidentUpkeep
from tarsy.intake.variants import LabelledServers
from tarsy.kit.clock import Clock, SystemClock
from tarsy.session.intake import Intake


@dataclass(frozen=True, slots=True)
class Desk:
    """`reception` is for senders, `commands` for people, `upkeep` for the passing of time."""

    reception: Reception
    commands: IncidentCommands
    upkeep: IncidentUpkeep

    @classmethod
    def on(
        cls,
        engine: AsyncEngine,
        policy: Callable[[], Policy],
        intake: Intake,
        server: Callable[[str], ResolvedMcpServer],
        *,
        clock: Clock | None = None,
        sns: SnsClient | None = None,
        watch: IntakeWatch | None = None,
    ) -> Self:
        """`server` finds a tool server by its name."""
        clock = clock or SystemClock()
        investigations = Investigations(intake, LabelledServers(lambda: policy().routes, server))
        commands = IncidentCommands(engine, policy, investigations, clock)
        door = Door(engine, policy, investigations, intake.mask, clock, watch or Unwatched())
        return cls(Reception(door, policy, sns or SnsClient(), clock), commands, IncidentUpkeep(engine, policy, commands))
