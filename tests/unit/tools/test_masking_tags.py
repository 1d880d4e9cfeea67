"""Masked values can be compared within a session, and nothing else can be learned from their tags."""

import base64
import json
import re
from collections.abc import Callable

import pytest
import yaml

from support.secret_kinds import DRESSES, KEPT, KINDS
from tarsy.config.resolve.resolved import ResolvedMasking
from tarsy.tools.masking import Masker
from tarsy.tools.masking.tags import session_tag

KEY = bytes(range(32))
MASKER = Masker.for_group("all").tagged(session_tag(KEY, "nonce"))
TAG = re.compile(r"\[MASKED_[A-Z_]+ ~([a-z2-7]{3})\]")


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret_of(data: dict[str, str], **more: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db"},
        "data": {key: b64(value) for key, value in data.items()},
        **more,
    }


def tags(text: str) -> list[str]:
    return TAG.findall(MASKER.mask(text))


FORMS = {
    "environment": "DB_PASSWORD={}",
    "quoted": 'export DB_PASSWORD="{}"',
    "YAML": "db:\n  password: {}\n",
    "JSON": '{{"password": "{}"}}',
    "sentence": "the password is {} today",
    "option": "psql --password {} shop",
    "URL": "postgres://app:{}@db.prod:5432/shop",
    ".pgpass": "db.prod:5432:shop:app:{}\n",
    "list": "passwords: [{}]",
    "entry": "- name: DB_PASSWORD\n  value: {}\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_has_one_tag_whatever_its_form(form: str) -> None:
    (same,) = tags("password=Hunter2hunter2")
    assert tags(FORMS[form].format("Hunter2hunter2")) == [same]
    assert tags(FORMS[form].format("Hunter3hunter3")) != [same]


@pytest.mark.parametrize("shown", [json.dumps, yaml.safe_dump])
def test_the_entry_of_a_secret_has_the_tag_of_the_value_that_it_encodes(shown: Callable[[object], str]) -> None:
    text = shown(secret_of({"password": "Hunter2hunter2"}, stringData={"old": "Hunter2hunter2", "new": "Hunter3hunter3"}))
    environment = tags("password=Hunter2hunter2") + tags("password=Hunter3hunter3")
    found = dict(re.findall(r"(password|old|new)\"?: \"?\[MASKED_KUBERNETES_SECRET ~(\w+)\]", MASKER.mask(text)))
    assert [found["password"], found["old"], found["new"]] == [environment[0], *environment]


def test_an_escaped_password_of_a_url_and_a_key_with_escaped_breaks_have_the_same_tags_as_the_plain_ones() -> None:
    assert tags("postgres://app:p%40ss%2Fword1@db/shop") == tags("password='p@ss/word1'")
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx0f\nabcDEF012345678=\n-----END RSA PRIVATE KEY-----"
    assert tags(key) == tags(key.replace("\n", "\\n"))
    assert TAG.search(MASKER.mask(key[:60])) is None, "a key that is cut off cannot be compared"


def test_tags_depend_on_the_session_and_the_installation_and_on_nothing_before_them() -> None:
    text = "password=Hunter2hunter2"
    again = Masker.for_group("security").tagged(session_tag(KEY, "nonce"))
    again.mask("token=abc123def456 password=another1")
    assert again.mask(text) == MASKER.mask(text)
    others = [session_tag(KEY, "other"), session_tag(KEY[::-1], "nonce")]
    assert all(Masker.for_group("security").tagged(tag).mask(text) != MASKER.mask(text) for tag in others)
    assert Masker.for_group("security").mask(text) == "password=[MASKED_PASSWORD]"


def test_no_kind_of_secret_survives_and_masking_again_changes_no_tag() -> None:
    masked = {(name, kind): MASKER.mask(dress(kind)) for name, dress in DRESSES.items() for kind in KINDS[::5]}
    assert [(name, kind.name) for (name, kind), text in masked.items() if kind.survives_in(text) or KEPT not in text] == []
    assert [(name, kind.name) for (name, kind), text in masked.items() if MASKER.mask(text) != text] == []
    assert [(name, kind.name) for (name, kind), text in masked.items() if Masker.for_group("all").mask(text) != text] == []


def test_a_text_in_pieces_gets_the_same_tags() -> None:
    text = f"I see {' and '.join(form.format('Hunter2hunter2') for form in FORMS.values())}, and [MASKED_PASSWORD ~k4f] too."
    stream = MASKER.stream()
    assert "".join(stream.feed(text[at : at + 5]) for at in range(0, len(text), 5)) + stream.finish() == MASKER.mask(text)


def test_replacements_of_a_configuration_have_no_tags_and_known_credentials_have() -> None:
    masking = ResolvedMasking(enabled=True, pattern_groups=("basic",), custom_patterns=((r"CUST-(\d)\d+", r"[CUSTOMER \1]"),))
    masker = Masker.for_server(masking, literals=["our-credential"]).tagged(session_tag(KEY, "nonce"))
    assert masker.mask("CUST-42") == "[CUSTOMER 4]"
    assert TAG.fullmatch(masker.mask("our-credential"))


def test_host_port_user_and_database_of_a_secret_are_shown() -> None:
    plain = {"host": "db.prod.svc.cluster.local", "DB_PORT": "5432", "userName": "app_rw", "database": "shop", "PGUSER": "app"}
    text = json.dumps(secret_of({**plain, "password": "Hunter2hunter2"}))
    shown = json.loads(MASKER.mask(text))["data"]
    assert {key: shown[key] for key in plain} == {key: b64(value) for key, value in plain.items()}
    assert TAG.fullmatch(shown["password"])
    entries = 'host: db.prod\n  port: "5432"\n  username: app'
    assert entries in MASKER.mask(f"apiVersion: v1\nkind: Secret\nstringData:\n  {entries}\n  password: x\n")
    environment = "DB_HOST=db.prod\nDB_PORT=5432\nDB_USER=app\nDB_NAME=shop\n"
    assert MASKER.mask(environment) == environment


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("host", "postgres://app:hunter2@db/shop"),
        ("host", "db.prod;password=hunter2"),
        ("user", "AKIAIOSFODNN7EXAMPLE"),
        ("username", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"),
        ("database", "9f8e7d6c5b4a39281706abcdef"),
        ("port", "hunter2"),
        ("password_port", "54321x"),
        ("passport", "5432"),
        ("userToken", "app"),
    ],
)
def test_what_holds_something_else_than_its_key_says_is_masked(key: str, value: str) -> None:
    for text in (json.dumps(secret_of({key: value})), yaml.safe_dump(secret_of({}, stringData={key: value}))):
        assert value not in MASKER.mask(text)
        assert b64(value) not in MASKER.mask(text)
