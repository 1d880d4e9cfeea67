"""The tools an alert gets when it asks for none itself. Pure module."""

from typing import Any

from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config, with_any_model


def default_tools(config: Config, alert_type: str | None = None) -> dict[str, Any]:
    """`{alert_type, chain_id, servers: [{name, tools?}], native_tools}` for the alert type, or for the default one.

    Works without a model: native tools are then those that the agents themselves ask for.

    Raises:
        UnknownEntryError: no chain answers the alert type.
    """
    wanted = alert_type or config.defaults.alert_type
    chain_id = config.chains.id_for(wanted)
    chain = resolve_chain(with_any_model(config), chain_id)
    agents = [agent for stage in chain.stages for agent in stage.agents]
    names = list(dict.fromkeys(name for agent in agents for name in agent.mcp_servers))
    return {
        "alert_type": wanted,
        "chain_id": chain_id,
        "servers": [{"name": name, "tools": chain.mcp_servers[name].tools} for name in names],
        "native_tools": {
            tool: any(agent.native_tools.get(tool, False) for agent in agents)
            for tool in ("google_search", "code_execution", "url_context")
        },
    }
