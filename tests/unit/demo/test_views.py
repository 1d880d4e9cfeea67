"""What the simulated cluster answers, above all when it is asked for something that is not there."""

from typing import Any

import pytest

from tarsy.demo.stdio_server import ToolRefusedError
from tarsy.demo.views import access, events, metrics, network, nodes, pods, workloads
from tarsy.demo.world import ClusterData

WORLD = ClusterData.model_validate(
    {
        "now": "2026-03-10T09:00:00Z",
        "namespaces": ["data", "shop"],
        "nodes": [{"name": "worker-a1", "created": "-1d"}],
        "pods": [
            {
                "namespace": "shop",
                "name": "cart-1",
                "node": "worker-a1",
                "created": "-1h",
                "labels": {"app": "cart", "tier": "web"},
                "containers": [
                    {"name": "cart", "image": "cart:1", "log": "one\ntwo\nthree (ERROR)"},
                    {"name": "proxy", "image": "proxy:1"},
                ],
            },
            {
                "namespace": "shop",
                "name": "cart-2",
                "created": "-1h",
                "labels": {"app": "cart"},
                "containers": [{"name": "cart", "image": "cart:2", "ready": False, "state": "Waiting: ImagePullBackOff"}],
            },
        ],
        "workloads": [{"namespace": "shop", "name": "cart", "ready": 1, "desired": 2, "created": "-1d", "images": ["cart:1"]}],
        "services": [{"namespace": "data", "name": "db", "cluster_ip": "10.100.0.7", "ports": "5432/TCP"}],
        "lookups": [{"name": "db.data.svc.cluster.local", "answers": ["10.100.0.7"]}],
        "metrics": [{"metric": "load", "labels": {"node": "worker-a1"}, "points": {"-30m": 0, "-10m": 100, "-0s": 100}}],
        "audit": [{"at": "-5m", "user": "ada", "verb": "get", "resource": "data/secrets", "source_ip": "10.0.0.1"}],
    }
)


@pytest.mark.parametrize(
    ("ask", "reported"),
    [
        (lambda: pods.pods_list(WORLD, "shopp", "", ""), "Namespaces in this cluster: data, shop"),
        (lambda: pods.pods_list(WORLD, "shop", "app!=cart", ""), "write key=value"),
        (lambda: pods.pods_get(WORLD, "shop", "cart-9"), "Did you mean: cart-2, cart-1?"),
        (lambda: pods.pods_get(WORLD, "data", "cart-1"), "It exists as shop/cart-1."),
        (lambda: pods.pods_get(WORLD, "data", "nothing"), "There are none in this namespace."),
        (lambda: pods.pods_log(WORLD, "shop", "cart-1", "sidecar", False, 10, ""), "Its containers: cart, proxy"),
        (lambda: pods.pods_log(WORLD, "shop", "cart-1", "", True, 10, ""), "it has not been restarted"),
        (lambda: pods.pods_log(WORLD, "shop", "cart-2", "", False, 10, ""), "is waiting to start: ImagePullBackOff"),
        (lambda: workloads.deployment_history(WORLD, "shop", "karts"), "Did you mean: cart?"),
        (lambda: workloads.configmaps_get(WORLD, "shop", "x"), "There are none in this namespace."),
        (lambda: nodes.nodes_describe(WORLD, "worker-z9"), "Nodes: worker-a1"),
        (lambda: metrics.metrics_query(WORLD, "rate(load[5m])", 60), "write a plain selector"),
        (lambda: metrics.metrics_query(WORLD, "lode", 60), "Metrics: load"),
        (lambda: metrics.metrics_query(WORLD, 'load{node=~"["}', 60), '"[" is not a regular expression'),
        (lambda: events.events_list(WORLD, "nowhere", "", ""), "not found"),
        (lambda: network.flows_list(WORLD, "shop", "ghost"), 'no pod matches "ghost"'),
        (lambda: access.rbac_get(WORLD, "shop", "default"), "There are none in this namespace."),
    ],
)
def test_what_is_not_there_is_reported_with_what_there_is_instead(ask: Any, reported: str) -> None:
    with pytest.raises(ToolRefusedError) as raised:
        ask()
    assert reported in str(raised.value)


def test_pods_are_chosen_by_label_and_node() -> None:
    assert "cart-2" not in pods.pods_list(WORLD, "shop", "app=cart,tier=web", "")
    assert "cart-2" not in pods.pods_list(WORLD, "", "", "worker-a1")
    assert pods.pods_list(WORLD, "data", "", "") == "No pods found."


def test_a_log_is_cut_to_its_tail_and_searched() -> None:
    assert pods.pods_log(WORLD, "shop", "cart-1", "", False, 2, "") == "two\nthree (ERROR)"
    assert pods.pods_log(WORLD, "shop", "cart-1", "", False, 9, "error") == "three (ERROR)"
    assert pods.pods_log(WORLD, "shop", "cart-1", "", False, 9, "(ERROR") == "three (ERROR)"
    assert pods.pods_log(WORLD, "shop", "cart-1", "", False, 9, "(error") == "three (ERROR)"
    assert pods.pods_log(WORLD, "shop", "cart-1", "proxy", False, 9, "") == "(no log lines)"


@pytest.mark.parametrize("name", ["db.data", "db.data.svc", "db.data.svc.cluster.local", "db.data.svc.cluster.local."])
def test_a_service_is_resolved_through_the_search_list(name: str) -> None:
    assert "Answer: 10.100.0.7" in network.dns_lookup(WORLD, name, "shop")


def test_a_short_name_is_resolved_in_its_own_namespace_only() -> None:
    assert "Answer: 10.100.0.7" in network.dns_lookup(WORLD, "db", "data")
    assert "NXDOMAIN" in network.dns_lookup(WORLD, "db", "shop")


def test_a_series_is_a_line_between_its_points() -> None:
    shown = metrics.metrics_query(WORLD, 'load{node=~"worker-.*"}', 60)
    assert "min=0 max=100 last=100" in shown
    assert "2026-03-10T08:50:00Z  100" in shown


def test_a_selector_that_matches_nothing_lists_the_series_there_are() -> None:
    assert 'load{node="worker-a1"}' in metrics.metrics_query(WORLD, 'load{node="worker-b1"}', 60)


def test_audit_records_are_found_by_user_namespace_and_verb() -> None:
    assert "data/secrets" in access.audit_search(WORLD, "ADA", "data", "get")
    assert "No audit records match" in access.audit_search(WORLD, "ada", "shop", "")
