"""A correction replaces the statements that failed and leaves everything else as it was."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.evidence.checker import Seen, check
from tarsy.agent.evidence.correction import failed_statements, patched
from tarsy.domain.evidence import Evidence

SEEN = Seen({"A1": Evidence(id="A1", text="pod cart-7f exceeded its memory limit", tool="cluster.get")})
DRAFT = """## Why
- cart-7f ran out of memory [A1: "pod cart-7f exceeded its memory limit"]
- It burned [A1: "the house was on fire"]
- The node was full.

## Why it lasted
It has. The disk failed. Nobody saw it [A1].

| Fact | Proof |
|---|---|
| full | none |
| cart-7f | [A1] |
"""


def failed(text: str = DRAFT) -> tuple[str, ...]:
    return tuple(text[one.start : one.end].strip() for one in failed_statements(check(text, SEEN).failures))


def test_only_the_statements_that_failed_are_shown() -> None:
    assert failed() == ('It burned [A1: "the house was on fire"]', "The node was full.", "It has.", "The disk failed.", "| full | none |")


def test_replacements_are_put_in_and_everything_else_stays() -> None:
    statements = failed_statements(check(DRAFT, SEEN).failures)
    reply = '1: It died [A1: "exceeded its memory limit"]\n2: The node was full *(inference)*.\n3: It has *(inference)*.\n4: withdrawn\n5: withdrawn\n'
    assert patched(DRAFT, statements, reply) == DRAFT.rstrip().replace(
        'It burned [A1: "the house was on fire"]', 'It died [A1: "exceeded its memory limit"]'
    ).replace("The node was full.", "The node was full *(inference)*.").replace(
        "It has. The disk failed. ", "It has *(inference)*. "
    ).replace("| full | none |\n", "")


def test_a_new_verdict_is_added() -> None:
    block = "```verdict\noutcome: fault\n```"
    assert patched(DRAFT, (), f"Here it is:\n{block}") == f"{DRAFT}\n\n{block}"
    replaced = patched(DRAFT, failed_statements(check(DRAFT, SEEN).failures), "2: withdrawn", block)
    assert replaced is not None
    assert replaced.endswith(block)


def test_a_reply_that_replaces_nothing_is_no_patch() -> None:
    assert patched(DRAFT, failed_statements(check(DRAFT, SEEN).failures), "I have nothing to add.\n9: unknown number") is None


def test_the_times_in_a_whole_answer_are_no_numbers_of_statements() -> None:
    whole = '## Why\n* 02:15 the limit was lowered [A1].\n* 02:17 cart-7f ran out of memory [A1: "exceeded its memory limit"]\n'
    assert patched(DRAFT, failed_statements(check(DRAFT, SEEN).failures), whole) is None


def test_an_item_within_another_is_corrected_as_a_part_of_it() -> None:
    nested = "## Why\n\n- The node was full.\n\n  - So was the disk.\n\n  Both filled up.\n\n- It burned.\n"
    statements = failed_statements(check(nested, SEEN).failures)
    assert patched(nested, statements, "2: It rained.") == nested.rstrip().replace("It burned.", "It rained.")


@given(st.text(alphabet='abc 12:.|-*\n[]"A', max_size=200), st.text(alphabet="abc 123:.\n-withdrawn", max_size=200))
def test_no_reply_breaks_or_changes_what_did_not_fail(text: str, reply: str) -> None:
    statements = failed_statements(check(text, SEEN).failures)
    if not statements:
        assert patched(text, statements, reply) is None
