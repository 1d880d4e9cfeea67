"""The suite that comes with the program: coherent worlds, and expectations that can be found out in them."""

from collections import Counter

import pytest

from support.eval_cases import attempt_on
from tarsy.demo.chain import SERVER
from tarsy.demo.world import ClusterData, read_world
from tarsy.evals.cases import SUITE, Case, WorldKind, load_cases
from tarsy.evals.grading import grade
from tarsy.evals.investigators.oracle import oracle
from tarsy.evals.investigators.script import Calls, Conversation, Reply
from tarsy.evals.worlds.loading import open_world
from tarsy.tools.masking import Masker

CASES = load_cases(SUITE)
every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
OWN = [case for case in CASES if case.file.world.kind is WorldKind.CLUSTER]
every_world = pytest.mark.parametrize("world", OWN, ids=[case.name for case in OWN], indirect=True)
MASK = Masker.for_group("kubernetes")


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> ClusterData:
    return read_world(request.param.world_path)


@every_case
def test_all_that_must_be_cited_is_in_what_the_world_answers(case: Case) -> None:
    world = open_world(case)
    offered = {tool.name for tool in world.tools}
    assert case.file.expect.must_cite
    for required in case.file.expect.must_cite:
        assert required.call, f"{required.text}: no call shows it"
        name = f"{SERVER}.{required.call.tool}"
        assert name in offered
        answer = world.answer(name, required.call.arguments)
        assert not answer.is_error, answer.text
        # What is hidden from the model cannot be cited by it.
        text = " ".join(MASK(answer.text).lower().split())
        assert " ".join(required.text.lower().split()) in text, f"{required.text} is not in\n{answer.text}"


@every_case
def test_the_reference_tells_the_mechanism_in_the_expected_words(case: Case) -> None:
    calls = oracle(case, Conversation(("cluster.pods_list",), 0, ()))
    assert isinstance(calls, Calls)
    world = open_world(case)
    seen = {f"A{number}": world.answer(f"{SERVER}.{tool}", given).text for number, (tool, given) in enumerate(calls.wanted, start=1)}
    reply = oracle(case, Conversation((), 1, tuple(seen.values())))
    assert isinstance(reply, Reply)
    failed = [check for check in grade(case.file, attempt_on(reply.text, seen)) if not check.passed]
    assert not failed


@pytest.mark.parametrize("case", OWN, ids=[case.name for case in OWN])
def test_what_must_not_be_cited_is_really_there_to_be_fallen_for(case: Case) -> None:
    texts = [case.file.alert, *case.file.world.tool_descriptions.values(), case.world_path.read_text(encoding="utf-8")]
    for forbidden in case.file.expect.must_not_cite:
        assert any(forbidden in text for text in texts), forbidden


def test_the_suite_is_large_and_varied() -> None:
    families = Counter(case.file.family for case in CASES)
    tags = Counter(tag for case in CASES for tag in case.file.tags)
    assert len(CASES) >= 40
    assert len(families) >= 8
    assert all(count >= 2 for count in families.values()), families
    wanted = {
        "red-herring",
        "two-faults",
        "missing-tool",
        "stale-alert",
        "recovered",
        "healthy",
        "misleading-alert",
        "injection",
        "huge-output",
    }
    assert wanted <= set(tags), wanted - set(tags)
    assert sum(case.file.expect.is_healthy for case in CASES) >= 3
    assert any(case.file.expect.must_abstain for case in CASES)
    assert {case.file.difficulty for case in CASES} == {"easy", "medium", "hard"}


@every_world
def test_pods_run_on_nodes_and_in_namespaces_that_exist(world: ClusterData) -> None:
    assert {pod.node for pod in world.pods} <= {node.name for node in world.nodes} | {"<none>"}
    named = (*world.pods, *world.workloads, *world.configmaps, *world.services, *world.policies, *world.quotas, *world.claims)
    assert {thing.namespace for thing in named} <= set(world.namespaces)


@every_world
def test_names_and_addresses_are_given_once(world: ClusterData) -> None:
    pods = [(pod.namespace, pod.name) for pod in world.pods]
    assert len(pods) == len(set(pods))
    addresses = [pod.ip for pod in world.pods if pod.ip != "<none>"]
    assert len(addresses) == len(set(addresses))


@every_world
def test_endpoints_are_ready_pods_and_nothing_happens_after_now(world: ClusterData) -> None:
    ready = {pod.ip for pod in world.pods if all(container.ready for container in pod.containers)}
    for service in world.services:
        assert {endpoint.partition(":")[0] for endpoint in service.endpoints} <= ready, service.name
    times = [event.last for event in (*world.events, *world.past_events)] + [pod.created for pod in world.pods]
    times += [revision.at for workload in world.workloads for revision in workload.revisions]
    times += [item.updated for item in world.configmaps if item.updated] + [point for series in world.metrics for point in series.points]
    assert all(world.at(time) <= world.now for time in times)
    assert all((world.now - world.at(event.last)).total_seconds() <= 3600 for event in world.events)


@every_world
def test_workloads_have_as_many_ready_pods_as_they_say(world: ClusterData) -> None:
    for workload in world.workloads:
        prefix = {"Deployment": f"ReplicaSet/{workload.name}-", "CronJob": f"Job/{workload.name}-"}.get(workload.kind)
        owner = prefix or f"{workload.kind}/{workload.name}"
        pods = [pod for pod in world.pods if pod.namespace == workload.namespace and pod.owner.startswith(owner)]
        assert sum(all(container.ready for container in pod.containers) for pod in pods) == workload.ready, workload.name
