"""A planted secret never survives, wherever it is planted."""

import base64
import json
import string
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tarsy.config.resolve.resolved import ResolvedMasking
from tarsy.tools.masking import Masker

MASKER = Masker.for_group("all")

# Distinct enough not to occur by chance in what surrounds it.
SECRETS = st.text(alphabet=string.ascii_letters + string.digits, min_size=12, max_size=40).map(lambda text: f"Zq9{text}")
WORDS = st.text(alphabet=string.ascii_lowercase, min_size=1, max_size=8)
NAMES = st.sampled_from(
    ["password", "DB_PASSWORD", "db-password", "apiKey", "x-api-key", "access_token", "client_secret", "spring.mail.password"]
)


@given(name=NAMES, secret=SECRETS, before=st.lists(WORDS, max_size=5), after=st.lists(WORDS, max_size=5), data=st.data())
def test_a_named_secret_never_survives(name: str, secret: str, before: list[str], after: list[str], data: st.DataObject) -> None:
    form = data.draw(
        st.sampled_from(
            ["{n}: {s}", "{n}={s}", '"{n}": "{s}"', "{n} = '{s}'", '{{"{n}":"{s}"}}', '\\"{n}\\":\\"{s}\\"', "--{n} {s}", "--{n}={s}"]
        )
    )
    placed = form.format(n=name, s=secret)
    separator = data.draw(st.sampled_from([" ", "\n", "\r\n", ", "]))
    assert secret not in MASKER.mask(separator.join([*before, placed, *after]))


