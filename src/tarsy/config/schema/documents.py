"""The two files as wholes."""

from collections.abc import Mapping

from pydantic import Field

from tarsy.config.schema.agents import AgentConfig
from tarsy.config.schema.chains import ChainConfig
from tarsy.config.schema.defaults import DefaultsConfig
from tarsy.config.schema.mcp_servers import MCPServerConfig
from tarsy.config.schema.providers import LLMProviderConfig
from tarsy.config.schema.queue import QueueConfig
from tarsy.config.schema.routes import MuteConfig, RouteConfig
from tarsy.config.schema.senders import SenderConfig
from tarsy.config.schema.skills import SkillSourceConfig
from tarsy.config.schema.system import SystemConfig
from tarsy.config.schema.values import Section

TARSY_FILE = "tarsy.yaml"
# Beside tarsy.yaml: further parts of the same document, one file for each team or purpose.
TARSY_DIRECTORY = "tarsy.d"
PROVIDERS_FILE = "llm-providers.yaml"


class TarsyDocument(Section):
    """`tarsy.yaml` with the files of `tarsy.d`: everything but the models."""

    system: SystemConfig = Field(default=SystemConfig(), description="The installation's surroundings.")
    defaults: DefaultsConfig = Field(default=DefaultsConfig(), description="Values that apply unless something more specific is set.")
    queue: QueueConfig = Field(default=QueueConfig(), description="How many sessions run, and when TARSy takes over an abandoned one.")
    mcp_servers: Mapping[str, MCPServerConfig] = Field(default={}, description="Tool servers by name.")
    skills: tuple[SkillSourceConfig, ...] = Field(
        default=(), description="Further sources of skills, besides the directory `skills` next to this file and the built-in skills."
    )
    agents: Mapping[str, AgentConfig] = Field(default={}, description="Agents by name.")
    agent_chains: Mapping[str, ChainConfig] = Field(default={}, description="Chains by id.")
    routes: tuple[RouteConfig, ...] = Field(
        default=(),
        description="What TARSy does with the alerts of monitoring systems. The first route that matches applies; see [Monitoring systems](senders.md).",
    )
    senders: Mapping[str, SenderConfig] = Field(
        default={},
        description="How senders authenticate, and mappings for senders that TARSy does not know. The name is the last part of the webhook's address.",
    )
    mute: tuple[MuteConfig, ...] = Field(default=(), description="Times in which TARSy only records alerts, such as maintenance.")


class ProvidersDocument(Section):
    """`llm-providers.yaml`: the models."""

    llm_providers: Mapping[str, LLMProviderConfig] = Field(default={}, description="Models and how to reach them, by name.")
