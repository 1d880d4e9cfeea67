"""Names, figures, sweeping words and uncited links of an analysis, and the confidence they leave."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.evidence.checker import CheckedAnalysis, Seen, Support, check
from tarsy.agent.evidence.confidence import shown_confidence
from tarsy.agent.toolbox.read_result import excerpt
from tarsy.domain.citation import CitationStatus, ClaimSeverity
from tarsy.domain.evidence import Evidence
from tarsy.domain.verdict import AffectedObject, Confidence, Verdict, VerdictOutcome

RESULT = "pod cart-7f exceeded its memory limit of 512Mi at 93% after 1200s; restarts 14; 2026-03-10T09:12:41Z"
WHY = '## Why\n- cart-7f ran out of memory [A1: "pod cart-7f exceeded its memory limit"]\n'
RULED_OUT = '## Ruled out\n- the node [A2: "worker-a1   Ready    <none>   41d"]\n'
TEXTS = {"A1": RESULT, "A2": "NAME        STATUS   ROLES    AGE\nworker-a1   Ready    <none>   41d", "A3": "pod not found"}


def seen(**texts: str) -> Seen:
    results = {name: Evidence(id=name, text=text, tool="cluster.get", arguments="{}", failed=name == "A3") for name, text in texts.items()}
    return Seen({**results, "ALERT": Evidence(id="ALERT", text="CartDown in shop")})


SEEN = seen(**TEXTS)


def complaints(analysis: str, verdict: Verdict | None = None, severity: ClaimSeverity = ClaimSeverity.FAILURE) -> list[str]:
    return [one.complaint for one in check(analysis, SEEN, verdict).problems if one.severity is severity]


def verdict(**fields: Any) -> Verdict:
    whole: dict[str, Any] = {
        "outcome": VerdictOutcome.FAULT,
        "object": AffectedObject(kind="Pod", namespace="shop", name="cart-7f"),
        "mechanism": "the limit is too low",
        "confidence_object": Confidence.HIGH,
        "confidence_mechanism": Confidence.HIGH,
        "since": "2026-03-10T09:12:41Z",
        "evidence": ("A1",),
    }
    return Verdict(**{**whole, **fields})


def shown(analysis: str, of: Verdict | None = None, among: Seen = SEEN) -> tuple[Confidence, str]:
    of = of or verdict()
    return shown_confidence(of, check(analysis, among, of), among)


def checked(analysis: str) -> CheckedAnalysis:
    return check(analysis, SEEN)


def test_what_was_seen_is_no_problem() -> None:
    assert complaints(WHY + '- `CartDown` fired after 20 minutes at 93 % of 512Mi [A1: "512Mi at 93% after 1200s"]\n') == []


def test_a_name_that_was_never_seen_is_a_failure_in_the_chain_of_causes_and_otherwise_a_remark() -> None:
    assert complaints(WHY + '- checkout-db-0 was slow [A1: "exceeded its memory limit"]\n') == [
        "checkout-db-0 occurs in nothing that was seen"
    ]
    fix = WHY + "## Do now\nCreate `cart-config-v2`.\n"
    assert complaints(fix) == []
    assert complaints(fix, severity=ClaimSeverity.REMARK) == ["cart-config-v2 occurs in nothing that was seen"]


def test_commands_and_code_blocks_are_not_checked() -> None:
    assert complaints(WHY + "## Do now\nRun `kubectl rollout undo deploy/other`.\n```\nkubectl get pod checkout-db-0\n```\n") == []


def test_a_figure_that_the_quotation_contradicts_is_a_failure() -> None:
    assert complaints('It waited 250ms [A1: "512Mi at 93% after 1200s"].') == ["250ms: the words cited say something else"]
    assert complaints('It waited 250ms [A1: "512Mi at 93% after 1200s"] (inference).') == []
    assert complaints("It waited 250ms.") == []


def test_a_figure_that_no_cited_result_has_is_a_remark_and_leaves_medium_confidence() -> None:
    invented = WHY.rstrip("\n").replace("ran out of memory", "ran out of memory for 24 h") + "\n"
    assert complaints(invented) == []
    assert complaints(invented, severity=ClaimSeverity.REMARK) == ["24 h is in no result that it cites: mark what you computed (inference)"]
    assert shown(invented + RULED_OUT) == (Confidence.MEDIUM, "24 h is in no result that its link of the chain of causes cites")
    assert shown(invented.replace("24 h", "20 minutes") + RULED_OUT) == (Confidence.HIGH, "")


def test_the_unit_of_a_quoted_metric_counts_and_what_is_left_of_a_share_may_be_named() -> None:
    among = seen(A1='http_p95_seconds{service="cart"}  last=0.31', A2='node_cpu_idle:ratio5m{node="a1"}  last=0.45')

    def contradicted(claim: str) -> bool:
        return any(one.contradicted for one in check(claim, among).statements)

    assert contradicted('The latency is 0.31 ms [A1: "http_p95_seconds{service="cart"}  last=0.31"].')
    assert not contradicted('The latency is 310 ms [A1: "http_p95_seconds{service="cart"}  last=0.31"].')
    assert contradicted('It is busy for 98 % [A2: "node_cpu_idle:ratio5m{node="a1"}  last=0.45"].')
    assert not contradicted('It is busy for 55 % [A2: "node_cpu_idle:ratio5m{node="a1"}  last=0.45"].')


def measured(size: int) -> tuple[str, Seen]:
    """A statement with the figures of many rows, which quotes other figures of the same rows."""
    quoted = [", ".join(f"row {row} took {100_000 + 100 * row + number} ms" for number in range(8)) for row in range(size)]
    rest = [", ".join(f"{1000 + 10 * row + number}.5 s" for number in range(8)) for row in range(size)]
    cited = " ".join(f'[A1: "{words}"]' for words in quoted)
    return f"## Why\n- It took {', '.join(rest)} {cited}.\n", seen(A1="\n".join(map("; ".join, zip(quoted, rest, strict=True))))


def test_a_figure_in_the_row_of_a_quotation_is_not_contradicted_by_the_others_of_that_row() -> None:
    analysis, among = measured(2)
    assert [one.contradicted for one in check(analysis, among).statements] == [""]
    assert [one.contradicted for one in check(analysis.replace("1011.5 s", "999.5 s", 1), among).statements] == ["999.5 s"]


@pytest.mark.growth
@pytest.mark.timeout(30)
def test_a_statement_of_hundreds_of_figures_is_checked_in_seconds() -> None:
    """With each figure compared to each pair of others, it takes minutes."""
    analysis, among = measured(120)
    assert [one.contradicted for one in check(analysis, among).statements] == [""]


def test_a_citation_that_no_reader_sees_does_not_count() -> None:
    hidden = '## Why\n- cart-7f ran out of memory <!-- [A1: "pod cart-7f exceeded its memory limit"] -->\n'
    assert checked(hidden).citations == ()
    assert [one.support for one in checked(hidden).links] == [Support.UNCITED]
    page = seen(A1="<!-- the page of cart-7f was not served -->")
    assert [one.support for one in check('## Why\n- it failed [A1: "<!-- the page of cart-7f was not served -->"]\n', page).links] == [
        Support.VERIFIED
    ]


def test_a_name_that_only_the_arguments_of_a_failed_call_have_was_not_seen() -> None:
    failed = Evidence(id="A1", text="not found", tool="cluster.get", arguments='{"name": "checkout-db-0"}', failed=True)
    assert not Seen({"A1": failed}).holds_name("checkout-db-0")


@pytest.mark.parametrize(
    "own_words",
    [
        Evidence(
            id="A9", text="web-1 restarts", tool="tarsy.run_agent", arguments='{"name": "PodAgent", "task": "Why did checkout-db-0 fail?"}'
        ),
        Evidence(id="A9", text="PodAgent reports:\ncheckout-db-0 failed", tool="tarsy.run_agent", arguments="{}"),
        Evidence(id="A9", text="[characters 0 to 9 of 9]", tool="tarsy.read_result", arguments='{"id": "A1", "search": "checkout-db-0"}'),
        Evidence(id="A9", text="'checkout-db-0' does not occur in it", tool="tarsy.read_result", arguments='{"id": "A1"}'),
        Evidence(id="A9", text="No change was reported", tool="tarsy.recent_changes", arguments='{"search": "checkout-db-0"}'),
        Evidence(id="A9", text="There is no tool checkout-db-0", tool="checkout-db-0", refused=True),
    ],
    ids=["a task", "a report", "a search", "a search without a match", "a search for changes", "a tool that does not exist"],
)
def test_a_name_that_only_the_agents_say_was_not_seen(own_words: Evidence) -> None:
    assert not Seen({**SEEN.evidence, "A9": own_words}).holds_name("checkout-db-0")
    assert Seen({"A1": Evidence(id="A1", text="none", tool="cluster.get", arguments='{"name": "checkout-db-0"}')}).holds_name(
        "checkout-db-0"
    )


def test_a_figure_or_a_time_that_only_the_agent_wrote_in_a_call_was_not_seen() -> None:
    changes = "Changes reported from 2026-03-10 07:30:00Z to 2026-03-10 10:00:00Z, the latest first:\n- 2026-03-10 09:00:02Z done argo: release 2.1"
    asked = Evidence(id="A8", text=changes, tool="tarsy.recent_changes", arguments='{"since": "2026-03-10T07:30:00Z", "search": "77 GB"}')
    report = Evidence(id="A9", text="PodAgent reports:\nsince 06:15", tool="tarsy.run_agent", arguments="{}")
    among = Seen({**SEEN.evidence, "A8": asked, "A9": report})
    analysis = WHY + '- it followed release 2.1 {} [A8: "done argo: release 2.1"]\n' + RULED_OUT
    assert shown(analysis.format(""), verdict(since="2026-03-10T09:00:02Z"), among) == (Confidence.HIGH, "")
    for since in ("2026-03-10T07:30:07Z", "06:15"):
        assert shown(analysis.format(""), verdict(since=since), among) == (Confidence.LOW, f"{since} was never seen")
    assert shown(analysis.format("of 77 GB"), among=among)[0] is Confidence.MEDIUM


def test_a_count_before_a_quotation_is_compared_with_it() -> None:
    assert complaints('It restarted 99 times [A1: "after 1200s; restarts 14"].') == ["99 times: the words cited say something else"]
    assert complaints('It restarted 14 times [A1: "after 1200s; restarts 14"].') == []
    assert complaints('It restarted ninety times [A1: "after 1200s; restarts 14"].') == ["ninety times: the words cited say something else"]


def test_a_large_count_that_no_cited_result_has_leaves_medium_confidence() -> None:
    among = seen(**TEXTS, A4='waiting{relation="items"}  38')
    claim = '- the queue holds {} sessions [A4: "waiting{{relation="items"}}  38"]\n'
    assert shown(WHY + claim.format("38") + RULED_OUT, among=among)[0] is Confidence.HIGH
    assert shown(WHY + claim.format("380") + RULED_OUT, among=among) == (
        Confidence.MEDIUM,
        "380 is in no result that its link of the chain of causes cites",
    )
    assert shown(WHY + '- waiting now: 83 [A4: "waiting{relation="items"}  38"]\n' + RULED_OUT, among=among)[0] is Confidence.MEDIUM
    # In a result without any number, too.
    none = '- 1730 records were read [A4: "RoleBinding/invoicer -> Role/reader"]\n'
    allowed = seen(A1=RESULT, A2=TEXTS["A2"], A4="RoleBinding/invoicer -> Role/reader")
    assert shown(WHY + none + RULED_OUT, among=allowed)[0] is Confidence.MEDIUM
    # Rows can be counted.
    assert shown(WHY + claim.format("four") + RULED_OUT, among=among)[0] is Confidence.HIGH


def test_a_number_may_be_rounded_to_thousands_or_millions_and_share_the_unit_of_the_next() -> None:
    among = seen(**TEXTS, A4="keys loaded count=1481202 duration_ms=2411 and later duration_ms=2630")
    rest = '[A4: "keys loaded count=1481202 duration_ms=2411 and later duration_ms=2630"]\n' + RULED_OUT
    assert shown(f"{WHY}- it loaded 1.48 million keys in 2.4 to 2.6 s {rest}", among=among)[0] is Confidence.HIGH
    assert shown(f"{WHY}- it loaded 4.2 million keys in 2.4 to 2.6 s {rest}", among=among)[0] is Confidence.MEDIUM


def test_a_duration_in_words_is_a_figure() -> None:
    among = seen(A1="09:00:25 it began\n09:06:31 it waits for the lock\nafter 6s")
    quoted = '[A1: "09:00:25 it began"; A1: "09:06:31 it waits for the lock"].'
    assert not any(one.unfounded for one in check(f"Six minutes later it waits {quoted}", among).statements)
    assert [one.unfounded for one in check(f"Twenty minutes later it waits {quoted}", among).statements] == ["Twenty minutes"]


def test_a_decimal_number_must_be_in_a_row_that_is_quoted() -> None:
    among = seen(A1="rate of errors  14.2\nrate of answers  190.2\nshare of errors  0.41")

    def contradicted(claim: str) -> list[str]:
        return [one.contradicted for one in check(claim, among).statements]

    assert contradicted('There were 190.2 of the type SERVFAIL [A1: "rate of errors  14.2"].') == ["190.2"]
    assert contradicted('There were 14.2 of the type SERVFAIL [A1: "rate of errors  14.2"].') == [""]
    assert contradicted('Since version 3.1 the share is 41 % [A1: "share of errors  0.41"].') == [""]


def test_a_converted_time_must_be_in_a_cited_result() -> None:
    claim = '## Why\n- since 09:12 UTC, that is {} IST, cart-7f fails [A1: "cart-7f exceeded its memory limit of 512Mi at 93% after 1200s; restarts 14; 2026-03-10T09:12:41Z"]\n'
    assert shown(claim.format("14:42") + RULED_OUT)[0] is Confidence.HIGH
    assert shown(claim.format("15:42") + RULED_OUT) == (
        Confidence.MEDIUM,
        "15:42 IST is in no result that its link of the chain of causes cites",
    )


def test_an_address_is_a_name_as_a_whole() -> None:
    among = seen(A1="cart-7f  10.20.14.42\ncart-8a  10.20.24.14")
    assert among.holds_name("10.20.14.42")
    assert not among.holds_name("10.20.14.24")


def test_a_sentence_may_begin_with_the_name_of_a_program() -> None:
    text = '## Why\nAn update replaced it. chronyd does not run, e.g. on cart-7f [A1: "pod cart-7f exceeded its memory limit"].\n'
    assert [one.support for one in checked(text).links] == [Support.UNCITED, Support.VERIFIED]


def test_a_title_in_italics_or_bold_type_is_no_statement() -> None:
    text = '## Why\n*The limit.* It was exceeded [A1: "pod cart-7f exceeded its memory limit"].\n'
    assert [one.statement.text for one in checked(text).links] == ["It was exceeded ."]


def test_a_figure_of_the_mechanism_is_in_the_analysis() -> None:
    assert shown(WHY + RULED_OUT, verdict(mechanism="the limit of 512Mi is too low")) == (
        Confidence.MEDIUM,
        "512Mi in the mechanism is not in the analysis",
    )


def test_a_time_in_the_wrong_zone_is_a_failure() -> None:
    assert complaints('It began at 09:12 CET [A1: "restarts 14; 2026-03-10T09:12:41Z"].') == [
        "09:12 CET: the words cited say something else"
    ]
    assert complaints('It began at 10:12 CET [A1: "restarts 14; 2026-03-10T09:12:41Z"].') == []


def test_sweeping_words_are_remarks_where_they_are_about_the_system() -> None:
    sweeping = ["says all, every, none, only, always or never without citing what covers it"]
    assert complaints("## Impact\nAll other routes work.", severity=ClaimSeverity.REMARK) == sweeping
    assert complaints("## Do now\nRestart all pods. Run `kubectl get --all`.", severity=ClaimSeverity.REMARK) == []


def test_links_of_the_chain_without_citation_or_inference_are_counted() -> None:
    assert checked(WHY + "- The node was full.\n- So it was evicted *(inference)*\n").uncited == ("The node was full.",)


def test_a_citation_after_the_full_stop_belongs_to_its_sentence() -> None:
    assert checked('## Why\nIt ran out of memory. [A1: "exceeded its memory limit"] It restarted. [A1]\n').uncited == ()


def test_the_object_of_the_verdict_must_have_been_seen() -> None:
    assert complaints(WHY, verdict()) == []
    assert complaints(WHY, verdict(object=AffectedObject(name="ledger"))) == ["ledger occurs in nothing that was seen"]


def test_confidence_stays_where_all_is_verified() -> None:
    assert shown(WHY + RULED_OUT) == (Confidence.HIGH, "")


def test_one_failed_quotation_does_not_count_beside_another_of_its_link() -> None:
    burned = '## Why\n- cart-7f died [A1: "the house was on fire"] [A1: "pod cart-7f exceeded its memory limit"]\n'
    assert shown(burned + RULED_OUT) == (Confidence.HIGH, "")


def test_what_lowers_confidence_is_named() -> None:
    assert shown(WHY) == (Confidence.MEDIUM, "nothing is ruled out by a verified quotation")
    assert shown(f"{WHY}- It was evicted.\n{RULED_OUT}") == (Confidence.MEDIUM, "a link of the chain of causes is not cited")
    assert shown(f"{WHY}- It was evicted *(inference)*\n{RULED_OUT}") == (
        Confidence.MEDIUM,
        "a link of the chain of causes is an inference",
    )
    assert shown(WHY + RULED_OUT, verdict(since="")) == (Confidence.MEDIUM, "“since” is in nothing that is cited")
    assert shown(WHY + RULED_OUT, verdict(since="2026-03-10T07:00:30Z")) == (Confidence.LOW, "2026-03-10T07:00:30Z was never seen")
    assert shown(WHY + RULED_OUT, verdict(evidence=("A1", "A99"))) == (Confidence.LOW, "the verdict rests on A99, which shows nothing")
    assert shown("The cart is broken.") == (Confidence.LOW, "no quotation of a result could be verified")
    failed = '- cart-7f is gone [A3: "pod not found"]\n'
    assert shown(WHY + failed + RULED_OUT) == (Confidence.LOW, "a link of the chain of causes cites words that were not seen")


def test_without_a_result_of_a_tool_confidence_is_low() -> None:
    only_alert = Seen({"ALERT": Evidence(id="ALERT", text="CartDown in shop: cart-7f, 2026-03-10T09:12:41Z")})
    assert shown('## Why\n- cart-7f is down [ALERT: "CartDown in shop: cart-7f"]\n', among=only_alert) == (
        Confidence.LOW,
        "no tool brought a result",
    )


def test_a_skill_that_was_loaded_says_nothing_about_the_system() -> None:
    skill = Evidence(id="A1", text=RESULT, tool="tarsy.load_skill", arguments='{"name": "cart"}')
    assert shown(WHY, among=Seen({"A1": skill})) == (Confidence.LOW, "no tool brought a result")
    assert check(WHY, Seen({"A1": skill})).links[0].support is Support.INPUT
    link = '- carts are small [A5: "carts run out of memory at noon"]\n'
    with_skill = Seen({**SEEN.evidence, "A5": Evidence(id="A5", text="carts run out of memory at noon", tool="tarsy.load_skill")})
    assert shown(WHY + link + RULED_OUT, among=with_skill) == (
        Confidence.MEDIUM,
        "a link of the chain of causes rests on the alert, a note, the runbook or a skill",
    )


@pytest.mark.parametrize(
    ("arguments", "support"),
    [
        ('{"id": "A1", "search": "ALERT"}', Support.VERIFIED),
        ("A1", Support.VERIFIED),
        ('{"id": "alert"}', Support.INPUT),
        ('{"search": "A1", "id": "A5"}', Support.INPUT),
        ('{"id": "A3"}', Support.FAILED),
        ('{"id": "A4"}', Support.FAILED),
        ("id=A1, offset=0, search=cart", Support.VERIFIED),
        ("call_id: ALERT", Support.INPUT),
        ('{"id": "", "call_id": "A4"}', Support.FAILED),
        ('{"id": "toolu_1"}', Support.INPUT),
    ],
    ids=[
        "a result",
        "its bare id",
        "the alert",
        "a skill",
        "a failed call",
        "the report of a sub-agent",
        "a part of a result",
        "the alert, by an old name",
        "a report, by an old name",
        "a text that is not known",
    ],
)
def test_what_is_read_again_proves_as_much_as_when_it_was_first_read(arguments: str, support: Support) -> None:
    again = (
        Evidence(id="ALERT", text=RESULT),
        Evidence(id="A3", text=RESULT, tool="cluster.get", failed=True),
        Evidence(id="A4", text=RESULT, tool="tarsy.run_agent"),
        Evidence(id="A5", text=RESULT, tool="tarsy.load_skill"),
        Evidence(id="A6", text=RESULT, tool="tarsy.read_result", arguments=arguments),
        Evidence(id="A7", text=RESULT, tool="tarsy.read_result", arguments='{"id": "A6"}'),
    )
    among = Seen({**SEEN.evidence, **{one.id: one for one in again}})
    for name in ("A6", "A7"):
        assert check(WHY.replace("A1", name), among).links[0].support is support


def test_a_line_that_is_read_again_can_be_quoted_and_what_is_written_around_it_cannot() -> None:
    read = {"A4": {"search": "worker-a1"}, "A5": {"search": "worker-a1 burned down"}, "A6": {}}
    again = [
        Evidence(id=name, text=excerpt(TEXTS["A2"], arguments), tool="tarsy.read_result", arguments=json.dumps({"id": "A2", **arguments}))
        for name, arguments in read.items()
    ]
    among = Seen({**SEEN.evidence, **{one.id: one for one in again}})

    def statuses(*citations: str) -> set[CitationStatus]:
        return {one.status for one in check(f"It is so [{'; '.join(citations)}].", among).citations}

    right = ('A4: "worker-a1   Ready    <none>   41d"', 'A4: "2:worker-a1   Ready"', 'A6: "worker-a1   Ready    <none>   41d"')
    assert statuses(*right) == {CitationStatus.QUOTE_FOUND}
    wrong = ('A5: "worker-a1 burned down"', 'A5: "does not occur in characters"', 'A4: "lines that match; 2 lines in all"')
    assert statuses(*wrong) == {CitationStatus.FAILED}


def test_confidence_is_never_raised() -> None:
    assert shown(WHY + RULED_OUT, verdict(confidence_mechanism=Confidence.LOW)) == (Confidence.LOW, "")


@given(st.integers(10_000, 99_999), st.sampled_from(["ms", "%", "Mi", "GB", "seconds"]))
def test_an_invented_figure_beside_a_quotation_is_flagged(number: int, unit: str) -> None:
    words = "memory limit of 512Mi at 93% after 1200s"
    assert complaints(f'It was {number}{unit} [A1: "{words}"].') == [f"{number}{unit}: the words cited say something else"]


@given(st.from_regex(r"[a-z]{3,12}-[0-9a-f]{7}[0-9]", fullmatch=True))
def test_an_invented_name_is_flagged_with_and_without_back_ticks(name: str) -> None:
    assert complaints(f"{WHY}- `{name}` did it [A1]\n") == [f"{name} occurs in nothing that was seen"]
    assert complaints(f"{WHY}- {name} did it [A1]\n") == [f"{name} occurs in nothing that was seen"]
