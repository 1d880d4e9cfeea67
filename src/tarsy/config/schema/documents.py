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
    defaults: DefaultsConfig = Field(default=DefaultsConfig(), description="What holds where nothing more specific is said.")
    queue: QueueConfig = Field(default=QueueConfig(), description="How many sessions run, and when one counts as abandoned.")
    mcp_servers: Mapping[str, MCPServerConfig] = Field(default={}, description="Tool servers by name.")
    skills: tuple[SkillSourceConfig, ...] = Field(
        default=(), description="Where skills come from besides the directory `skills` beside this file, and those that TARSy brings along."
    )
    agents: Mapping[str, AgentConfig] = Field(default={}, description="Agents by name.")
    agent_chains: Mapping[str, ChainConfig] = Field(default={}, description="Chains by id.")
    routes: tuple[RouteConfig, ...] = Field(
        default=(),
        description="What happens to the alerts of monitoring systems. The first that fits counts; see [Monitoring systems](senders.md).",
    )
    senders: Mapping[str, SenderConfig] = Field(
        default={},
        description="How senders prove who they are, and mappings for those that are not known, by the last part of the webhook's address.",
    )
    mute: tuple[MuteConfig, ...] = Field(default=(), description="Times in which alerts are recorded only, such as maintenance.")


class ProvidersDocument(Section):
    """`llm-providers.yaml`: the models."""

    llm_providers: Mapping[str, LLMProviderConfig] = Field(default={}, description="Models and the way to reach them, by name.")
