"""The whole configuration as one frozen value, and the model that is taken when none is named."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tarsy.config.schema import builtins
from tarsy.config.schema.defaults import DefaultsConfig
from tarsy.config.schema.providers import LLMProviderConfig, is_local
from tarsy.config.schema.queue import QueueConfig
from tarsy.config.schema.registries import AgentRegistry, ChainRegistry, LLMProviderRegistry, MCPServerRegistry
from tarsy.config.schema.routes import MuteConfig, RouteConfig
from tarsy.config.schema.senders import SenderConfig
from tarsy.config.schema.system import SystemConfig
from tarsy.domain.skill import Skill

_LOCAL_MODEL = (
    "for a model on your own machine or network (Ollama, llama.cpp, vLLM) run `tarsy init local-model --url ADDRESS --model NAME`, which writes an entry "
    "with `type: openai`, `model` and `base_url` to llm-providers.yaml and names it in tarsy.yaml as `defaults.llm_provider`"
)


@dataclass(frozen=True, slots=True)
class Config:
    """Files and built-ins together. Values from the environment are still `{{.VAR}}` where they may be secret."""

    system: SystemConfig
    defaults: DefaultsConfig
    queue: QueueConfig
    mcp_servers: MCPServerRegistry
    agents: AgentRegistry
    chains: ChainRegistry
    llm_providers: LLMProviderRegistry
    # By name, checked, with their text.
    skills: Mapping[str, Skill] = field(default_factory=dict[str, Skill])
    # The provider where no level names one; None when no key was in the environment at start.
    default_provider: str | None = None
    routes: tuple[RouteConfig, ...] = ()
    senders: Mapping[str, SenderConfig] = field(default_factory=dict[str, SenderConfig])
    mute: tuple[MuteConfig, ...] = ()


def with_any_model(config: Config) -> Config:
    """The same with a model where there is none: enough to follow the chains and to look at their tools."""
    return config if config.default_provider else replace(config, default_provider=next(iter(builtins.LLM_PROVIDERS)))


class NoProviderError(Exception):
    """No model can be reached: nothing names a provider and no vendor's key is in the environment; the operator can act."""

    def __init__(self, variables: Mapping[str, tuple[str, ...]]) -> None:
        self.variables = variables
        self.local_model = _LOCAL_MODEL
        super().__init__(f"no model is configured. {ways_to_a_model(variables)}")


def ways_to_a_model(variables: Mapping[str, tuple[str, ...]]) -> str:
    """What to set so that alerts are investigated by a model."""
    ways = "; ".join(f"{vendor}: {' and '.join(names)}" for vendor, names in variables.items())
    return f"Set the key of a vendor in the environment or in .env ({ways}), or {_LOCAL_MODEL}"


def vendor_variables() -> Mapping[str, tuple[str, ...]]:
    """The variables to set, by vendor, in order of preference."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in builtins.LLM_PROVIDERS.values():
        provider = LLMProviderConfig.model_validate(entry)
        found.setdefault(provider.type.value, provider.announcing_variables())
    return found


def choose_default_provider(providers: Mapping[str, LLMProviderConfig], env: Mapping[str, str]) -> str | None:
    """The first provider that can be used as it is: built-in ones in their order, then the user's own."""
    own = [name for name in providers if name not in builtins.LLM_PROVIDERS]
    for name in [*builtins.LLM_PROVIDERS, *own]:
        provider = providers.get(name)
        if provider and _is_ready(provider, env):
            return name
    return None


def _is_ready(provider: LLMProviderConfig, env: Mapping[str, str]) -> bool:
    wanted = provider.announcing_variables()
    if wanted and all(env.get(name, "").strip() for name in wanted):
        return True
    return provider.base_url is not None and is_local(provider.base_url, env)
