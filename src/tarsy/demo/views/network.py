"""Services, name resolution, network policies and traffic."""

from tarsy.demo.kubectl import age, stamp, table
from tarsy.demo.lookup import NotThereError, check_namespace, in_namespace
from tarsy.demo.world import Lookup, World


def services_list(world: World, namespace: str) -> str:
    rows = [
        (item.namespace, item.name, item.type, item.cluster_ip, item.ports, ",".join(item.endpoints) or "<none>")
        for item in in_namespace(world, world.services, namespace)
    ]
    return table(("NAMESPACE", "NAME", "TYPE", "CLUSTER-IP", "PORTS", "ENDPOINTS"), rows) if rows else "No services found."


def dns_lookup(world: World, name: str, namespace: str) -> str:
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


def netpol_list(world: World, namespace: str) -> str:
    found = in_namespace(world, world.policies, namespace)
    if not found:
        return "No network policies: all traffic in the namespace is allowed."
    return "\n\n".join(
        f"{item.namespace}/{item.name} (created {stamp(world.at(item.created))}, {age(world.at(item.created), world.now)} ago)\n"
        f"{item.spec.strip()}"
        for item in found
    )


def flows_list(world: World, namespace: str, pod: str) -> str:
    check_namespace(world, namespace)
    found = [flow for flow in world.flows if namespace in ("", flow.namespace) and pod in flow.pod]
    if not found and not any(pod in item.name for item in world.pods):
        raise NotThereError(f'no pod matches "{pod}".')
    if not found:
        return "No flows recorded in the last 24 hours."
    rows = [
        (
            stamp(world.at(flow.first)),
            stamp(world.at(flow.last)),
            f"{flow.namespace}/{flow.pod}",
            flow.direction,
            flow.peer,
            flow.port,
            flow.verdict,
            flow.volume or "-",
            flow.note,
        )
        for flow in found
    ]
    return table(("FIRST", "LAST", "POD", "DIRECTION", "PEER", "PORT", "VERDICT", "VOLUME", "NOTE"), rows)
