"""Services, name resolution, network policies and traffic."""

from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import age, cells, table, timestamp
from tarsy.demo.lookup import Namespace, UnknownObjectError, check_namespace, in_namespace
from tarsy.demo.world import ClusterData, Lookup


def services_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List services with their endpoints."""
    rows = [
        (item.namespace, item.name, item.type, item.cluster_ip, item.ports, ",".join(item.endpoints) or "<none>")
        for item in in_namespace(world, world.services, namespace)
    ]
    return table(("NAMESPACE", "NAME", "TYPE", "CLUSTER-IP", "PORTS", "ENDPOINTS"), rows) if rows else "No services found."


def ingresses_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List ingresses with their hosts, paths, backends and TLS secrets."""
    blocks: list[str] = []
    for item in in_namespace(world, world.ingresses, namespace):
        lines = [
            f"{item.namespace}/{item.name} (class {item.ingress_class}, created {timestamp(world.at(item.created))})",
            *(f"  annotation {key}: {value}" for key, value in item.annotations.items()),
            *(f"  {rule}" for rule in item.rules),
            *([f"  tls: {item.tls}"] if item.tls else []),
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) or "No ingresses found."


def dns_lookup(
    world: ClusterData,
    name: Annotated[str, Field(description="Host name to resolve")],
    namespace: Annotated[str, Field(description="Resolve as a pod in this namespace would")] = "default",
) -> str:
    """Resolve a name from inside the cluster."""
    check_namespace(world, namespace)
    wanted = name.rstrip(".")
    # The search list of a pod in the namespace: `db`, `db.shop` and `db.shop.svc` are names of the cluster.
    services = {(item.namespace, item.name) for item in world.services}
    parts = wanted.split(".")
    if len(parts) == 1 and (namespace, wanted) in services:
        wanted = f"{wanted}.{namespace}.svc.cluster.local"
    elif len(parts) in {2, 3} and (parts[1], parts[0]) in services:
        wanted = f"{parts[0]}.{parts[1]}.svc.cluster.local"
    known = (lookup for lookup in world.lookups if lookup.name == wanted and lookup.client in ("", namespace))
    lookup = next(known, Lookup(name=wanted, failure="NXDOMAIN: the name does not exist", milliseconds=3))
    lines = [f"Lookup from namespace {namespace or 'default'} through {lookup.server}", f"Name: {lookup.name}"]
    lines += [f"Answer: {answer}" for answer in lookup.answers]
    lines += [f"Error: {lookup.failure}"] if lookup.failure else []
    return "\n".join([*lines, f"Query time: {lookup.milliseconds} ms"])


def netpol_list(world: ClusterData, namespace: Namespace = "") -> str:
    """List network policies."""
    found = in_namespace(world, world.policies, namespace)
    if not found:
        return "No network policies: all traffic in the namespace is allowed."
    return "\n\n".join(
        f"{item.namespace}/{item.name} (created {timestamp(world.at(item.created))}, {age(world.at(item.created), world.now)} ago)\n"
        f"{item.spec.strip()}"
        for item in found
    )


def flows_list(
    world: ClusterData, namespace: Namespace = "", pod: Annotated[str, Field(description="Only pods whose name contains this")] = ""
) -> str:
    """List observed network flows of pods: peers, ports, verdicts, volume."""
    check_namespace(world, namespace)
    found = [flow for flow in world.flows if namespace in ("", flow.namespace) and pod in flow.pod]
    if not found and not any(pod in item.name for item in world.pods):
        raise UnknownObjectError(f'no pod matches "{pod}".')
    if not found:
        return "No flows recorded in the last 24 hours."
    headings = ("FIRST", "LAST", "POD", "DIRECTION", "PEER", "PORT", "VERDICT", "VOLUME", "NOTE")
    rows = (
        (
            timestamp(world.at(flow.first)),
            timestamp(world.at(flow.last)),
            f"{flow.namespace}/{flow.pod}",
            *cells(flow, "direction", "peer", "port", "verdict"),
            flow.volume or "-",
            flow.note,
        )
        for flow in found
    )
    return table(headings, rows)
