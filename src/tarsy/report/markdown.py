"""A report as Markdown, for tickets and wikis. Pure module.

What tools and alerts said stands in code blocks that nothing in them can end. What models said is Markdown of their own; if a viewer would load or run
anything of it, its brackets are taken from it.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tarsy.domain.citation import open_fence
from tarsy.report.report import (
    NO_VERDICT,
    Bracket,
    CitedText,
    Exchange,
    Exhibit,
    Report,
    brackets,
    cautions,
    exhibit_line,
    facts,
    moment,
    no_analysis,
    verdict_facts,
    worth,
)

_SIGNIFICANT = re.compile(r"([\\`*_{}\[\]<>#|!&~])")
# What a viewer of Markdown may load, or hand to a browser as it is.
_ACTIVE = frozenset({"html_block", "html_inline", "image"})
# Longer text is shown as it is: no analysis has such a length, and reading it is what a hostile text could make slow.
_LONGEST_READ = 60_000
_MOST_IMAGES = 100
_END = "The end"
# The tokens of a heading: its opening, its words, its end.
_HEADING = 3
_FENCE = re.compile(r"`{3,}")


def as_markdown(report: Report) -> str:
    """The report as one Markdown text."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: Report) -> Iterator[str]:
    yield f"# {_plain(report.title)}"
    yield _listed(facts(report))
    yield from (f"> **{_plain(one)}**" for one in cautions(report))
    yield from _verdict(report)
    if report.session.executive_summary:
        yield f"## Summary\n\n{_harmless(report.session.executive_summary)}"
    yield "# Analysis"
    yield _cited(report.analysis, report) if report.analysis.text else no_analysis(report)
    if report.chat:
        yield "# Questions and answers"
        yield from (_exchange(one, report) for one in report.chat)
    yield f"# Alert\n\n{_block(report.session.alert_data)}"
    if report.exhibits or report.left_out:
        yield "# What is cited"
        yield from map(_exhibit, report.exhibits)
        yield from (f"{_head(one)}\n\nLeft out for length." for one in report.left_out)


def _listed(rows: Iterator[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {_plain(value)}" for name, value in rows if value)


def _verdict(report: Report) -> Iterator[str]:
    judged = report.session.verdict
    if judged is None:
        if report.analysis.text:
            yield NO_VERDICT
        return
    yield f"## Verdict\n\n{_listed(verdict_facts(judged))}"
    if judged.verdict.evidence:
        yield f"Rests on {', '.join(_linked(one, report) for one in judged.verdict.evidence)}."
    if judged.verdict.ruled_out:
        lines = (
            f"- {_plain(one.hypothesis)} {', '.join(_linked(name, report) for name in one.evidence)}" for one in judged.verdict.ruled_out
        )
        yield "Ruled out:\n\n" + "\n".join(lines)


def _cited(text: CitedText, report: Report) -> str:
    parts: list[str] = []
    position = 0
    for one in brackets(text):
        parts += (text.text[position : one.start], _bracket(one, report))
        position = one.end
    return _harmless("".join((*parts, text.text[position:])))


def _bracket(bracket: Bracket, report: Report) -> str:
    cited = (
        f"{_linked(one.checked.citation.evidence_id, report)}"
        + (f": “{one.checked.citation.quotation}”" if one.checked.citation.quotation else "")
        + f" ({worth(one)})"
        for one in bracket.citations
    )
    return f"\\[{'; '.join(cited)}\\]"


def _linked(evidence_id: str, report: Report) -> str:
    known = evidence_id in report.shown_ids or evidence_id in report.left_out
    return f"[{evidence_id}](#evidence-{evidence_id})" if known else evidence_id


def _exchange(exchange: Exchange, report: Report) -> str:
    answer = _cited(exchange.answer, report) if exchange.answer.text else _plain(exchange.error or "There is no answer.")
    return f"## {_plain(exchange.author)}, {moment(exchange.asked_at)}\n\n{_block(exchange.question)}\n\n{answer}"


def _exhibit(exhibit: Exhibit) -> str:
    shown = [part for one in exhibit.passages for part in (*_left_out(one.skipped), one.text)]
    text = "\n".join((*shown, *_left_out(exhibit.skipped)))
    return "\n\n".join((_head(exhibit.id), _plain(exhibit_line(exhibit)), _block(text)))


def _head(evidence_id: str) -> str:
    return f'<a id="evidence-{evidence_id}"></a>\n\n## {evidence_id}'


def _left_out(count: int) -> Sequence[str]:
    return (f"… [{count} characters are left out here] …",) if count else ()


def _block(text: str) -> str:
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def _plain(text: str) -> str:
    """Words on one line that mean nothing to Markdown."""
    return _SIGNIFICANT.sub(r"\\\1", " ".join(text.split()))


def _harmless(text: str) -> str:
    """Markdown as it was written, unless a viewer would load or run something of it, or it would swallow what follows."""
    if len(text) > _LONGEST_READ or text.count("![") > _MOST_IMAGES:
        return _block(text)
    if _is_harmless(text):
        return text.strip("\n")
    tamed = re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text.replace("![", "!\\["))
    closed = f"{tamed}\n{open_fence(tamed)}".strip("\n")
    return closed if _is_harmless(closed) else _block(text)


def _is_harmless(text: str) -> bool:
    """Whether nothing of it is active, and a heading behind it is a heading."""
    # Links are read by no one before they are followed; looking for their ends takes seconds in a text full of brackets.
    tokens = MarkdownIt("commonmark", {"html": True}).disable("link").parse(f"{text}\n\n# {_END}")
    is_ended = len(tokens) >= _HEADING and tokens[-_HEADING].type == "heading_open" and tokens[-2].content == _END
    return is_ended and not _any_active(tokens)


def _any_active(tokens: Sequence[Token]) -> bool:
    return any(token.type in _ACTIVE or _any_active(token.children or ()) for token in tokens)
