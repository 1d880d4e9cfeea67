"""Services, name resolution, network policies and traffic."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import age, cells, stamp, table
from tarsy.demo.lookup import NotThereError, check_namespace, in_namespace
from tarsy.demo.tool_arguments import Namespace
from tarsy.demo.world import Flow, Ingress, Lookup, World


def services_list(world: World, namespace: Namespace = "") -> str:
    """List services with their endpoints."""
    rows = [
        (item.namespace, item.name, item.type, item.cluster_ip, item.ports, ",".join(item.endpoints) or "<none>")
        for item in in_namespace(world, world.services, namespace)
    ]
    return table(("NAMESPACE", "NAME", "TYPE", "CLUSTER-IP", "PORTS", "ENDPOINTS"), rows) if rows else "No services found."


def ingresses_list(world: World, namespace: Namespace = "") -> str:
    """List ingresses with their hosts, paths, backends and TLS secrets."""
    found = in_namespace(world, world.ingresses, namespace)
    return "\n\n".join("\n".join(_ingress(world, item)) for item in found) or "No ingresses found."


def _ingress(world: World, item: Ingress) -> Iterator[str]:
    yield f"{item.namespace}/{item.name} (class {item.ingress_class}, created {stamp(world.at(item.created))})"
    yield from (f"  annotation {key}: {value}" for key, value in item.annotations.items())
    yield from (f"  {rule}" for rule in item.rules)
    if item.tls:
        yield f"  tls: {item.tls}"


def dns_lookup(
    world: World,
    name: Annotated[str, Field(description="Host name to resolve")],
    namespace: Annotated[str, Field(description="Resolve as a pod in this namespace would")] = "default",
) -> str:
    """Resolve a name from inside the cluster."""
    check_namespace(world, namespace)
    wanted = _qualified(world, name.rstrip("."), namespace)
    for lookup in world.lookups:
        if lookup.name == wanted and lookup.client in ("", namespace):
            return _answer(lookup, namespace)
    return _answer(Lookup(name=wanted, failure="NXDOMAIN: the name does not exist", milliseconds=3), namespace)


def _qualified(world: World, name: str, namespace: str) -> str:
    """Apply the search list of a pod in `namespace`: `db`, `db.shop` and `db.shop.svc` are names of the cluster."""
    services = {(item.namespace, item.name) for item in world.services}
    parts = name.split(".")
    if len(parts) == 1 and (namespace, name) in services:
        return f"{name}.{namespace}.svc.cluster.local"
    if len(parts) in {2, 3} and (parts[1], parts[0]) in services:
        return f"{parts[0]}.{parts[1]}.svc.cluster.local"
    return name


def _answer(lookup: Lookup, namespace: str) -> str:
    lines = [f"Lookup from namespace {namespace or 'default'} through {lookup.server}", f"Name: {lookup.name}"]
    lines += [f"Answer: {answer}" for answer in lookup.answers]
    lines += [f"Error: {lookup.failure}"] if lookup.failure else []
    return "\n".join([*lines, f"Query time: {lookup.milliseconds} ms"])


def netpol_list(world: World, namespace: Namespace = "") -> str:
    """List network policies."""
    found = in_namespace(world, world.policies, namespace)
    if not found:
        return "No network policies: all traffic in the namespace is allowed."
    return "\n\n".join(
        f"{item.namespace}/{item.name} (created {stamp(world.at(item.created))}, {age(world.at(item.created), world.now)} ago)\n"
        f"{item.spec.strip()}"
        for item in found
    )


def flows_list(
    world: World, namespace: Namespace = "", pod: Annotated[str, Field(description="Only pods whose name contains this")] = ""
) -> str:
    """List observed network flows of pods: peers, ports, verdicts, volume."""
    check_namespace(world, namespace)
    found = [flow for flow in world.flows if namespace in ("", flow.namespace) and pod in flow.pod]
    if not found and not any(pod in item.name for item in world.pods):
        raise NotThereError(f'no pod matches "{pod}".')
    if not found:
        return "No flows recorded in the last 24 hours."
    headings = ("FIRST", "LAST", "POD", "DIRECTION", "PEER", "PORT", "VERDICT", "VOLUME", "NOTE")
    return table(headings, (_flow(world, flow) for flow in found))


def _flow(world: World, flow: Flow) -> tuple[str, ...]:
    times = (stamp(world.at(flow.first)), stamp(world.at(flow.last)))
    return (*times, f"{flow.namespace}/{flow.pod}", *cells(flow, "direction", "peer", "port", "verdict"), flow.volume or "-", flow.note)
