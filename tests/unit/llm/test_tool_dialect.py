import re

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.tool import ToolDefinition, vendor_name
from tarsy.llm.tool_dialect import name_from_vendor

ACCEPTED_BY_ALL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
# Few letters, so that names meet; the separators are what trips a mapping up.
TRICKY = st.text(alphabet="ab_.-", min_size=1, max_size=12)
ANY = st.one_of(TRICKY, st.text(min_size=1, max_size=150))


def test_a_plain_name_keeps_its_looks() -> None:
    assert vendor_name("kubernetes-server.pods_list") == "kubernetes-server__pods_list"


@given(ANY)
def test_every_name_becomes_one_that_all_vendors_accept(name: str) -> None:
    assert ACCEPTED_BY_ALL.fullmatch(vendor_name(name))


@given(st.sets(ANY, max_size=30))
def test_no_two_names_become_the_same(names: set[str]) -> None:
    assert len({vendor_name(name) for name in names}) == len(names)


@given(st.sets(ANY, min_size=1, max_size=30))
def test_every_name_comes_back(names: set[str]) -> None:
    tools = [ToolDefinition(name, "") for name in names]
    assert {name_from_vendor(vendor_name(name), tools) for name in names} == names


def test_a_name_that_was_never_offered_is_given_in_our_spelling() -> None:
    assert name_from_vendor("k8s__pods_drop", []) == "k8s.pods_drop"
