"""The chains that can investigate an alert, by its type."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config, NoProviderError
from tarsy.config.schema.selection import KnownTools, McpSelection, SelectionError, check_selection


class AlertRefusedError(ValueError):
    """The alert cannot be investigated as it was sent; the sender can act."""


class UnknownAlertTypeError(AlertRefusedError):
    def __init__(self, alert_type: str, known: Sequence[str]) -> None:
        super().__init__(f'No chain handles the alert type "{alert_type}". Known types: {", ".join(known) or "none"}.')
        self.known = tuple(known)


@dataclass(frozen=True, slots=True)
class AlertType:
    """A type of alert, and the chain that investigates it."""

    name: str
    chain_id: str
    description: str = ""
    is_sample: bool = False
    # Whether there is a model to investigate it with.
    has_model: bool = True


class ChainSource(Protocol):
    """Resolves the chain of an alert type."""

    def alert_types(self) -> Sequence[AlertType]: ...

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        """Return the complete chain for `alert_type`.

        Raises:
            UnknownAlertTypeError: there is none.
            SelectionError: the alert's choice of tools cannot be met.
            NoProviderError: there is no model to run it with.
        """
        ...


@dataclass(frozen=True, slots=True)
class ConfiguredChains:
    """The chains of the configuration, and what is known of the tools that an alert may choose from."""

    config: Config
    known_tools: KnownTools = lambda _server: None

    def alert_types(self) -> Sequence[AlertType]:
        chains = self.config.chains
        found: list[AlertType] = []
        for name in chains.alert_types:
            chain_id = chains.id_for(name)
            try:
                resolve_chain(self.config, chain_id)
                has_model = True
            except NoProviderError:
                has_model = False
            found.append(AlertType(name, chain_id, chains[chain_id].description or "", has_model=has_model))
        return tuple(found)

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        known = self.config.chains.alert_types
        if alert_type not in known:
            raise UnknownAlertTypeError(alert_type, known)
        if selection and (problems := check_selection(self.config, selection, self.known_tools)):
            raise SelectionError(problems)
        return resolve_chain(self.config, self.config.chains.id_for(alert_type), selection)


@dataclass(frozen=True, slots=True)
class CombinedChains:
    """Chains from several sources; the first that knows an alert type resolves it."""

    sources: tuple[ChainSource, ...]

    def alert_types(self) -> Sequence[AlertType]:
        found: dict[str, AlertType] = {}
        for source in self.sources:
            for alert_type in source.alert_types():
                found.setdefault(alert_type.name, alert_type)
        return tuple(found.values())

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        for source in self.sources:
            # Not by asking for its types: that would resolve a chain for each of them.
            with suppress(UnknownAlertTypeError):
                return source.resolve(alert_type, selection)
        raise UnknownAlertTypeError(alert_type, [offered.name for offered in self.alert_types()])
