"""What models write, and what tools get."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.tools.arguments import ArgumentProblem, parse_arguments

PODS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "namespace": {"type": "string"},
        "limit": {"type": "integer"},
        "ratio": {"type": "number"},
        "all": {"type": "boolean"},
        "labels": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object", "properties": {"depth": {"type": "integer"}}},
        "since": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "mode": {"$ref": "#/$defs/mode"},
    },
    "$defs": {"mode": {"type": "integer"}},
    "required": ["namespace"],
}
QUERY: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["query"]}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}

CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ('{"namespace": "prod", "limit": 5}', PODS, {"namespace": "prod", "limit": 5}),
    ('```json\n{"namespace": "prod"}\n```', PODS, {"namespace": "prod"}),
    ('"{\\"namespace\\": \\"prod\\"}"', PODS, {"namespace": "prod"}),
    (
        '{"namespace": "prod", "limit": "5", "all": "true", "ratio": "0.5"}',
        PODS,
        {"namespace": "prod", "limit": 5, "all": True, "ratio": 0.5},
    ),
    ('{"namespace": 7}', PODS, {"namespace": "7"}),
    ('{"namespace": "prod", "limit": 5.0}', PODS, {"namespace": "prod", "limit": 5}),
    ('{"namespace": "prod", "labels": "app=web, tier=front"}', PODS, {"namespace": "prod", "labels": ["app=web", "tier=front"]}),
    ('{"namespace": "prod", "options": "{\\"depth\\": \\"2\\"}"}', PODS, {"namespace": "prod", "options": {"depth": 2}}),
    ('{"namespace": "prod", "since": "none"}', PODS, {"namespace": "prod", "since": None}),
    ('{"namespace": "prod", "mode": "3"}', PODS, {"namespace": "prod", "mode": 3}),
    ("namespace: prod\nlimit: 5\nlabels:\n- a\n- b\n", PODS, {"namespace": "prod", "limit": 5, "labels": ["a", "b"]}),
    ("namespace: 2026-01-01", PODS, {"namespace": "2026-01-01"}),
    ("namespace: on", PODS, {"namespace": "on"}),
    ("namespace=prod, limit=5", PODS, {"namespace": "prod", "limit": 5}),
    ("namespace=prod limit=5 all=yes", PODS, {"namespace": "prod", "limit": 5, "all": True}),
    ("namespace: prod, limit: 5", PODS, {"namespace": "prod", "limit": 5}),
    ('namespace="kube system", limit=5', PODS, {"namespace": "kube system", "limit": 5}),
    ("namespace=prod\nlimit=5", PODS, {"namespace": "prod", "limit": 5}),
    ("prod", PODS, {"namespace": "prod"}),
    ("'prod'", PODS, {"namespace": "prod"}),
    (
        'sum(rate(http_requests_total{job="api"}[5m])) by (code)',
        QUERY,
        {"query": 'sum(rate(http_requests_total{job="api"}[5m])) by (code)'},
    ),
    ("SELECT a FROM b WHERE c = 1", QUERY, {"query": "SELECT a FROM b WHERE c = 1"}),
    ("query: up == 0", QUERY, {"query": "up == 0"}),
    ("", NOTHING, {}),
    ("{}", NOTHING, {}),
    ("None", NOTHING, {}),
]


@pytest.mark.parametrize(("text", "schema", "expected"), CASES, ids=[case[0] or "empty" for case in CASES])
def test_what_a_model_means_is_understood(text: str, schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert parse_arguments(text, schema) == expected


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"limit": 5}', "'namespace' is a required property"),
        ('{"namespace": "prod", "limit": "many"}', "limit: 'many' is not of type 'integer'"),
        ('{"namespace": "prod", "options": {"depth": "x"}}', "options.depth: 'x' is not of type 'integer'"),
        ("", "'namespace' is a required property"),
    ],
)
def test_a_violation_names_the_field_and_what_was_expected(text: str, named: str) -> None:
    problem = parse_arguments(text, PODS)
    assert isinstance(problem, ArgumentProblem)
    assert named in problem.message
    assert "namespace (string, required)" in problem.message


def test_what_cannot_be_read_asks_for_json() -> None:
    problem = parse_arguments("just do something", {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]})
    assert isinstance(problem, ArgumentProblem)
    assert "Write a JSON object" in problem.message


def test_a_schema_never_makes_us_fetch_anything() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "https://example.invalid/schema.json"}}}
    assert parse_arguments('{"b": 1}', schema) == {"b": 1}


def test_yaml_cannot_be_made_to_explode() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nquery: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
    assert isinstance(parse_arguments(bomb, QUERY), dict | ArgumentProblem)


@given(st.text(max_size=200))
def test_any_text_is_either_understood_or_explained(text: str) -> None:
    read = parse_arguments(text, QUERY)
    assert isinstance(read, ArgumentProblem) or isinstance(read["query"], str)