def secret_object(values: dict[str, str], *, kind: bool, plain: bool) -> dict[str, Any]:
    node: dict[str, Any] = {"apiVersion": "v1", "metadata": {"name": "db", "namespace": "prod", "labels": {"app": "db"}}, "type": "Opaque"}
    if kind:
        node["kind"] = "Secret"
    node["stringData" if plain else "data"] = (
        values if plain else {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    )
    if kind:
        node["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(node)}
    return node


def shown(value: Any) -> list[str]:
    """The ways a cluster's tools print an object."""
    return [
        json.dumps(value),
        json.dumps(value, indent=2),
        json.dumps(value, indent=4, sort_keys=True),
        json.dumps(value, separators=(",", ":")),
        json.dumps({"output": json.dumps(value)}),
        yaml.safe_dump(value),
        yaml.safe_dump(value, default_flow_style=True, width=10_000),
        yaml.safe_dump(value, default_style='"'),
        yaml.safe_dump(value, indent=4),
        f"Here is what I found:\n{yaml.safe_dump(value)}\nThat was all.",
        f"Here is what I found: {json.dumps(value)} That was all.",
    ]


VALUES = st.dictionaries(st.sampled_from(["host", "user", "tls.crt", "a_b", "x-y"]), SECRETS, min_size=1, max_size=4)


@settings(max_examples=15)
@given(values=VALUES, others=VALUES, plain=st.booleans())
def test_a_kubernetes_secret_never_survives_in_any_form(values: dict[str, str], others: dict[str, str], plain: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
    one = secret_object(values, kind=True, plain=plain)
    two = secret_object(others, kind=True, plain=False)
    bare = secret_object(others, kind=False, plain=plain)
    config_map = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"mode": "harmless"}, "metadata": {"name": "c"}}
    collections: list[Any] = [
        one,
        [one, config_map, two],
        {"kind": "List", "apiVersion": "v1", "items": [config_map, one, two]},
        {"kind": "SecretList", "apiVersion": "v1", "items": [bare, one]},
    ]
    planted = [form for value in (*values.values(), *others.values()) for form in (value, base64.b64encode(value.encode()).decode())]
    for collection in collections:
        for text in shown(collection):
            masked = MASKER.mask(text)
            assert [secret for secret in planted if secret in masked] == [], text
    stream = yaml.safe_dump_all([config_map, one, two])
    assert [secret for secret in planted if secret in MASKER.mask(stream)] == []


@settings(max_examples=60)
@given(values=VALUES, cut=st.floats(0.3, 0.99), form=st.integers(0, 10), plain=st.booleans())
def test_a_kubernetes_secret_that_is_cut_off_does_not_survive(values: dict[str, str], cut: float, form: int, plain: bool) -> None:  # noqa: FBT001 - hypothesis passes it by name
    text = shown({"kind": "SecretList", "apiVersion": "v1", "items": [secret_object(values, kind=True, plain=plain)]})[form]
    cut_off = text[: int(len(text) * cut)]
    # What the text no longer says, nobody can know.
    assume("Secret" in cut_off)
    masked = MASKER.mask(cut_off)
    planted = [form for value in values.values() for form in (value, base64.b64encode(value.encode()).decode())]
    assert [secret for secret in planted if secret in masked] == []


PIECES = st.sampled_from(
    [
        *"\"'`\\:=,;{}[]()<>|&#@ \n\t-",
        "password",
        "token",
        "secret",
        "kind: Secret\n",
        "data:",
        "- ",
        "  ",
        "x",
        "7",
        "value",
        "name: ",
        "://",
        "eyJ",
        "Bearer ",
        "passwords",
        "api key",
        " is ",
        "hunter2",
        "abc123def456",
        "[MASKED_TOKEN]",
    ]
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_arrangement_of_what_matters_can_be_masked(text: str) -> None:
    MASKER.mask(text)


@given(st.text(max_size=300))
def test_any_text_can_be_masked_and_masking_is_idempotent(text: str) -> None:
    once = MASKER.mask(text)
    assert MASKER.mask(once) == once


def test_a_config_map_beside_a_secret_stays_as_it_is() -> None:
    text = "kind: ConfigMap\ndata:\n  mode: fast\n---\nkind: Secret\ndata:\n  a: YWJj\n---\nkind: ConfigMap\ndata:\n  level: info\n"
    masked = MASKER.mask(text)
    assert "mode: fast" in masked
    assert "level: info" in masked
    assert "YWJj" not in masked


def test_json_stays_json_when_a_secret_in_it_is_masked() -> None:
    text = json.dumps({"kind": "Secret", "data": {"a": "YWJj"}, "metadata": {"name": "x"}}, indent=2)
    masked = json.loads(MASKER.mask(text))
    assert masked["metadata"] == {"name": "x"}
    assert masked["data"]["a"].startswith("[MASKED_")


@pytest.mark.parametrize("indent", [2, 3, 4, "\t"])
def test_masked_json_is_indented_the_way_it_was(indent: int | str) -> None:
    secret = {"kind": "Secret", "data": {"a": "YWJj"}, "metadata": {"uid": 2**70, "half": "\ud83d", "name": "é"}}
    text = json.dumps({"kind": "List", "items": [{"kind": "Pod", "spec": {}}, secret]}, indent=indent, ensure_ascii=False)
    assert MASKER.mask(text) == text.replace("YWJj", "[MASKED_KUBERNETES_SECRET]")
    cut_off = text[: text.rfind("]")]
    assert MASKER.mask(cut_off) == cut_off.replace("YWJj", "[MASKED_KUBERNETES_SECRET]")


@pytest.mark.parametrize("entry", [["YWJj"], {"b": "YWJj"}, 7.5])
def test_a_secret_whose_payload_has_no_business_there_is_masked_all_the_same(entry: object) -> None:
    masked = MASKER.mask(json.dumps({"kind": "Secret", "data": {"a": entry}, "stringData": [entry]}))
    assert json.loads(masked) == {
        "kind": "Secret",
        "data": {"a": "[MASKED_KUBERNETES_SECRET]"},
        "stringData": "[MASKED_KUBERNETES_SECRET]",
    }


@pytest.mark.parametrize("kind_last", [True, False])
def test_yaml_may_say_late_what_it_is(kind_last: bool) -> None:  # noqa: FBT001 - a parameter of the test
    body = (
        "metadata:\n  labels:\n    app: shop\n  annotations:\n    note: x\n"
        "    kubectl.kubernetes.io/last-applied-configuration: |\n      Zq9plain\n  name: db\nstringData:\n  host: Zq9host\n"
    )
    text = f"{body}kind: Secret\n" if kind_last else f"kind: Secret\n{body}"
    masked = MASKER.mask(text)
    assert "Zq9" not in masked
    assert "app: shop" in masked
    assert "name: db" in masked


@pytest.mark.parametrize("name", ["pw", "PW", "pwd", "pass", "token", "db_pw", "API_KEY"])
def test_a_name_is_found_in_a_long_text_as_in_a_short_one(name: str) -> None:
    line = f"{name}: Zq9x7Wv3Kd8\n"
    assert "Zq9" not in MASKER.mask(line)
    assert "Zq9" not in MASKER.mask("".join(f"line {number} of a log\n" for number in range(200)) + line)


def test_known_credentials_are_masked_even_where_masking_is_off() -> None:
    masker = Masker.for_server(ResolvedMasking(enabled=False), literals=["plain-looking-credential"])
    assert masker.mask("you sent plain-looking-credential") == "you sent [MASKED_CREDENTIAL]"
    assert masker.mask("password: hunter2") == "password: hunter2"


def test_a_server_gets_its_groups_its_patterns_and_its_own_expressions() -> None:
    masking = ResolvedMasking(enabled=True, pattern_groups=("basic",), patterns=("email",), custom_patterns=((r"CUST-\d+", "[CUSTOMER]"),))
    masked = Masker.for_server(masking).mask("password=hunter2 a@example.com CUST-42")
    assert masked == "password=[MASKED_PASSWORD] [MASKED_EMAIL] [CUSTOMER]"


@pytest.mark.parametrize("group", ["nope", ""])
def test_an_unknown_group_is_an_error(group: str) -> None:
    with pytest.raises(KeyError, match=repr(group)):
        Masker.for_group(group)


def test_an_unknown_pattern_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown masking pattern: nope"):
        Masker(["token", "nope"])
