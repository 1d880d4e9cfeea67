"""A simulated Kubernetes cluster as an MCP server over stdio: `python -m tarsy.demo.cluster --incident NAME`.

The server is the same for every incident; the world it shows is data. Nothing can be changed through it.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import Field

from tarsy.demo.stdio_server import StdioServer
from tarsy.demo.views import access, events, metrics, network, nodes, pods, workloads
from tarsy.demo.world import INCIDENTS, World, load_world

Namespace = Annotated[str, Field(description="Namespace; empty means all namespaces")]
InNamespace = Annotated[str, Field(description="Namespace of the object")]
PodName = Annotated[str, Field(description="Full name of the pod, as pods_list shows it")]
NodeName = Annotated[str, Field(description="Name of the node")]
Tail = Annotated[int, Field(description="How many of the last lines to return", ge=1, le=200)]
Minutes = Annotated[int, Field(description="How many minutes to look back from now", ge=1, le=20160)]

INSTRUCTIONS = "A read-only view of one Kubernetes cluster: workloads, events, logs, nodes, metrics, network and access records."


def build_server(world: World) -> StdioServer:
    """Offer `world` through tools that can only read."""
    offers = (_pod_tools, _workload_tools, _node_tools, _metric_tools, _network_tools, _access_tools)
    return StdioServer(f"cluster ({world.cluster})", INSTRUCTIONS, (tool for offer in offers for tool in offer(world)))


def _pod_tools(world: World) -> Iterator[Callable[..., str]]:
    def namespaces_list() -> str:
        """List the namespaces of the cluster."""
        return "\n".join(world.namespaces)

    def pods_list(
        namespace: Namespace = "",
        label_selector: Annotated[str, Field(description="key=value pairs, separated by commas")] = "",
        node: Annotated[str, Field(description="Only pods on this node")] = "",
    ) -> str:
        """List pods with status, restarts, age and node (kubectl get pods -o wide)."""
        return pods.pods_list(world, namespace, label_selector, node)

    def pods_get(namespace: InNamespace, name: PodName) -> str:
        """Describe a pod: containers, states, exit codes, limits, environment, volumes, events (kubectl describe pod)."""
        return pods.pods_get(world, namespace, name)

    def pods_log(
        namespace: InNamespace,
        name: PodName,
        container: Annotated[str, Field(description="Container; empty means the first one")] = "",
        previous: Annotated[bool, Field(description="The log of the container's previous run, before it was restarted")] = False,  # noqa: FBT002 - a tool's argument
        tail: Tail = 100,
        grep: Annotated[str, Field(description="Only lines that match this regular expression")] = "",
    ) -> str:
        """Read a container's log (kubectl logs)."""
        return pods.pods_log(world, namespace, name, container, previous, tail, grep)

    def events_list(
        namespace: Namespace = "",
        type: Annotated[str, Field(description="Normal or Warning; empty means both", pattern="^(|Normal|Warning)$")] = "",  # noqa: A002 - the name that kubectl users expect
        object: Annotated[str, Field(description="Only events whose object contains this, e.g. Pod/web-1 or Node/")] = "",  # noqa: A002 - same
    ) -> str:
        """List events, oldest first (kubectl get events)."""
        return events.events_list(world, namespace, type, object)

    yield from (namespaces_list, pods_list, pods_get, pods_log, events_list)


def _workload_tools(world: World) -> Iterator[Callable[..., str]]:
    def deployments_list(namespace: Namespace = "") -> str:
        """List Deployments, StatefulSets, DaemonSets and CronJobs with readiness and images."""
        return workloads.deployments_list(world, namespace)

    def deployment_history(
        namespace: InNamespace, name: Annotated[str, Field(description="Name of the Deployment, StatefulSet, DaemonSet or CronJob")]
    ) -> str:
        """Show the rollout history of a workload: when, why, and what changed in the pod template."""
        return workloads.deployment_history(world, namespace, name)

    def configmaps_list(namespace: Namespace = "") -> str:
        """List config maps and when each was last modified."""
        return workloads.configmaps_list(world, namespace)

    def configmaps_get(namespace: InNamespace, name: Annotated[str, Field(description="Name of the config map")]) -> str:
        """Read a config map, who modified it last, and the values before that change where they are still known."""
        return workloads.configmaps_get(world, namespace, name)

    yield from (deployments_list, deployment_history, configmaps_list, configmaps_get)


