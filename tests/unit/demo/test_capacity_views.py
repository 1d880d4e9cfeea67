"""Quotas, storage, autoscaling, certificates, webhooks, ingresses and events over time, as an investigator reads them."""

from typing import Any

import pytest

from tarsy.demo.cluster import cluster_tools
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
                "containers": [{"name": "cart", "image": "cart:1", "log": "FATAL once", "flood": {"line": "retry {n}", "count": 900}}],
            }
        ],
        "quotas": [
            {"namespace": "shop", "name": "team", "created": "-9d", "used": {"limits.memory": "8Gi"}, "hard": {"limits.memory": "8Gi"}},
            {"namespace": "shop", "name": "sizes", "kind": "LimitRange", "created": "-9d", "defaults": {"memory": "64Mi"}},
        ],
        "claims": [
            {"namespace": "data", "name": "pg", "status": "Pending", "created": "-5m", "zone": "eu-west-1b", "note": "Note: no volume"}
        ],
        "webhooks": [{"name": "policy", "created": "-9d", "service": "policy/gate", "failure_policy": "Fail", "rules": ["CREATE pods"]}],
        "autoscalers": [
            {
                "namespace": "shop",
                "name": "cart",
                "created": "-9d",
                "reference": "Deployment/cart",
                "targets": "<unknown>/60%",
                "least": 2,
                "most": 6,
                "replicas": 2,
                "conditions": ["ScalingActive False FailedGetResourceMetric"],
            }
        ],
        "certificates": [
            {
                "namespace": "shop",
                "name": "web",
                "secret": "web-tls",
                "issuer": "letsencrypt",
                "dns_names": ["shop.example"],
                "not_before": "-90d",
                "not_after": "2026-03-10T08:00:00Z",
                "ready": False,
            }
        ],
        "ingresses": [{"namespace": "shop", "name": "web", "created": "-9d", "rules": ["shop.example/ -> cart:80"], "tls": "web-tls"}],
        "events": [
            {
                "namespace": "data",
                "reason": "ProvisioningFailed",
                "object": "PersistentVolumeClaim/pg",
                "message": "no",
                "source": "x",
                "last": "-1m",
            }
        ],
        "past_events": [
            {
                "namespace": "shop",
                "reason": "Killing",
                "object": "Pod/cart-0",
                "message": "m",
                "source": "x",
                "first": "-5h",
                "last": "-3h",
                "count": 4,
            }
        ],
        "metrics": [
            {"metric": "requests_total", "labels": {"pod": "a", "code": "200"}, "points": {"-10m": 0, "-0s": 600}},
            {"metric": "requests_total", "labels": {"pod": "a", "code": "500"}, "points": {"-10m": 0, "-0s": 60}},
            {
                "metric": "requests_total",
                "labels": {"pod": "b", "code": "200"},
                "points": {"-10m": 300, "-5m": 600, "-4m59s": 0, "-0s": 299},
            },
            {"metric": "memory", "labels": {"pod": "a"}, "points": {"-1h": 50, "-0s": 100}},
            {"metric": "limit", "labels": {"pod": "a"}, "points": {"-1h": 200, "-0s": 200}},
            {"metric": "gone", "labels": {"pod": "z"}, "points": {"-2h": 1, "-1h": 1}},
        ],
    }
)
TOOLS = {tool.name: tool for tool in cluster_tools(WORLD)}


def ask(tool: str, /, **arguments: Any) -> str:
    return TOOLS[tool].call(arguments)["content"][0]["text"]


@pytest.mark.parametrize(
    ("tool", "arguments", "shown"),
    [
        ("quotas_list", {"namespace": "shop"}, "limits.memory   8Gi    8Gi"),
        ("quotas_list", {"namespace": "shop"}, "LimitRange shop/sizes"),
        ("quotas_list", {"namespace": "shop"}, "default memory: 64Mi"),
        ("quotas_list", {"namespace": "data"}, "No resource quotas"),
        ("pvcs_list", {"namespace": "data"}, "Pending"),
        ("pvcs_get", {"namespace": "data", "name": "pg"}, "Zone:          eu-west-1b"),
        ("pvcs_get", {"namespace": "data", "name": "pg"}, "ProvisioningFailed"),
        ("pvcs_get", {"namespace": "data", "name": "gp"}, "Did you mean: pg?"),
        ("webhooks_list", {}, "Service: policy/gate   Failure Policy: Fail"),
        ("hpa_list", {"namespace": "shop"}, "Targets: <unknown>/60%   Min: 2   Max: 6   Replicas: 2"),
        ("certificates_list", {}, "Not After:  2026-03-10T08:00:00Z (expired 60m ago)"),
        ("ingresses_list", {}, "shop.example/ -> cart:80"),
        ("events_history", {"namespace": "shop"}, "2026-03-10T04:00:00Z   2026-03-10T06:00:00Z   4"),
        ("events_history", {"namespace": "shop", "minutes": 60}, "No events in the last 60 minutes."),
        ("pods_log", {"namespace": "shop", "name": "cart-1", "grep": "FATAL"}, "FATAL once"),
    ],
)
def test_the_views_tell_what_the_world_holds(tool: str, arguments: dict[str, Any], shown: str) -> None:
    assert shown in ask(tool, **arguments)


def test_a_flooded_log_hides_what_was_logged_before_it() -> None:
    assert "FATAL" not in ask("pods_log", namespace="shop", name="cart-1")
    assert len(ask("pods_log", namespace="shop", name="cart-1", tail=5000).splitlines()) == 901


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ('requests_total{code="500"}', '{code="500",pod="a"}  60'),
        ('rate(requests_total{pod="a",code="200"}[10m])', "1"),
        ('increase(requests_total{pod="b"}[10m])', "599"),
        ("sum(requests_total)", "{}  959"),
        ("sum by (pod) (requests_total)", '{pod="a"}  660\n{pod="b"}  299'),
        ("sum(requests_total) by (code)", '{code="200"}  899\n{code="500"}  60'),
        ("count(requests_total)", "{}  3"),
        ("topk(1, requests_total)", '{code="200",pod="a"}  600'),
        ("memory / limit", '{pod="a"}  0.5'),
        ("memory / limit > 0.4", '{pod="a"}  0.5'),
        ("memory > limit * 2", "Empty result"),
        ("1 + 2 * 3", "{}  7"),
        ("(1 + 2) * 3", "{}  9"),
        ("max_over_time(memory[1h]) - min_over_time(memory[1h])", '{pod="a"}  50'),
        ("gone", "Empty result"),
        ('rate(requests_total{code="500"}[ 5m ])', '{code="500",pod="a"}  0.1'),
    ],
)
def test_promql_is_evaluated_at_the_worlds_now(query: str, shown: str) -> None:
    assert shown in ask("promql_query", query=query)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("rate(memory)", "rate takes a selector with a range"),
        ("sum((requests_total - 200) * (1 / 0))", "zero or too large"),
        ("sum(memory", '")" is missing at its end'),
        ("memory limit", '"limit" is not expected there'),
        ("nothing", "Metrics: gone, limit, memory, requests_total"),
        ("memory %", 'at "%"'),
        ("topk(memory, limit)", "topk takes a number first"),
        ("rate(memory[0s])", "is zero or too large"),
        ("max_over_time(memory[99999999999d])", "is zero or too large"),
        ("(" * 5000, "nested too deeply"),
    ],
)
def test_a_query_that_cannot_be_read_is_answered_with_what_can(query: str, shown: str) -> None:
    assert shown in ask("promql_query", query=query)
