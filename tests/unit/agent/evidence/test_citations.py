"""Citations are found where they stand and checked against what was really seen."""

import json
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.paths import ROOT
from tarsy.agent.evidence.checker import Seen, check
from tarsy.agent.evidence.quotation import QuotableText, normalised
from tarsy.domain.citation import CitationStatus, citations
from tarsy.domain.evidence import ID_PATTERN, Evidence, agent_prefix, call_id, question_prefix, sub_agent_prefix

LOG = 'level=error msg="no space left on device" path=/var/lib/pg\n{"phase": "Failed", "restarts": 14}\nOOMKilled\nlast line of the log'


def seen(**texts: str) -> Seen:
    return Seen({name: Evidence(id=name, text=text) for name, text in texts.items()})


def statuses(analysis: str, **texts: str) -> list[CitationStatus]:
    return [one.status for one in check(analysis, seen(**texts)).citations]


def test_every_form_of_a_citation_is_read() -> None:
    text = 'One [A1]. Two [A3, B7]. Three [A4.1: "quoted “words” here"; Q2.1]. Four [ALERT: "it says so"] [NOTE1] [RUNBOOK].'
    assert [(one.evidence_id, one.quotation) for one in citations(text)] == [
        ("A1", None),
        ("A3", None),
        ("B7", None),
        ("A4.1", "quoted “words” here"),
        ("Q2.1", None),
        ("ALERT", "it says so"),
        ("NOTE1", None),
        ("RUNBOOK", None),
    ]


def test_a_quotation_may_hold_quotes_and_brackets() -> None:
    (one,) = citations('x [A1: "{"phase": "Failed", "pods": [1]}"] y')
    assert one.quotation == '{"phase": "Failed", "pods": [1]}'


def test_brackets_that_are_no_citation_stay_text() -> None:
    assert citations("[link](A1) [x] [1] [B] [AAA1] list[A] [A1 and more]") == ()


def test_code_blocks_hold_no_citations() -> None:
    assert citations('```sh\necho [A1: "x"]\n```\n~~~\n[A2]\n```\n[A3]\n~~~\n') == ()


def test_an_exact_quotation_is_verified_and_located() -> None:
    (one,) = check('It failed [A1: "no space left on device"].', seen(A1=LOG)).citations
    assert one.status is CitationStatus.QUOTE_FOUND
    assert one.found_at is not None
    assert "no space left on device" in LOG[slice(*one.found_at)]


def test_white_space_quotes_and_ellipses_are_normalised_and_nothing_else() -> None:
    assert statuses('[A1: "“no  space\nleft on device”…"]', A1=LOG) == [CitationStatus.QUOTE_FOUND]
    assert statuses('[A1: "No space left on device"]', A1=LOG) == [CitationStatus.FAILED]
    assert statuses('[A1: "no space … on device"]', A1=LOG) == [CitationStatus.QUOTE_FOUND]
    assert statuses('[A1: "on device … no space"]', A1=LOG) == [CitationStatus.FAILED]


TABLE = "NAME      READY   STATUS\ncart-0    1/1     Running\ncart-1    0/1     CrashLoopBackOff"
POD = "Name: cart-0\nContainers:\n  cart:\n    State: Waiting\n    Reason: CrashLoopBackOff\n  proxy:\n    State: Running\n    Restart Count: 0"


@pytest.mark.parametrize(
    ("quotation", "text", "status"),
    [
        ("cart-1 0/1 CrashLoopBackOff", TABLE, CitationStatus.QUOTE_FOUND),
        ("1/1 Running cart-1 0/1", TABLE, CitationStatus.FAILED),
        ("cart-0 … CrashLoopBackOff", TABLE, CitationStatus.FAILED),
        ("NAME READY STATUS", TABLE, CitationStatus.ID_ONLY),
        ("2026-03-10T09:12:41Z 14", "2026-03-10T09:12:41Z 14 restarts", CitationStatus.ID_ONLY),
        ("OOMKilled", "OOMKilled", CitationStatus.ID_ONLY),
        ("State: Waiting Reason: CrashLoopBackOff", POD, CitationStatus.QUOTE_FOUND),
        ("Name: cart-0 … State: Waiting", POD, CitationStatus.QUOTE_FOUND),
        ("State: Waiting … Restart Count: 0", POD, CitationStatus.FAILED),
        ('msg="no space left"', r'{"line": "msg=\"no space left\""}', CitationStatus.QUOTE_FOUND),
        ("DB_PASSWORD=[MASKED_PASSWORD ~k4f]", "DB_PASSWORD=[MASKED_PASSWORD ~k4f]", CitationStatus.FAILED),
    ],
)
def test_a_quotation_stays_within_one_record_and_says_something(quotation: str, text: str, status: CitationStatus) -> None:
    assert statuses(f'It is so [A1: "{quotation}"].', A1=text) == [status]


