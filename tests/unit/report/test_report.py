"""A report shows the words of models, tools and alerts, and none of them can change its markup; each citation leads to what it cites."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tarsy.db.run.evidence import CheckedText, EvidenceText, PlacedCitation, SeenEvidence
from tarsy.domain.citation import CheckedCitation, CitationCounts, CitationStatus, citations
from tarsy.domain.session import AlertSession
from tarsy.domain.status import SessionStatus
from tarsy.domain.usage import Spending
from tarsy.domain.verdict import AffectedObject, Confidence, JudgedVerdict, RuledOut, Verdict, VerdictOutcome
from tarsy.report.html import as_html
from tarsy.report.markdown import as_markdown
from tarsy.report.report import MAX_EVIDENCE_CHARACTERS, WHOLE_EVIDENCE, EvidenceExcerpt, Exchange, Report, cited_evidence, within_limit

AT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LOG = "03:02:11 write /data/wal: No space left on device\n03:02:12 pod web-1 evicted"
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "[A1]: http://evil.example\n",
    "<http://evil.example>",
    "<!-- ",
    "\n```\n",
    '\n```py" onload=x\n',
    "\n- ```[A1]\n",
    "\n~~~~\n",
    '[A1: "No space left on device"]',
    '[A1: "<svg onload=alert(1)>"]',
    "[A9]",
    "\ue0000\ue001",
    "&#xE000;0&#xE001;",
    "&#57344;",
    "</pre></main>",
    "\n# A heading\n",
    "\n## Do now\n",
    "`<none>`",
    "\n| a | b |\n|---|---|\n| <b>x</b> | y |\n",
    '" onmouseover="alert(1)',
)
ANSWERED = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=8).map("".join)


def evidence(text: str = LOG, name: str = "A1") -> EvidenceText:
    seen = SeenEvidence(id=name, server="k8s", tool="logs", arguments='{"pod": "web-1"}', read_at=AT, size=len(text))
    return EvidenceText(seen, text)


def cited(text: str) -> CheckedText:
    """A text with its citations as they would be stored."""
    placed: list[PlacedCitation] = []
    for one in citations(text):
        at = LOG.find(one.quotation) if one.quotation and one.evidence_id == "A1" else -1
        found = CitationStatus.QUOTE_FOUND if at >= 0 else CitationStatus.FAILED if one.quotation else CitationStatus.ID_ONLY
        where = (at, at + len(one.quotation or "")) if at >= 0 else None
        placed.append(PlacedCitation("x", CheckedCitation(citation=one, status=found, found_at=where, reason="no"), 0))
    return CheckedText(text, tuple(placed))


def report(analysis: str, *, hostile: str = "", log: str = LOG, **changes: Any) -> Report:
    session = AlertSession(
        id="0b6f8f3e-9f6a-4d8e-8a75-3f3c6f0a1b2c",
        alert_data=f"web-1 is down {hostile}",
        alert_type="kubernetes",
        chain_id="kubernetes",
        chain_snapshot={},
        author="tester",
        nonce="n",
        created_at=AT,
        started_at=AT,
        completed_at=AT,
        status=SessionStatus.COMPLETED,
        final_analysis=analysis,
        executive_summary=hostile or None,
        verdict=JudgedVerdict(
            Verdict(
                outcome=VerdictOutcome.FAULT,
                object=AffectedObject(kind="Pod", namespace="shop", name=f"web-1{hostile}"),
                mechanism=f"The disk is full.{hostile}",
                evidence=("A1",),
                ruled_out=(RuledOut(f"the node{hostile}", ("A1",)),),
            ),
            Confidence.MEDIUM,
            "no citation could be verified",
        ),
        citations=CitationCounts(cited=17, verified=12, failed=1, id_only=4),
    )
    text = cited(analysis)
    return Report(
        session=replace(session, **changes),
        title=f"web-1 is down {hostile}",
        models=("model-1",),
        cost=Spending(Decimal("0.25")),
        analysis=text,
        chat=(Exchange(question=f"Sure? {hostile}", author="bob", asked_at=AT, answer=cited(f"Yes [A1].{hostile}")),),
        evidence=(cited_evidence(evidence(log), [text]),),
        left_out=(),
        made_at=AT,
    )


class Page(HTMLParser):
    """What a browser would make of a page: its tags with their attributes, its words, and the ids it holds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def values(self, name: str) -> list[str]:
        return [found[name] or "" for _, found in self.tags if name in found]


OURS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "pre",
        "code",
        "div",
        "span",
        "a",
        "section",
        "mark",
        "ul",
        "ol",
        "li",
        "em",
        "strong",
        "hr",
        "br",
        "blockquote",
    ]
)
ATTRIBUTES = frozenset(["lang", "charset", "name", "content", "http-equiv", "id", "class", "href", "title", "start", "style"])