def _node_tools(world: World) -> Iterator[Callable[..., str]]:
    def nodes_list() -> str:
        """List the nodes with status and version."""
        return nodes.nodes_list(world)

    def nodes_describe(name: NodeName) -> str:
        """Describe a node: conditions, taints, capacity, its pods and its events."""
        return nodes.nodes_describe(world, name)

    def nodes_stats(name: NodeName) -> str:
        """Read the kubelet's statistics of a node: file systems, and the pods that use most ephemeral storage."""
        return nodes.nodes_stats(world, name)

    yield from (nodes_list, nodes_describe, nodes_stats)


def _metric_tools(world: World) -> Iterator[Callable[..., str]]:
    def metrics_list() -> str:
        """List the metrics that are collected, with their labels."""
        return metrics.metrics_list(world)

    def metrics_query(
        query: Annotated[str, Field(description='A plain selector: metric{label="value",other=~"regex"}. No functions.')],
        minutes: Minutes = 60,
    ) -> str:
        """Read time series by metric name and labels."""
        return metrics.metrics_query(world, query, minutes)

    yield from (metrics_list, metrics_query)


def _network_tools(world: World) -> Iterator[Callable[..., str]]:
    def services_list(namespace: Namespace = "") -> str:
        """List services with their endpoints."""
        return network.services_list(world, namespace)

    def dns_lookup(
        name: Annotated[str, Field(description="Host name to resolve")],
        namespace: Annotated[str, Field(description="Resolve as a pod in this namespace would")] = "default",
    ) -> str:
        """Resolve a name from inside the cluster."""
        return network.dns_lookup(world, name, namespace)

    def netpol_list(namespace: Namespace = "") -> str:
        """List network policies."""
        return network.netpol_list(world, namespace)

    def flows_list(namespace: Namespace = "", pod: Annotated[str, Field(description="Only pods whose name contains this")] = "") -> str:
        """List observed network flows of pods: peers, ports, verdicts, volume."""
        return network.flows_list(world, namespace, pod)

    yield from (services_list, dns_lookup, netpol_list, flows_list)


def _access_tools(world: World) -> Iterator[Callable[..., str]]:
    def rbac_get(namespace: InNamespace, service_account: Annotated[str, Field(description="Name of the service account")]) -> str:
        """Show what a service account may do, and through which bindings."""
        return access.rbac_get(world, namespace, service_account)

    def audit_search(
        user: Annotated[str, Field(description="Only requests of users whose name contains this")] = "",
        namespace: Annotated[str, Field(description="Only requests about objects in this namespace")] = "",
        verb: Annotated[str, Field(description="Only this verb: get, list, create, patch, delete, …")] = "",
    ) -> str:
        """Search the API server's audit log."""
        return access.audit_search(world, user, namespace, verb)

    def secrets_list(namespace: InNamespace) -> str:
        """List the secrets of a namespace."""
        return access.secrets_list(world, namespace)

    yield from (rbac_get, audit_search, secrets_list)


def main() -> None:
    """Serve one incident's world on standard input and output until the client hangs up."""
    names = sorted(path.parent.name for path in INCIDENTS.glob("*/world.yaml"))
    parser = argparse.ArgumentParser(prog="python -m tarsy.demo.cluster", description="A simulated Kubernetes cluster as an MCP server.")
    parser.add_argument("--incident", required=True, choices=names, help="which incident's cluster to simulate")
    build_server(load_world(parser.parse_args().incident)).run()


if __name__ == "__main__":
    main()