def test_words_may_be_left_out_in_any_of_several_rows_that_begin_alike() -> None:
    rows = 'rate{service="shop"}   2026-03-10T08:50:00Z   12.1\nrate{service="shop"}   2026-03-10T08:58:00Z   748.2'
    assert statuses('It is high [A1: "rate{service="shop"} … 748.2"].', A1=rows) == [CitationStatus.QUOTE_FOUND]
    assert statuses('It is high [A1: "08:50:00Z … 748.2 and more"].', A1=rows) == [CitationStatus.FAILED]


def test_masked_values_prove_only_whether_they_are_the_same() -> None:
    env = "cart PASSWORD=[MASKED_PASSWORD ~k4f]\nshop password: [MASKED_KUBERNETES_SECRET ~k4f]\npay PASSWORD=[MASKED_PASSWORD ~p9x]"
    cart, shop, pay = (f'A1: "{line}"' for line in env.splitlines())
    assert set(statuses(f"They have the same password [{cart}; {shop}].", A1=env)) == {CitationStatus.QUOTE_FOUND}
    assert set(statuses(f"Their passwords differ [{cart}; {pay}].", A1=env)) == {CitationStatus.QUOTE_FOUND}
    assert set(statuses(f"They have the same password [{cart}; {pay}].", A1=env)) == {CitationStatus.FAILED}
    assert set(statuses(f"They cannot share it, for their passwords differ [{cart}; {shop}].", A1=env)) == {CitationStatus.FAILED}
    assert set(statuses(f"Different passwords: no, they do not differ [{cart}; {shop}].", A1=env)) == {CitationStatus.QUOTE_FOUND}
    assert set(statuses(f"The password is wrong [{cart}].", A1=env)) == {CitationStatus.FAILED}


def test_a_row_with_a_masked_value_proves_nothing_by_its_name_and_key() -> None:
    table = "NAME               KEY           VALUE\naccounts-3f-h9h9   SIGNING_KEY   [MASKED_KEY ~t4m]\naccounts-3f-k8k8   SIGNING_KEY   [MASKED_KEY ~t4m]"
    _, one, other = (f'A1: "{line}"' for line in table.splitlines())
    assert set(statuses(f"The key has expired [{one}].", A1=table)) == {CitationStatus.FAILED}
    assert set(statuses(f"The keys differ [{one}; {other}].", A1=table)) == {CitationStatus.FAILED}
    assert set(statuses(f"The keys are the same [{one}; {other}].", A1=table)) == {CitationStatus.QUOTE_FOUND}
    user = "DB_USER: catalog_owner  DB_PASSWORD: [MASKED_PASSWORD ~t8n]"
    assert set(statuses(f'It has the same password as catalog [A1: "{user}"].', A1=user)) == {CitationStatus.FAILED}
    assert set(statuses(f'It logs in as catalog_owner [A1: "{user}"].', A1=user)) == {CitationStatus.QUOTE_FOUND}
    log = "login of shop with [MASKED_PASSWORD ~k4f] was rejected by the server"
    assert set(statuses(f'It is rejected [A1: "{log}"].', A1=log)) == {CitationStatus.QUOTE_FOUND}


def test_an_id_that_was_never_given_out_fails() -> None:
    (one,) = check("[A9]", seen(A1=LOG)).citations
    assert (one.status, one.reason) == (CitationStatus.FAILED, "there is no A9")


def test_a_refused_call_is_no_evidence() -> None:
    refused = Seen({"A1": Evidence(id="A1", text="unknown tool: pods_burn", refused=True)})
    (one,) = check('[A1: "unknown tool: pods_burn"]', refused).citations
    assert one.status is CitationStatus.FAILED


