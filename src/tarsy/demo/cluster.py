"""A simulated Kubernetes cluster as an MCP server over stdio: `python -m tarsy.demo.cluster --incident NAME`.

The server is the same for every incident; the world it shows is data. Nothing can be changed through it.
"""

import argparse
from collections.abc import Callable

from tarsy.demo.incident_files import INCIDENTS
from tarsy.demo.stdio_server import StdioServer, Tool
from tarsy.demo.views.access import audit_search, rbac_get, secrets_list
from tarsy.demo.views.capacity import hpa_list, pvcs_get, pvcs_list, quotas_list
from tarsy.demo.views.events import events_history, events_list
from tarsy.demo.views.metrics import metrics_list, metrics_query
from tarsy.demo.views.network import dns_lookup, flows_list, ingresses_list, netpol_list, services_list
from tarsy.demo.views.nodes import nodes_describe, nodes_list, nodes_stats
from tarsy.demo.views.pods import namespaces_list, pods_get, pods_list, pods_log
from tarsy.demo.views.promql import promql_query
from tarsy.demo.views.tls import certificates_list, webhooks_list
from tarsy.demo.views.workloads import configmaps_get, configmaps_list, deployment_history, deployments_list
from tarsy.demo.world import ClusterData, load_world

INSTRUCTIONS = "A read-only view of one Kubernetes cluster: workloads, events, logs, nodes, metrics, network and access records."
# In the order in which they are listed to a model.
TOOLS: tuple[Callable[..., str], ...] = (
    *(namespaces_list, pods_list, pods_get, pods_log, events_list, events_history),
    *(deployments_list, deployment_history, configmaps_list, configmaps_get),
    *(nodes_list, nodes_describe, nodes_stats),
    *(metrics_list, metrics_query, promql_query),
    *(services_list, ingresses_list, dns_lookup, netpol_list, flows_list),
    *(rbac_get, audit_search, secrets_list),
    *(quotas_list, pvcs_list, pvcs_get, hpa_list),
    *(certificates_list, webhooks_list),
)


def build_server(world: ClusterData) -> StdioServer:
    """Return a server with the read-only tools of `world`."""
    return StdioServer(f"cluster ({world.cluster})", INSTRUCTIONS, cluster_tools(world))


def cluster_tools(world: ClusterData) -> list[Tool]:
    """Return all tools, bound to `world`."""
    return [Tool.of(function, world) for function in TOOLS]


def main() -> None:
    """Serve the world of an incident on standard input and output until the client closes the connection."""
    names = sorted(path.parent.name for path in INCIDENTS.glob("*/world.yaml"))
    parser = argparse.ArgumentParser(prog="python -m tarsy.demo.cluster", description="A simulated Kubernetes cluster as an MCP server.")
    parser.add_argument("--incident", required=True, choices=names, help="which incident's cluster to simulate")
    build_server(load_world(parser.parse_args().incident)).run()


if __name__ == "__main__":
    main()