@given(ANSWERED)
def test_no_text_of_a_session_becomes_part_of_the_page(hostile: str) -> None:
    page = Page(as_html(report(f"## Why\n\n{hostile}", hostile=hostile, log=f"{LOG}\n{hostile}")))
    assert {tag for tag, _ in page.tags} <= OURS
    assert {name for _, found in page.tags for name in found} <= ATTRIBUTES
    assert all(address.startswith("#evidence-") for address in page.values("href"))
    assert set(page.values("style")) <= {"text-align:left", "text-align:right", "text-align:center"}
    assert page.values("id") == ["evidence-A1"]


@given(ANSWERED)
def test_no_text_of_a_session_is_loaded_or_run_by_a_viewer_of_markdown(hostile: str) -> None:
    def flat(tokens: list[Token]) -> list[Token]:
        return [inner for token in tokens for inner in (token, *flat(token.children or []))]

    tokens = flat(
        MarkdownIt("commonmark", {"html": True}).parse(
            as_markdown(report(f"## Why\n\n{hostile}", hostile=hostile, log=f"{LOG}\n{hostile}"))
        )
    )
    ours = {'<a id="evidence-A1">', "</a>"}
    assert {token.content for token in tokens if token.type in {"html_block", "html_inline"}} <= ours
    assert not any(token.type == "image" for token in tokens)
    headings = [after.content for token, after in pairwise(tokens) if token.type == "heading_open" and token.level == 0]
    assert headings[-3:] == ["Alert", "Cited evidence", "A1"], "nothing swallows what follows it"


def test_each_citation_leads_to_the_words_it_quotes() -> None:
    page = as_html(report('## Why\n\nIt is **full** [A1: "No space left on device"], not [A1: "a \\"lie\\" <b>"] nor [A9].'))
    assert '<a href="#evidence-A1">A1</a>: “No space left on device” <span title="verified">✓</span>' in page
    assert "<mark>No space left on device</mark>" in page
    assert '<span title="not verified: no">✗ not verified</span>' in page
    assert '[<span class="id_only">A9 ' in page, "what does not exist has no address"
    assert "<strong>full</strong>" in page


def test_it_is_whole_and_loads_nothing() -> None:
    page = Page(as_html(report("Full.")))
    policy = next(found["content"] for _, found in page.tags if found.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    for words in (
        "web-1 is down",
        "kubernetes",
        "model-1",
        "$0.2500",
        "12 quotations verified, 1 failed, 4 by id only",
        "The disk is full.",
        "Sure?",
        "Yes",
        LOG,
    ):
        assert words in page.words


def test_an_analysis_that_leaves_a_block_open_or_loads_something_keeps_its_form_otherwise() -> None:
    markdown = as_markdown(report("## Why\n\n<b>Full</b> ![x](http://evil.example/x.png)\n\n~~~~sh\nkubectl get pods <name>"))
    assert (
        "## Why\n\n\\<b>Full\\</b> !\\[x](http://evil.example/x.png)\n\n~~~~sh\nkubectl get pods \\<name>\n~~~~\n\n# Questions" in markdown
    )


@pytest.mark.parametrize("write", [as_html, as_markdown])
def test_a_text_of_a_length_that_no_analysis_has_is_shown_as_it_is(write: Callable[[Report], str]) -> None:
    assert "[![![" in write(report("![" * 100_000))


def test_markdown_says_the_same_with_links_to_what_is_cited() -> None:
    markdown = as_markdown(report('Full [A1: "No space left on device"].'))
    assert "\\[[A1](#evidence-A1): “No space left on device” (verified)\\]" in markdown
    assert (
        f'<a id="evidence-A1"></a>\n\n## A1\n\nk8s.logs \\{{"pod": "web-1"\\}}, read 2026-03-04 05:06:07 UTC\n\n```text\n{LOG}\n```'
        in markdown
    )
    assert "- Cost: $0.2500" in markdown
    assert "- Citations: 12 quotations verified, 1 failed, 4 by id only" in markdown


ACTIONS = """Full [A1].

## Do now:
Delete the log [A1: "write /data/wal"].
```sh
## no heading
```
### Undo
None.

## Why
It is full [A1: "No space left on device"].
"""


@pytest.mark.parametrize("write", [as_html, as_markdown])
def test_what_to_do_now_stands_directly_after_the_verdict_and_only_there(write: Callable[[Report], str]) -> None:
    made = report(ACTIONS)
    text = Page(write(made)).words if write is as_html else write(made).replace("[A1](#evidence-A1)", "A1")
    parts = [
        "Verdict",
        "Ruled out",
        "Do now",
        "Delete the log",
        "“write /data/wal”",
        "no heading",
        "Undo",
        "Analysis",
        "Why",
        "“No space left",
    ]
    assert [text.count(part) for part in ("Do now", "Delete the log", "Undo", "It is full")] == [1, 1, 1, 1]
    assert sorted(parts, key=text.index) == parts


def test_without_a_verdict_an_analysis_stays_as_it_was_written() -> None:
    assert report(ACTIONS, verdict=None).findings.text == ACTIONS


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"verdict": None}, "The analysis has no verdict."),
        ({"analysis_is_partial": True, "analysis_partial_reason": "It was cut."}, "The analysis is partial. It was cut."),
        ({"status": SessionStatus.FAILED, "error_message": "The model is away."}, "The session ended as failed: The model is away."),
        ({"status": SessionStatus.IN_PROGRESS}, "The session is in progress: this report shows its results so far."),
        ({"chain_snapshot": {"stages": [{"agents": [{"provider": {"type": "replay"}}]}]}}, "come from a recording"),
    ],
    ids=["no verdict", "partial", "failed", "running", "recorded"],
)
def test_the_state_of_a_session_comes_first(changes: dict[str, Any], sentence: str) -> None:
    made = report("Full.", **changes)
    for text in (Page(as_html(made)).words, as_markdown(made).replace("\\", "")):
        assert sentence in text
        assert text.index(sentence) < text.index("Analysis")


