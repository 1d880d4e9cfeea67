"""The whole configuration as one frozen value, with a registry per section and the choice of a default model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tarsy.config.problems import did_you_mean
from tarsy.config.schema import documents
from tarsy.config.schema.agents import AgentConfig
from tarsy.config.schema.chains import ChainConfig, DefaultsConfig
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.config.schema.notify import NotifyConfig
from tarsy.config.schema.providers import LLMProviderConfig, is_local
from tarsy.config.schema.routes import MuteConfig, RouteConfig, SenderConfig
from tarsy.config.schema.system import QueueConfig, SystemConfig
from tarsy.domain.skill import Skill

Entry = TypeVar("Entry")


class UnknownEntryError(KeyError):
    """There is no entry of the given name; the caller can act."""

    def __init__(self, kind: str, name: str, known: Mapping[str, object]) -> None:
        self.message = f'there is no {kind} "{name}"; {did_you_mean(name, known)}'
        super().__init__(self.message)

    def __str__(self) -> str:
        # KeyError shows the repr of its argument.
        return self.message


class Registry(dict[str, Entry]):
    """Entries by name, in the order of the files, built-ins first. Looking up a name that is not there raises UnknownEntryError."""

    kind = "entry"

    def __missing__(self, name: str) -> Entry:
        raise UnknownEntryError(self.kind, name, self)


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
        """Return the alert types of all chains, sorted."""
        return tuple(sorted(self._by_alert_type))

    def id_for(self, alert_type: str) -> str:
        """Return the id of the chain for `alert_type`.

        Raises:
            UnknownEntryError: there is none.
        """
        try:
            return self._by_alert_type[alert_type]
        except KeyError:
            raise UnknownEntryError("chain for alert type", alert_type, self._by_alert_type) from None


_LOCAL_MODEL = "for a model of your own (Ollama, llama.cpp, vLLM) run `tarsy init local-model --url ADDRESS --model NAME`"


@dataclass(frozen=True, slots=True)
class Config:
    """The files together with the built-in entries. Values that may be secret are still `{{.VAR}}` templates."""

    system: SystemConfig
    defaults: DefaultsConfig
    queue: QueueConfig
    mcp_servers: MCPServerRegistry
    agents: AgentRegistry
    chains: ChainRegistry
    llm_providers: LLMProviderRegistry
    # By name.
    skills: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    # The provider if no level names one; None if the environment has no vendor's key.
    default_provider: str | None = None
    routes: tuple[RouteConfig, ...] = ()
    senders: Mapping[str, SenderConfig] = field(default_factory=dict[str, SenderConfig])
    mute: tuple[MuteConfig, ...] = ()
    notify: NotifyConfig = field(default_factory=NotifyConfig)


def with_any_model(config: Config) -> Config:
    """Return the configuration with some default provider, so that chains can be resolved to inspect their tools."""
    return config if config.default_provider else replace(config, default_provider=next(iter(documents.LLM_PROVIDERS)))


class NoProviderError(Exception):
    """No model is available: no level names a provider, and the environment has no vendor's key; the operator can act."""

    def __init__(self, variables: Mapping[str, tuple[str, ...]]) -> None:
        self.variables = variables
        self.local_model = _LOCAL_MODEL
        super().__init__(f"No model is configured, so TARSy cannot investigate alerts.\n{model_setup_hint(variables)}.")


def model_setup_hint(variables: Mapping[str, tuple[str, ...]]) -> str:
    """Describe for people how to configure a model."""
    ways = ", ".join(" and ".join(names) for names in variables.values())
    return f"Set the key of a vendor in the environment or in .env (one of {ways}), or {_LOCAL_MODEL}"


def vendor_variables() -> Mapping[str, tuple[str, ...]]:
    """Return the variables to set by vendor, in order of preference."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in documents.LLM_PROVIDERS.values():
        provider = LLMProviderConfig.model_validate(entry)
        found.setdefault(provider.type.value, provider.announcing_variables())
    return found


def choose_default_provider(providers: Mapping[str, LLMProviderConfig], env: Mapping[str, str]) -> str | None:
    """Return the first provider that has its key or is local: built-in ones in their order, then the operator's own."""
    own = [name for name in providers if name not in documents.LLM_PROVIDERS]
    for name in [*documents.LLM_PROVIDERS, *own]:
        provider = providers.get(name)
        if provider is None:
            continue
        wanted = provider.announcing_variables()
        has_key = bool(wanted) and all(env.get(variable, "").strip() for variable in wanted)
        if has_key or (provider.base_url is not None and is_local(provider.base_url, env)):
            return name
    return None
