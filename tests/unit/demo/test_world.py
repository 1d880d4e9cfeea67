"""The worlds are coherent: what one part of a cluster says, no other part denies."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tarsy.demo.incident_files import read_yaml
from tarsy.demo.samples import list_samples
from tarsy.demo.world import ClusterData, load_world

every_world = pytest.mark.parametrize("world", [load_world(sample.name) for sample in list_samples()], ids=[s.name for s in list_samples()])


@every_world
def test_pods_run_on_nodes_and_in_namespaces_that_exist(world: ClusterData) -> None:
    assert {pod.node for pod in world.pods} <= {node.name for node in world.nodes}
    named = (*world.pods, *world.workloads, *world.configmaps, *world.secrets, *world.services, *world.policies, *world.service_accounts)
    assert {thing.namespace for thing in named} <= set(world.namespaces)
    assert {event.namespace for event in world.events} <= {*world.namespaces, ""}


@every_world
def test_names_and_addresses_are_given_once(world: ClusterData) -> None:
    pods = [(pod.namespace, pod.name) for pod in world.pods]
    assert len(pods) == len(set(pods))
    addresses = [pod.ip for pod in world.pods if pod.ip != "<none>"]
    assert len(addresses) == len(set(addresses))


@every_world
def test_endpoints_are_ready_pods(world: ClusterData) -> None:
    ready = {pod.ip for pod in world.pods if all(container.ready for container in pod.containers)}
    for service in world.services:
        assert {endpoint.partition(":")[0] for endpoint in service.endpoints} <= ready


@every_world
def test_nothing_has_happened_after_now(world: ClusterData) -> None:
    times = [pod.created for pod in world.pods]
    times += [event.last for event in world.events] + [event.first for event in world.events if event.first]
    times += [revision.at for workload in world.workloads for revision in workload.revisions]
    times += [item.updated for item in world.configmaps if item.updated] + [record.at for record in world.audit]
    times += [flow.last for flow in world.flows] + [point for series in world.metrics for point in series.points]
    assert all(world.at(time) <= world.now for time in times)


@every_world
def test_events_are_not_older_than_the_hour_that_they_are_kept(world: ClusterData) -> None:
    assert all((world.now - world.at(event.last)).total_seconds() <= 3600 for event in world.events)


@every_world
def test_deployments_have_as_many_ready_pods_as_they_say(world: ClusterData) -> None:
    for workload in world.workloads:
        kind = {"Deployment": f"ReplicaSet/{workload.name}-", "CronJob": f"Job/{workload.name}-"}.get(workload.kind)
        owner = kind or f"{workload.kind}/{workload.name}"
        pods = [pod for pod in world.pods if pod.namespace == workload.namespace and pod.owner.startswith(owner)]
        assert sum(all(container.ready for container in pod.containers) for pod in pods) == workload.ready, workload.name


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError, match="colour"):
        ClusterData.model_validate(
            {"now": "2026-03-10T09:00:00Z", "namespaces": [], "nodes": [{"name": "a", "created": "-1d", "colour": "red"}]}
        )


def test_scalars_stay_text_and_merge_keys_merge(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("base: &b {version: 1.10, at: 10:20:30}\nown: {<<: *b, on: yes}\n", encoding="utf-8")
    assert read_yaml(path)["own"] == {"version": "1.10", "at": "10:20:30", "on": "yes"}
