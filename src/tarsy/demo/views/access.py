"""Who may do what, who did what, and the secrets that a client of these tools must learn to hide."""

import base64

from tarsy.demo.kubectl import stamp, table
from tarsy.demo.lookup import check_namespace, find, in_namespace
from tarsy.demo.world import World

_MOST = 40


def rbac_get(world: World, namespace: str, service_account: str) -> str:
    account = find(world, "serviceaccount", world.service_accounts, namespace, service_account)
    bindings = "\n".join(f"  - {binding}" for binding in account.bindings)
    return f"ServiceAccount {namespace}/{service_account}\nBindings:\n{bindings}\nEffective rules:\n{account.rules.rstrip()}"


def audit_search(world: World, user: str, namespace: str, verb: str) -> str:
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
    rows = [
        (
            stamp(world.at(record.at)),
            record.user,
            record.verb,
            record.resource,
            str(record.code),
            record.source_ip,
            record.user_agent,
            record.note,
        )
        for record in found[-_MOST:]
    ]
    return table(("TIME", "USER", "VERB", "RESOURCE", "CODE", "SOURCE IP", "USER AGENT", "NOTE"), rows)


def secrets_list(world: World, namespace: str) -> str:
    """Answer as the API server does, values and all: hiding them is the client's duty."""
    found = in_namespace(world, world.secrets, namespace)
    if not found:
        return "No secrets found."
    documents: list[str] = []
    for secret in found:
        data = "\n".join(f"  {key}: {base64.b64encode(value.encode()).decode()}" for key, value in secret.data.items())
        documents.append(
            f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: {secret.name}\n  namespace: {secret.namespace}\n"
            f'  creationTimestamp: "{stamp(world.at(secret.created))}"\ntype: {secret.type}\ndata:\n{data}'
        )
    return "\n---\n".join(documents)
