"""Who may do what, who did what, and the secrets that a client of these tools must learn to hide."""

import base64
from typing import Annotated

from pydantic import Field

from tarsy.demo.kubectl import cells, table, timestamp
from tarsy.demo.lookup import InNamespace, check_namespace, find, in_namespace
from tarsy.demo.world import ClusterData

_MOST = 40


def rbac_get(
    world: ClusterData, namespace: InNamespace, service_account: Annotated[str, Field(description="Name of the service account")]
) -> str:
    """Show what a service account may do, and through which bindings."""
    account = find(world, "serviceaccount", world.service_accounts, namespace, service_account)
    bindings = "\n".join(f"  - {binding}" for binding in account.bindings)
    return f"ServiceAccount {namespace}/{service_account}\nBindings:\n{bindings}\nEffective rules:\n{account.rules.rstrip()}"


def audit_search(
    world: ClusterData,
    user: Annotated[str, Field(description="Only requests of users whose name contains this")] = "",
    namespace: Annotated[str, Field(description="Only requests about objects in this namespace")] = "",
    verb: Annotated[str, Field(description="Only this verb: get, list, create, patch, delete, …")] = "",
) -> str:
    """Search the API server's audit log."""
    check_namespace(world, namespace)
    found = [
        record
        for record in sorted(world.audit, key=lambda record: world.at(record.at))
        if user.lower() in record.user.lower()
        and verb.lower() in ("", record.verb.lower())
        and (not namespace or record.resource.startswith(f"{namespace}/"))
    ]
    if not found:
        return "No audit records match. The audit log is kept for 7 days."
    fields = ("user", "verb", "resource", "code", "source_ip", "user_agent", "note")
    rows = [(timestamp(world.at(record.at)), *cells(record, *fields)) for record in found[-_MOST:]]
    return table(("TIME", "USER", "VERB", "RESOURCE", "CODE", "SOURCE IP", "USER AGENT", "NOTE"), rows)


def secrets_list(world: ClusterData, namespace: InNamespace) -> str:
    """List the secrets of a namespace."""
    # As the API server answers, values and all: hiding them is the client's duty.
    found = in_namespace(world, world.secrets, namespace)
    if not found:
        return "No secrets found."
    documents: list[str] = []
    for secret in found:
        data = "\n".join(f"  {key}: {base64.b64encode(value.encode()).decode()}" for key, value in secret.data.items())
        documents.append(
            f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {secret.name}\n  namespace: {secret.namespace}\n"
            f'  creationTimestamp: "{timestamp(world.at(secret.created))}"\ntype: {secret.type}\ndata:\n{data}'
        )
    return "\n---\n".join(documents)
