"""The Helm chart, rendered by Helm, validated against the schemas of Kubernetes, and compared with the program that it deploys."""

import os
import platform
import shutil
import subprocess
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import kubernetes_validate  # pyright: ignore[reportMissingTypeStubs] - there are none
import pytest
import yaml

from support.deployment_files import KUBERNETES, ROOT, Manifest, containers, manifests, of_kind
from tarsy import __version__
from tarsy.config.load.loader import load_config

CHART = ROOT / "deploy" / "helm" / "tarsy"
# helm-binary installs it next to the interpreter.
HELM = shutil.which("helm", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
pytestmark = pytest.mark.skipif(
    HELM is None and (sys.platform, platform.machine()) != ("linux", "x86_64"), reason="PyPI has Helm for Linux on x86-64 only"
)
# The oldest version that the chart allows, and the newest that we have the schemas of.
VERSIONS = ("1.27", kubernetes_validate.latest_version())
MINIMAL = ("secret.existing=tarsy",)
COMPLETE = (
    "secret.values.TARSY_API_TOKENS=alice:admin=x",
    "secret.values.POSTGRES_PASSWORD=secret",
    "postgresql.enabled=true",
    "postgresql.storageClassName=fast",
    "ingress.enabled=true",
    "ingress.className=nginx",
    "ingress.tlsSecret=tarsy-tls",
    "ingress.annotations.a/b=c",
    "autoscaling.enabled=true",
    "autoscaling.selector.namespace=tarsy",
    "llmProviders.llm_providers.mine.type=openai",
    "nodeSelector.pool=tools",
    "imagePullSecrets[0].name=registry",
    "networkPolicy.extraEgress[0].ports[0].port=4317",
)
LEAST = (*MINIMAL, "networkPolicy.enabled=false", "kubernetesMcpServer.enabled=false")


def helm(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([HELM or "helm", *arguments], capture_output=True, text=True, timeout=60, check=False)


@cache
def rendered(*values: str, release: str = "tarsy") -> list[Manifest]:
    done = helm("template", release, str(CHART), "--namespace", "ops", *(part for value in values for part in ("--set", value)))
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def tarsy(objects: list[Manifest]) -> Any:
    return next(container for _, container in containers(objects) if container["name"] == "tarsy")


@pytest.mark.parametrize(("values", "version"), list(product((MINIMAL, COMPLETE, LEAST), VERSIONS)))
def test_every_object_is_one_that_kubernetes_accepts(values: tuple[str, ...], version: str) -> None:
    for one in rendered(*values):
        kubernetes_validate.validate(one, version, strict=True)


def test_helm_finds_nothing_to_complain_about() -> None:
    done = helm("lint", "--strict", str(CHART), "--set", MINIMAL[0])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("value", "complaint"), [("replicas=2", "Set secret.existing"), ("replica=3", "replica"), ("replicas=none", "integer")]
)
def test_a_chart_without_a_secret_or_with_a_misspelt_value_is_not_installed(value: str, complaint: str) -> None:
    done = helm("template", "tarsy", str(CHART), "--set", value)
    assert done.returncode != 0
    assert complaint in done.stderr


def test_the_chart_deploys_the_same_containers_as_the_kustomization() -> None:
    chart, base = rendered(*MINIMAL), manifests(KUBERNETES / "base")
    ours, theirs = ({container["name"]: container for _, container in containers(objects)} for objects in (chart, base))
    for name in ("tarsy", "server"):
        same = theirs[name].keys() - {"image", "env"}
        assert {key: ours[name][key] for key in same} == {key: theirs[name][key] for key in same}
    probes = {name: ours["tarsy"][f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    assert probes == {"startup": "/ready", "readiness": "/ready", "liveness": "/live"}
    assert ours["tarsy"]["image"].endswith(f":{__version__}")
    pods = [
        {key: pod[key] for key in ("terminationGracePeriodSeconds", "automountServiceAccountToken")} for pod in _tarsy_pods(chart, base)
    ]
    assert pods[0] == pods[1]


def _tarsy_pods(*deployments: list[Manifest]) -> list[Any]:
    return [of_kind(objects, "Deployment")["tarsy"]["spec"]["template"]["spec"] for objects in deployments]


def test_no_container_may_do_more_than_it_has_to() -> None:
    found = list(containers(rendered(*COMPLETE)))
    assert {container["name"] for _, container in found} == {"tarsy", "server", "postgresql"}
    for pod, container in found:
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("release", ["tarsy", "blue"])
def test_services_policies_and_the_autoscaler_select_what_exists(release: str) -> None:
    objects = rendered(*COMPLETE, release=release)
    workloads = of_kind(objects, "Deployment") | of_kind(objects, "StatefulSet")
    pods = [one["spec"]["template"]["metadata"]["labels"] for one in workloads.values()]
    selectors = [one["spec"]["selector"] for one in of_kind(objects, "Service").values()]
    selectors += [one["spec"]["podSelector"]["matchLabels"] for one in of_kind(objects, "NetworkPolicy").values()]
    selectors += [one["spec"]["selector"]["matchLabels"] for one in of_kind(objects, "PodDisruptionBudget").values()]
    for selector in selectors:
        assert sum(selector.items() <= labels.items() for labels in pods) == 1, selector
    (autoscaler,) = of_kind(objects, "HorizontalPodAutoscaler").values()
    assert autoscaler["spec"]["scaleTargetRef"]["name"] in workloads
    (ingress,) = of_kind(objects, "Ingress").values()
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"]
    assert backend in of_kind(objects, "Service")


def test_the_number_of_replicas_is_the_operators_unless_the_autoscaler_decides() -> None:
    fixed, scaled = (
        of_kind(rendered(*MINIMAL, more), "Deployment")["tarsy"]["spec"] for more in ("replicas=3", "autoscaling.enabled=true")
    )
    assert fixed["replicas"] == 3
    assert "replicas" not in scaled


def test_network_policies_let_in_the_ingress_and_prometheus_and_only_tarsy_reaches_the_database_and_the_tool_server() -> None:
    objects = rendered(*COMPLETE, "networkPolicy.allowedNamespaces={edge,metrics}")
    policies = {name: one["spec"] for name, one in of_kind(objects, "NetworkPolicy").items()}
    ours = of_kind(objects, "Deployment")["tarsy"]["spec"]["selector"]["matchLabels"]
    assert policies.keys() == {"tarsy", "tarsy-postgresql", "tarsy-kubernetes-mcp-server"}
    assert all(policy["policyTypes"] == ["Ingress", "Egress"] for policy in policies.values())
    (entry,) = policies["tarsy"]["ingress"]
    assert entry["from"][0]["namespaceSelector"]["matchExpressions"][0]["values"] == ["edge", "metrics"]
    for name in ("tarsy-postgresql", "tarsy-kubernetes-mcp-server"):
        (entry,) = policies[name]["ingress"]
        assert entry["from"] == [{"podSelector": {"matchLabels": ours}}]
    assert "egress" not in policies["tarsy-postgresql"]
    assert {"ports": [{"port": 4317}]} in policies["tarsy"]["egress"]


def test_the_ingress_has_its_host_class_annotations_and_certificate() -> None:
    (ingress,) = of_kind(rendered(*COMPLETE, "ingress.host=tarsy.acme.test"), "Ingress").values()
    assert ingress["metadata"]["annotations"] == {"a/b": "c"}
    assert ingress["spec"]["ingressClassName"] == "nginx"
    assert ingress["spec"]["rules"][0]["host"] == "tarsy.acme.test"
    assert ingress["spec"]["tls"] == [{"hosts": ["tarsy.acme.test"], "secretName": "tarsy-tls"}]
    assert not of_kind(rendered(*MINIMAL), "Ingress")


def test_secrets_come_from_a_secret_that_exists_or_from_that_of_the_chart() -> None:
    (stored,) = of_kind(rendered(*COMPLETE), "Secret").values()
    assert stored["stringData"] == {"TARSY_API_TOKENS": "alice:admin=x", "POSTGRES_PASSWORD": "secret"}
    for objects, name in ((rendered(*MINIMAL), "tarsy"), (rendered(*COMPLETE), stored["metadata"]["name"])):
        assert tarsy(objects)["envFrom"] == [{"secretRef": {"name": name}}]
    everything_else = [one for one in rendered(*COMPLETE) if one["kind"] != "Secret"]
    assert "alice:admin" not in yaml.safe_dump(everything_else)


def test_the_autoscaler_follows_a_metric_that_tarsy_has() -> None:
    (autoscaler,) = of_kind(rendered(*COMPLETE), "HorizontalPodAutoscaler").values()
    (metric,) = autoscaler["spec"]["metrics"]
    assert metric["external"]["target"] == {"type": "Value", "value": "60"}
    assert f"| `{metric['external']['metric']['name']}` | gauge |" in (ROOT / "docs" / "metrics.md").read_text()


@pytest.mark.parametrize("values", [MINIMAL, COMPLETE])
def test_the_configuration_loads_and_leads_to_the_tool_server(values: tuple[str, ...], tmp_path: Path) -> None:
    objects = rendered(*values)
    (config,) = of_kind(objects, "ConfigMap").values()
    (tmp_path / "tarsy.yaml").write_text(config["data"]["tarsy.yaml"])
    loaded = load_config(tmp_path, {"OPENAI_API_KEY": "k"})
    assert loaded.warnings == ()
    service = of_kind(objects, "Service")["tarsy-kubernetes-mcp-server"]
    url = loaded.config.mcp_servers["kubernetes-server"].transport.url
    assert url == f"http://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}/mcp"
    pod = of_kind(objects, "Deployment")["tarsy"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= loaded.config.queue.graceful_shutdown_timeout + 30


def test_the_database_is_that_of_the_secret_or_the_one_of_the_chart() -> None:
    external, own = (
        {one["name"]: one for one in tarsy(objects)["env"]}["DATABASE_URL"] for objects in (rendered(*MINIMAL), rendered(*COMPLETE))
    )
    assert external["valueFrom"]["secretKeyRef"] == {"name": "tarsy", "key": "DATABASE_URL"}
    (name,) = of_kind(rendered(*COMPLETE), "StatefulSet")
    assert own["value"] == f"postgresql://tarsy:$(POSTGRES_PASSWORD)@{name}:5432/tarsy"
    assert name in of_kind(rendered(*COMPLETE), "Service")
    assert not of_kind(rendered(*MINIMAL), "StatefulSet")
    assert not of_kind(rendered(*MINIMAL), "Secret")


def test_a_change_of_the_configuration_rolls_the_pods() -> None:
    before, after = (
        of_kind(rendered(*MINIMAL, f"config.queue.worker_count={count}"), "Deployment")["tarsy"]["spec"]["template"]["metadata"]
        for count in (5, 6)
    )
    assert before["labels"] == after["labels"]
    assert before["annotations"] != after["annotations"]