def test_a_session_that_failed_before_any_analysis_says_so() -> None:
    made = replace(report("", verdict=None, status=SessionStatus.FAILED, final_analysis=None), chat=(), evidence=())
    assert "There is no analysis." in as_html(made)
    assert "without a verdict" not in as_html(made), "there is nothing that could have one"
    assert "There is no analysis." in as_markdown(made)


def test_of_a_large_result_the_quoted_places_are_shown_and_the_rest_is_counted() -> None:
    large = f"{'x' * WHOLE_EVIDENCE}\n{LOG}\n{'y' * WHOLE_EVIDENCE}"
    quoting = cited('[A1: "No space left on device"]').citations[0]
    place = large.index("No space")
    moved = replace(quoting, checked=replace(quoting.checked, found_at=(place, place + 23)))
    made = replace(report("Full."), evidence=(cited_evidence(evidence(large), [CheckedText("", (moved,))]),))
    assert "<mark>No space left on device</mark>" in as_html(made)
    for text in (Page(as_html(made)).words, as_markdown(made)):
        assert "No space left on device" in text
        assert text.count("characters are left out here") == 2
        assert len(text) < WHOLE_EVIDENCE


def test_of_a_large_result_that_is_only_named_beginning_and_end_are_shown() -> None:
    shown = cited_evidence(evidence(f"OLDEST{'x' * 2 * WHOLE_EVIDENCE}NEWEST"), [])
    assert (shown.passages[0].text[:6], shown.passages[1].text[-6:], shown.passages[1].skipped) == ("OLDEST", "NEWEST", WHOLE_EVIDENCE + 12)


def test_what_there_is_no_room_for_is_named() -> None:
    one = cited_evidence(evidence("x" * WHOLE_EVIDENCE), [])
    many = [
        EvidenceExcerpt(replace(one.seen, id=f"A{number}"), one.passages)
        for number in range(1, MAX_EVIDENCE_CHARACTERS // WHOLE_EVIDENCE + 3)
    ]
    kept, left_out = within_limit(many)
    assert (len(kept), left_out) == (MAX_EVIDENCE_CHARACTERS // WHOLE_EVIDENCE, ("A101", "A102"))
    made = replace(report("Full [A101]."), evidence=kept[:1], left_out=left_out)
    assert '<section id="evidence-A101"><h3>A101</h3><p>Left out for length.</p></section>' in as_html(made)
    assert "## A102\n\nLeft out for length." in as_markdown(made)


def test_a_time_that_is_none_in_utc_is_shown_as_the_agent_wrote_it() -> None:
    judged = JudgedVerdict(Verdict(outcome=VerdictOutcome.FAULT, since="0001-01-01T00:00:00+01:00"), Confidence.LOW, "")
    assert "<td>0001-01-01T00:00:00+01:00</td>" in as_html(report("Full.", verdict=judged))


def test_a_verdict_is_shown_in_words_and_its_time_in_utc() -> None:
    judged = JudgedVerdict(Verdict(outcome=VerdictOutcome.FAULT, since="2026-03-10T10:12:41+01:00"), Confidence.LOW, "")
    page = as_html(report("Full.", verdict=judged))
    assert "<td>Suspected fault</td>" in page
    assert "<td>2026-03-10 09:12:41 UTC</td>" in page
    healthy = JudgedVerdict(Verdict(outcome=VerdictOutcome.NO_FAULT, since="this morning"), Confidence.HIGH, "")
    assert {"<td>No fault</td>", "<td>this morning</td>", "<td>High</td>"} <= set(
        re.findall("<td>[^<]*</td>", as_html(report("Full.", verdict=healthy)))
    )
