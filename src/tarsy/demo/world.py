"""The schema of a simulated cluster, `world.yaml`; the views render it.

Times are text that `moment` parses; log texts and container states contain their own timestamps and are shown as written.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, cast

from tarsy.demo.incident_files import INCIDENTS, FilePart, read_yaml

_OFFSET = re.compile(r"-(?:(?P<days>\d+)d)?(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)?")
_CLOCK = re.compile(r"\d{2}:\d{2}(:\d{2})?")


def moment(text: str, now: datetime) -> datetime:
    """Parse `-3d4h` (before now), `09:26:00` (on the day of now) or an ISO timestamp.

    Raises:
        ValueError: the text is none of these.
    """
    if text.startswith("-") and (offset := _OFFSET.fullmatch(text)):
        return now - timedelta(**{unit: int(value) for unit, value in offset.groupdict().items() if value})
    if _CLOCK.fullmatch(text):
        return datetime.fromisoformat(f"{now.date().isoformat()}T{text}+00:00")
    return datetime.fromisoformat(text)


class Named(FilePart):
    namespace: str = ""
    name: str


class Flood(FilePart):
    """A line that is repeated in a log; `{n}` is its number."""

    line: str
    count: int


class Container(FilePart):
    name: str
    image: str
    state: str = "Running"
    last_state: str = ""
    ready: bool = True
    restarts: int = 0
    command: str = ""
    requests: str = ""
    limits: str = ""
    env: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    log: str = ""
    previous_log: str = ""
    # Lines after the last one of `log`, more than a person would read.
    flood: Flood | None = None


class Pod(Named):
    node: str = "<none>"
    ip: str = "<none>"
    status: str = "Running"
    created: str
    restarted: str = ""
    owner: str = ""
    service_account: str = "default"
    priority_class: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    containers: tuple[Container, ...]
    volumes: tuple[str, ...] = ()
    conditions: Mapping[str, str] = {}
    security: tuple[str, ...] = ()


class Revision(FilePart):
    revision: int
    at: str
    cause: str = "<none>"
    # What differs from the revision before, as a diff of the pod template.
    changes: str = ""


class Workload(Named):
    kind: str = "Deployment"
    ready: int
    desired: int
    up_to_date: int | None = None
    created: str
    images: tuple[str, ...]
    note: str = ""
    revisions: tuple[Revision, ...] = ()


class Event(FilePart):
    namespace: str = ""
    type: str = "Normal"
    reason: str
    object: str
    message: str
    source: str
    first: str = ""
    last: str
    count: int = 1


class Node(FilePart):
    name: str
    status: str = "Ready"
    roles: str = "<none>"
    created: str
    version: str = "v1.33.4-eks-99d6cc0"
    architecture: str = "amd64"
    instance: str = "m6i.xlarge"
    zone: str = "eu-west-1a"
    taints: tuple[str, ...] = ()
    conditions: Mapping[str, str] = {}
    capacity: str = "cpu 4, memory 15880Mi, ephemeral-storage 80Gi, pods 58"
    allocated: str = ""
    # The kubelet's stats summary: file systems and the largest users of ephemeral storage.
    stats: str = ""


class ConfigMap(Named):
    created: str
    updated: str = ""
    updated_by: str = ""
    annotations: Mapping[str, str] = {}
    data: Mapping[str, str]
    # The values before the last change, from the audit log.
    previous: Mapping[str, str] = {}


class Secret(Named):
    type: str = "Opaque"
    created: str
    data: Mapping[str, str]


class Service(Named):
    type: str = "ClusterIP"
    cluster_ip: str
    ports: str
    endpoints: tuple[str, ...] = ()


class Lookup(FilePart):
    """The result of resolving a name; with `client`, only from this namespace."""

    name: str
    client: str = ""
    answers: tuple[str, ...] = ()
    failure: str = ""
    server: str = "10.100.0.10#53 (kube-dns)"
    milliseconds: int = 2


class NetworkPolicy(Named):
    created: str
    spec: str


class Series(FilePart):
    """A metric over time: interpolated linearly between `points`, with `noise` (a share of the value)."""

    metric: str
    labels: Mapping[str, str]
    points: Mapping[str, float]
    noise: float = 0.0
    digits: int = 0


class ServiceAccount(Named):
    bindings: tuple[str, ...]
    rules: str


class AuditRecord(FilePart):
    at: str
    user: str
    verb: str
    resource: str
    code: int = 200
    source_ip: str
    user_agent: str = "kubectl/v1.33.1"
    note: str = ""


class Flow(FilePart):
    """Observed traffic between a pod and a peer."""

    namespace: str
    pod: str
    direction: str = "egress"
    peer: str
    port: str
    verdict: str = "FORWARDED"
    first: str
    last: str
    volume: str = ""
    note: str = ""


class Quota(Named):
    """`used` and `hard` by resource, as `kubectl describe quota` shows them. A LimitRange has defaults instead."""

    kind: str = "ResourceQuota"
    created: str
    used: Mapping[str, str] = {}
    hard: Mapping[str, str] = {}
    defaults: Mapping[str, str] = {}


class VolumeClaim(Named):
    """A PersistentVolumeClaim with its volume."""

    status: str = "Bound"
    volume: str = "<none>"
    capacity: str = "<none>"
    storage_class: str = "gp3"
    access: str = "RWO"
    zone: str = ""
    created: str
    used_by: tuple[str, ...] = ()
    note: str = ""


class Webhook(FilePart):
    name: str
    kind: str = "ValidatingWebhookConfiguration"
    created: str
    service: str
    failure_policy: str = "Ignore"
    timeout: str = "10s"
    rules: tuple[str, ...]
    selector: str = ""
    note: str = ""


class Autoscaler(Named):
    created: str
    reference: str
    targets: str
    least: int
    most: int
    replicas: int
    conditions: tuple[str, ...] = ()


class Certificate(Named):
    """A TLS certificate, with its secret and its issuer."""

    secret: str
    issuer: str
    dns_names: tuple[str, ...]
    not_before: str
    # A timestamp, because it may be after now.
    not_after: str
    ready: bool = True
    note: str = ""


class Ingress(Named):
    created: str
    ingress_class: str = "nginx"
    rules: tuple[str, ...]
    tls: str = ""
    annotations: Mapping[str, str] = {}


class ClusterData(FilePart, title="World"):
    cluster: str = "larkspur-prod-eu1"
    now: datetime
    namespaces: tuple[str, ...]
    pods: tuple[Pod, ...] = ()
    workloads: tuple[Workload, ...] = ()
    events: tuple[Event, ...] = ()
    nodes: tuple[Node, ...] = ()
    configmaps: tuple[ConfigMap, ...] = ()
    secrets: tuple[Secret, ...] = ()
    services: tuple[Service, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    policies: tuple[NetworkPolicy, ...] = ()
    metrics: tuple[Series, ...] = ()
    service_accounts: tuple[ServiceAccount, ...] = ()
    audit: tuple[AuditRecord, ...] = ()
    flows: tuple[Flow, ...] = ()
    quotas: tuple[Quota, ...] = ()
    claims: tuple[VolumeClaim, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    autoscalers: tuple[Autoscaler, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    ingresses: tuple[Ingress, ...] = ()
    # Events that only the event store still has, not the API server.
    past_events: tuple[Event, ...] = ()

    def at(self, text: str) -> datetime:
        return moment(text, self.now)


@cache
def load_world(incident: str) -> ClusterData:
    """Load the world of a sample incident."""
    return read_world(INCIDENTS / incident / "world.yaml")


def read_world(path: Path) -> ClusterData:
    """Load a world and merge it with the platform that all worlds share.

    Lists are joined: the world's entries replace those of the platform with the same name, and those under `absent` (`namespace/name`) are left out.

    Raises:
        ValidationError: the file is not a valid world.
    """
    platform: Mapping[str, Any] = read_yaml(INCIDENTS / "platform.yaml")
    own: Mapping[str, Any] = read_yaml(path)
    merged = {**platform, **own}
    absent = {tuple(name.split("/")) for name in merged.pop("absent", ())}
    for key in (key for key, value in platform.items() if isinstance(value, list)):
        added = cast("Sequence[Any]", own.get(key, ()))
        hidden = absent | {_identity(entry) for entry in added}
        merged[key] = [entry for entry in platform[key] if _identity(entry) not in hidden] + list(added)
    return ClusterData.model_validate(merged)


def _identity(entry: Any) -> tuple[str, ...]:
    """Return a key that is equal for entries that describe the same object. Entries without a name (events, series) must be equal themselves."""
    if isinstance(entry, str):
        return (entry,)
    if "name" in entry and "answers" not in entry and "failure" not in entry:
        return (entry.get("namespace", ""), entry["name"])
    return (repr(entry),)