def test_a_wrong_quotation_is_answered_with_the_nearest_real_line() -> None:
    (one,) = check('[A1: "msg no space on the device"]', seen(A1=LOG)).citations
    assert one.nearest == LOG.splitlines()[0]


def test_the_nearest_line_is_found_at_the_end_of_a_long_log_and_within_a_long_line() -> None:
    log = "".join(f"12:00 pod web-{n} connection refused\n" for n in range(30_000)) + "12:01 pod db-7 connection refused: disk is full"
    assert QuotableText(log).nearest_line("db-7 refused the connection, its disk full") == "12:01 pod db-7 connection refused: disk is full"
    dump = json.dumps([{"name": f"web-{n}", "phase": "Running"} for n in range(20_000)] + [{"name": "db-7", "phase": "CrashLoopBackOff"}])
    nearest = QuotableText(dump).nearest_line('"db-7" is in CrashLoopBackOff')
    assert '{"name": "db-7", "phase": "CrashLoopBackOff"}' in nearest
    assert len(nearest) <= 300


def test_ids_are_letters_by_place_and_never_meet() -> None:
    prefixes = [agent_prefix(place) for place in range(60)]
    assert prefixes[:3] == ["A", "B", "C"]
    assert prefixes[25] == "AA"
    assert len(set(prefixes)) == 60
    assert not any(prefix.startswith("Q") and len(prefix) == 1 for prefix in prefixes)
    ids = [
        *(call_id(prefix, 3) for prefix in prefixes),
        *(call_id(sub_agent_prefix(call_id(prefix, 2)), 1) for prefix in prefixes),
        *(call_id(question_prefix(number), 1) for number in range(1, 60)),
    ]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(ID_PATTERN, one) for one in ids)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)
# Long enough to be a quotation that says something, without what would end it or be trimmed from it.
quotations = st.text(st.characters(categories=["L", "N", "Zs"], include_characters="-_:/=."), max_size=200).map(
    lambda words: f"some words {words} more"
)


@given(texts, quotations, texts)
def test_any_verbatim_part_of_a_result_verifies(before: str, part: str, after: str) -> None:
    whole = QuotableText(before + part + after)
    assert whole.find(part) is not None
    assert statuses(f'Claim [A1: "{part}"].', A1=before + part + after) == [CitationStatus.QUOTE_FOUND]


@given(st.text(st.characters(exclude_categories=["Cc", "Zl", "Zp"]), min_size=1), st.data())
def test_any_part_of_any_line_is_found_wherever_it_is_cut(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    assume(normalised(part).removeprefix("...").removesuffix("...").strip())
    assert QuotableText(text).find(part) is not None


@given(texts, quotations)
def test_words_that_are_in_no_result_are_flagged(text: str, words: str) -> None:
    assume(normalised(words).strip(".").strip() not in normalised(text))
    assert statuses(f'Claim [A1: "{words}"].', A1=text) == [CitationStatus.FAILED]


@given(st.text())
def test_no_text_breaks_the_checker(text: str) -> None:
    check(text, seen(A1=text, ALERT=text))


def test_carriage_returns_end_no_lines() -> None:
    claims = check("## Why\n\nIt is full.\r 50 %\r 99 % [A1]\r\n\r\n- It burned [A1].\r\n", seen(A1="50 %")).links
    assert [one.statement.text for one in claims] == ["It is full.", "50 % 99 %", "It burned ."]


@pytest.mark.parametrize(
    "hostile",
    [
        "x " + "a ".join("`" * length for length in range(1, 400)),
        "x " + "." * 100_000 + "x",
        " ".join(["123"] * 20_000),
        ".".join("a" * 40_000),
    ],
    ids=["spans of code without end", "full stops", "a row of numbers", "a chain of words"],
)
def test_no_text_keeps_a_worker_checking(hostile: str) -> None:
    """Each of these would take minutes or hours by a pattern that reads a run of characters from each of its places."""
    among = Seen({"A1": Evidence(id="A1", text=f"connection refused\n{hostile}", tool="cluster.get")})
    check(f'It took 77 s [A1: "connection refused"].\n\n{hostile}', among)


def test_the_dashboard_reads_citations_by_the_same_examples() -> None:
    examples = json.loads((ROOT / "dashboard/src/presentation/citation-examples.json").read_text())
    for example in examples:
        assert [[one.evidence_id, one.quotation] for one in citations(example["text"])] == example["cited"], example["text"]
