"""What models write, and what tools get."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments

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


@pytest.mark.parametrize("address", ["https://example.invalid/schema.json", "#/$defs/missing", "#/$defs/circle"])
def test_a_reference_that_leads_nowhere_finds_nothing_wrong(address: str) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": address}}, "$defs": {"circle": {"$ref": "#/$defs/circle"}}}
    assert parse_arguments('{"a": "x"}', schema) == {"a": "x"}


def test_a_recursive_schema_is_checked_all_the_way_down() -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "size": {"type": "integer"}}}
    problem = parse_arguments('{"left": {"left": {"size": "x"}}}', tree)
    assert isinstance(problem, ArgumentProblem)
    assert "left.left.size" in problem.message


def _branching(depth: int) -> dict[str, Any]:
    """A schema of a few lines that doubles the work with each level."""
    levels: dict[str, Any] = {f"l{level}": {"anyOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(depth)}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": {**levels, f"l{depth}": {"type": "integer"}}}


@pytest.mark.parametrize(
    "schema",
    [
        _branching(60),
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/c"}}, "$defs": {"c": {"anyOf": [{"$ref": "#/$defs/c"}]}}},
        {"type": "object", "patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    ],
)
def test_no_schema_keeps_us_busy(schema: dict[str, Any]) -> None:
    arguments = {"a": "a" * 60 + "!", "a" * 60 + "!": 1}
    assert parse_arguments(json.dumps(arguments), schema) == arguments


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": None, "required": None},
        {"type": "object", "properties": {"a": {"anyOf": None}}, "required": True},
        {"type": "object", "properties": {"a": None, "b": {"type": 7}}},
    ],
)
def test_a_broken_schema_finds_nothing_wrong(schema: dict[str, Any]) -> None:
    assert parse_arguments('{"a": "1", "b": 2}', schema) == {"a": "1", "b": 2}
    assert parse_arguments("[]", schema) is not None


def test_an_object_that_breaks_off_is_not_taken_for_a_value() -> None:
    assert isinstance(parse_arguments('{"query": "DROP TABLE a WHERE', QUERY), ArgumentProblem)
    assert parse_arguments('{job="api"}', QUERY) == {"query": '{job="api"}'}


def test_half_a_character_is_replaced() -> None:
    assert parse_arguments('{"query": "\\ud83d \\ud83d\\ude00"}', QUERY) == {"query": "\ufffd \U0001f600"}


@pytest.mark.parametrize("text", ['{"limit": "' + "1" * 5000 + '", "query": "x"}', '{"query":' * 900 + "1" + "}" * 900])
def test_too_much_of_something_is_explained(text: str) -> None:
    assert isinstance(parse_arguments(text, QUERY), ArgumentProblem)


def test_yaml_cannot_be_made_to_explode() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nquery: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
    assert isinstance(parse_arguments(bomb, QUERY), (dict, ArgumentProblem))


@given(st.text(max_size=200))
def test_any_text_is_either_understood_or_explained(text: str) -> None:
    read = parse_arguments(text, QUERY)
    assert isinstance(read, ArgumentProblem) or isinstance(read["query"], str)


ONLY: dict[str, Any] = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"',
        '{"que',
        '{"query"',
        '{"query": "rate(http_requests_total[5m]',
        '{"other": "value',
        '{"other": {"nested": 1',
        "{query: rate(http_requests_total",
        '["a", "b',
        '[{"a": 1',
        '"rate(http_requests_total',
    ],
)
def test_json_that_breaks_off_never_becomes_the_value_of_the_only_property(text: str) -> None:
    assert isinstance(parse_arguments(text, ONLY), ArgumentProblem)


@pytest.mark.parametrize("text", ['{app="shop"} |= "error"', "up", "rate(x[5m])", "[5m]", 'sum by (pod) ({job="api"})', "SELECT 1"])
def test_a_query_that_only_looks_like_json_is_still_the_value_of_the_only_property(text: str) -> None:
    assert parse_arguments(text, ONLY) == {"query": text}


def test_blank_lines_behind_a_fence_take_no_time() -> None:
    assert isinstance(parse_arguments("```json\n" + "\n" * 200_000 + "x", {"type": "object"}), ArgumentProblem)
