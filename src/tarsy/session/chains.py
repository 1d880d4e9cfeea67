"""The chains that can investigate an alert, by its type."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config, NoProviderError
from tarsy.config.schema.selection import KnownTools, McpSelection, SelectionError, check_selection, nothing_known


class AlertRefusedError(ValueError):
    """The alert cannot be investigated as it was sent; the caller can act."""


class UnknownAlertTypeError(AlertRefusedError):
    def __init__(self, alert_type: str, known: Sequence[str]) -> None:
        super().__init__(f'There is no chain for the alert type "{alert_type}". Known types: {", ".join(known) or "none"}.')
        self.known = tuple(known)


@dataclass(frozen=True, slots=True)
class AlertType:
    """Something that can be investigated, and the chain that does it."""

    name: str
    chain_id: str
    description: str = ""
    is_sample: bool = False
    # Whether there is a model to investigate it with.
    has_model: bool = True


class ChainSource(Protocol):
    """Knows the chains."""

    def alert_types(self) -> Sequence[AlertType]: ...

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        """The chain for `alert_type`, complete.

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
    known_tools: KnownTools = nothing_known
    # What an alert that chooses no tools is given: the same for each, as long as the configuration is.
    _resolved: dict[str, ResolvedChain] = field(default_factory=dict[str, ResolvedChain], init=False, compare=False)

    def alert_types(self) -> Sequence[AlertType]:
        chains = self.config.chains
        return tuple(
            AlertType(name, chain_id := chains.id_for(name), chains[chain_id].description or "", has_model=self._has_model(name))
            for name in chains.alert_types
        )

    def _has_model(self, alert_type: str) -> bool:
        try:
            self.resolve(alert_type, None)
        except NoProviderError:
            return False
        return True

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        known = self.config.chains.alert_types
        if alert_type not in known:
            raise UnknownAlertTypeError(alert_type, known)
        if selection and (problems := check_selection(self.config, selection, self.known_tools)):
            raise SelectionError(problems)
        if selection or alert_type not in self._resolved:
            chain = resolve_chain(self.config, self.config.chains.id_for(alert_type), selection)
            return chain if selection else self._resolved.setdefault(alert_type, chain)
        return self._resolved[alert_type]


@dataclass(frozen=True, slots=True)
class SeveralSources:
    """Chains from several places; the first that knows an alert type answers for it."""

    sources: tuple[ChainSource, ...]

    def alert_types(self) -> Sequence[AlertType]:
        found: dict[str, AlertType] = {}
        for source in self.sources:
            for alert_type in source.alert_types():
                found.setdefault(alert_type.name, alert_type)
        return tuple(found.values())

    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        for source in self.sources:
            # To ask for its types would have it find a model for each of them.
            with suppress(UnknownAlertTypeError):
                return source.resolve(alert_type, selection)
        raise UnknownAlertTypeError(alert_type, [offered.name for offered in self.alert_types()])
