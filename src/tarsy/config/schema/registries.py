"""Look-ups by name over what was loaded."""

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from tarsy.config.problems import did_you_mean
from tarsy.config.schema.agents import AgentConfig
from tarsy.config.schema.chains import ChainConfig
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.config.schema.providers import LLMProviderConfig

Entry = TypeVar("Entry")


class UnknownEntryError(KeyError):
    """An entry was asked for that does not exist; the caller can act."""

    def __init__(self, kind: str, name: str, known: Mapping[str, object]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        self.message = f'there is no {kind} "{name}"; {did_you_mean(name, known)}'
        super().__init__(self.message)

    def __str__(self) -> str:
        # A KeyError would show the quoted form of its argument.
        return self.message


class Registry(Mapping[str, Entry], Generic[Entry]):
    """Entries by name, in the order of the files, built-ins first."""

    kind = "entry"

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Entry:
        """Raises:
        UnknownEntryError: there is no such entry.
        """
        try:
            return self._entries[name]
        except KeyError:
            raise UnknownEntryError(self.kind, name, self._entries) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries


class AgentRegistry(Registry[AgentConfig]):
    kind = "agent"


class MCPServerRegistry(Registry[MCPServerConfig]):
    kind = "MCP server"


class LLMProviderRegistry(Registry[LLMProviderConfig]):
    kind = "LLM provider"


class ChainRegistry(Registry[ChainConfig]):
    kind = "chain"

    def __init__(self, entries: Mapping[str, ChainConfig]) -> None:
        super().__init__(entries)
        self._by_alert_type = {alert_type: chain_id for chain_id, chain in entries.items() for alert_type in chain.alert_types}

    @property
    def alert_types(self) -> tuple[str, ...]:
        """Every alert type that some chain answers, sorted."""
        return tuple(sorted(self._by_alert_type))

    def id_for(self, alert_type: str) -> str:
        """The id of the chain that answers `alert_type`.

        Raises:
            UnknownEntryError: no chain does.
        """
        try:
            return self._by_alert_type[alert_type]
        except KeyError:
            raise UnknownEntryError("chain for alert type", alert_type, self._by_alert_type) from None
