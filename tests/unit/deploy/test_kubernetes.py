"""The manifests fit together, and fit the program they deploy."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from support.deployment_files import KUBERNETES, ROOT, containers, manifests, of_kind
from tarsy.cli.serve import DEFAULT_GRACE
from tarsy.config.load.loader import load_config
from tarsy.config.schema.providers import LLMProviderConfig
from tarsy.domain.llm import ProviderType
from tarsy.settings import settings_from

BASE = KUBERNETES / "base"
OVERLAY = KUBERNETES / "overlays" / "llm-service"
EVERYTHING = manifests(OVERLAY)


def test_every_file_is_part_of_a_kustomization() -> None:
    for directory in (BASE, OVERLAY):
        kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
        named = {*kustomization["resources"], *(patch["path"] for patch in kustomization.get("patches", ()))}
        named |= {file for generator in kustomization.get("configMapGenerator", ()) for file in generator["files"]}
        there = {path.relative_to(directory).as_posix() for path in directory.rglob("*.yaml")} - {"kustomization.yaml"}
        assert there == {name for name in named if name.endswith(".yaml")}


def test_objects_of_a_kind_have_names_of_their_own() -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in EVERYTHING]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("pod", "container"), list(containers(EVERYTHING)), ids=lambda part: part.get("name", "pod"))
def test_no_container_may_do_more_than_it_has_to(pod: dict[str, Any], container: dict[str, Any]) -> None:
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "memory" in container["resources"]["limits"]
    image = container["image"]
    assert image == "tarsy" or ("@" in image or ":" in image.rsplit("/", 1)[-1])
    assert not image.endswith(":latest")


def test_only_the_tool_server_talks_to_the_cluster_and_only_to_read() -> None:
    deployments = of_kind(EVERYTHING, "Deployment")
    talking = {name for name, one in deployments.items() if one["spec"]["template"]["spec"].get("automountServiceAccountToken", True)}
    assert talking == {"kubernetes-mcp-server"}
    assert [one["roleRef"]["name"] for one in of_kind(EVERYTHING, "ClusterRoleBinding").values()] == ["view"]
    assert "--read-only" in deployments["kubernetes-mcp-server"]["spec"]["template"]["spec"]["containers"][0]["args"]


def test_services_budgets_and_policies_select_pods_that_exist() -> None:
    pods = [one["spec"]["template"]["metadata"]["labels"] for one in of_kind(EVERYTHING, "Deployment").values()]
    selectors = [one["spec"]["selector"] for one in of_kind(EVERYTHING, "Service").values()]
    selectors += [one["spec"]["selector"]["matchLabels"] for one in of_kind(EVERYTHING, "PodDisruptionBudget").values()]
    selectors += [one["spec"]["podSelector"].get("matchLabels", {}) for one in of_kind(EVERYTHING, "NetworkPolicy").values()]
    for selector in selectors:
        assert any(selector.items() <= labels.items() for labels in pods), selector
    assert {"tarsy", "llm-service"} <= of_kind(EVERYTHING, "PodDisruptionBudget").keys()


def test_ports_are_the_same_in_containers_services_probes_and_policies() -> None:
    ports = {container["name"]: {p["name"]: p["containerPort"] for p in container["ports"]} for _, container in containers(EVERYTHING)}
    assert ports == {"tarsy": {"http": 8080}, "server": {"http": 8080}, "llm-service": {"grpc": 50051}}
    for service in of_kind(EVERYTHING, "Service").values():
        assert service["spec"]["ports"][0]["targetPort"] in {"http", "grpc"}
    opened = {
        name: {port["port"] for rule in policy["spec"].get("ingress", ()) for port in rule["ports"]}
        for name, policy in of_kind(EVERYTHING, "NetworkPolicy").items()
    }
    assert (opened["tarsy"], opened["kubernetes-mcp-server"], opened["llm-service"]) == ({8080}, {8080}, {50051})
    assert opened["nothing-by-default"] == set()
    for _, container in containers(EVERYTHING):
        if "--port" in container["args"]:
            assert int(container["args"][container["args"].index("--port") + 1]) in ports[container["name"]].values()


def test_pods_get_as_long_to_stop_as_the_program_takes() -> None:
    pods = {name: one["spec"]["template"]["spec"] for name, one in of_kind(EVERYTHING, "Deployment").items()}
    queue = load_config(BASE / "config", {"OPENAI_API_KEY": "k"}).config.queue
    assert queue.graceful_shutdown_timeout + 30 <= pods["tarsy"]["terminationGracePeriodSeconds"] <= queue.graceful_shutdown_timeout + 120
    arguments = pods["llm-service"]["containers"][0]["args"]
    grace = float(arguments[arguments.index("--grace") + 1])
    assert DEFAULT_GRACE < grace < pods["llm-service"]["terminationGracePeriodSeconds"]


def test_the_configuration_loads_and_leads_to_the_tool_server() -> None:
    loaded = load_config(BASE / "config", {"OPENAI_API_KEY": "k"})
    assert loaded.warnings == ()
    service = of_kind(EVERYTHING, "Service")["kubernetes-mcp-server"]
    url = loaded.config.mcp_servers["kubernetes-server"].transport.url
    assert url == f"http://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}/mcp"
    tarsy = next(container for _, container in containers(EVERYTHING) if container["name"] == "tarsy")
    mounted = {mount["name"]: mount["mountPath"] for mount in tarsy["volumeMounts"]}
    assert tarsy["env"] == [{"name": "TARSY_CONFIG_DIR", "value": mounted["config"]}]


def test_probes_ask_what_the_program_answers() -> None:
    probes = {
        (container["name"], probe): container[probe]
        for _, container in containers(EVERYTHING)
        for probe in container
        if probe.endswith("Probe")
    }
    assert {probe["httpGet"]["path"] for probe in probes.values() if "httpGet" in probe} == {"/ready", "/live"}
    # A restart does not bring the database back.
    assert probes["tarsy", "livenessProbe"]["httpGet"]["path"] == "/live"
    assert all(("llm-service", probe) in probes for probe in ("startupProbe", "readinessProbe", "livenessProbe"))


def test_the_overlay_leads_tarsy_to_the_llm_service_by_variables_that_it_reads() -> None:
    patch = yaml.safe_load((OVERLAY / "tarsy.patch.yaml").read_text())
    env = {one["name"]: one["value"] for one in patch["spec"]["template"]["spec"]["containers"][0]["env"]}
    settings = settings_from(env)
    service = of_kind(EVERYTHING, "Service")["llm-service"]
    assert settings.llm_service_addr == f"{service['metadata']['name']}:{service['spec']['ports'][0]['port']}"
    assert env.keys() - {"TARSY_LLM_SERVICE_ADDR"} == {*LLMProviderConfig(type=ProviderType.OPENAI, model="m").needed_variables()}
    assert load_config(BASE / "config", env).config.default_provider == "openai-default"


def test_every_yaml_file_of_the_deployment_can_be_parsed() -> None:
    # The chart's templates are YAML only after Helm has rendered them.
    files: list[Path] = [file for file in sorted((ROOT / "deploy").rglob("*.yaml")) if file.parent.name != "templates"]
    assert len(files) > 8
    for file in files:
        assert list(yaml.safe_load_all(file.read_text()))
