"""A report as Markdown, for tickets and wikis.

Text of tools and alerts is put in code blocks that nothing in them can end. Text of models is Markdown of its own; it is escaped if a viewer
would load or run anything in it.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tarsy.db.run.evidence import CheckedText
from tarsy.domain.citation import open_fence
from tarsy.report.report import (
    NO_VERDICT,
    Report,
    brackets,
    cautions,
    facts,
    left_out_note,
    no_analysis,
    result_text,
    source_line,
    utc_time,
    verdict_facts,
)

_SIGNIFICANT = re.compile(r"([\\`*_{}\[\]<>#|!&~])")
# The tokens that a viewer of Markdown may load, or pass to a browser unchanged.
_ACTIVE = frozenset({"html_block", "html_inline", "image"})
# Longer text is put in a code block: no analysis is so long, and a hostile text could make parsing slow.
_MAX_PARSED = 60_000
_MAX_IMAGES = 100
_END = "The end"
# The tokens of a heading: its opening, its words, its end.
_HEADING = 3
_FENCE = re.compile(r"`{3,}")


def as_markdown(report: Report) -> str:
    parts = [f"# {_plain(report.title)}", _listed(facts(report)), *(f"> **{_plain(one)}**" for one in cautions(report)), *_verdict(report)]
    if report.do_now.text:
        parts.append(_cited(report.do_now, report))
    if action_lines := (*map(str, report.actions), *report.actions_left_out):
        parts.append("## Actions\n\n" + "\n".join(f"- {_plain(one)}" for one in action_lines))
    if report.session.executive_summary:
        parts.append(f"## Summary\n\n{_harmless(report.session.executive_summary)}")
    parts += ("# Analysis", _cited(report.findings, report) if report.analysis.text else no_analysis(report))
    if report.chat:
        parts.append("# Questions and answers")
    for one in report.chat:
        answer = _cited(one.answer, report) if one.answer.text else _plain(one.error or "There is no answer.")
        parts.append(f"## {_plain(one.author)}, {utc_time(one.asked_at)}\n\n{_block(one.question)}\n\n{answer}")
    parts.append(f"# Alert\n\n{_block(report.session.alert_data)}")
    if report.evidence or report.left_out:
        parts.append("# Cited evidence")
    for evidence in report.evidence:
        shown = [part for one in evidence.passages for part in (*_left_out(one.skipped), one.text)]
        text = "\n".join((*shown, *_left_out(evidence.skipped)))
        parts += (_head(evidence.id), _plain(source_line(evidence)), _block(text))
    parts += (f"{_head(one)}\n\nLeft out for length." for one in report.left_out)
    return "\n\n".join(parts) + "\n"


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
        yield f"Based on {', '.join(_linked(one, report) for one in judged.verdict.evidence)}."
    if judged.verdict.ruled_out:
        lines = (
            f"- {_plain(one.hypothesis)} {', '.join(_linked(name, report) for name in one.evidence)}" for one in judged.verdict.ruled_out
        )
        yield "Ruled out:\n\n" + "\n".join(lines)


def _cited(text: CheckedText, report: Report) -> str:
    """Return a text with links to the evidence, and what checking its citations found."""
    parts: list[str] = []
    position = 0
    for start, end, citations in brackets(text):
        cited = (
            f"{_linked(one.checked.citation.evidence_id, report)}"
            + (f": “{one.checked.citation.quotation}”" if one.checked.citation.quotation else "")
            + f" ({result_text(one)})"
            for one in citations
        )
        parts += (text.text[position:start], f"\\[{'; '.join(cited)}\\]")
        position = end
    return _harmless("".join((*parts, text.text[position:])))


def _linked(evidence_id: str, report: Report) -> str:
    return f"[{evidence_id}](#evidence-{evidence_id})" if evidence_id in report.evidence_ids else evidence_id


def _head(evidence_id: str) -> str:
    return f'<a id="evidence-{evidence_id}"></a>\n\n## {evidence_id}'


def _left_out(count: int) -> Sequence[str]:
    return (left_out_note(count),) if count else ()


def _block(text: str) -> str:
    longest = max((len(found) for found in _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}text\n{text.rstrip()}\n{fence}"


def _plain(text: str) -> str:
    """Return the text on one line, with everything escaped that means something in Markdown."""
    return _SIGNIFICANT.sub(r"\\\1", " ".join(text.split()))


def _harmless(text: str) -> str:
    """Return Markdown unchanged, unless a viewer would load or run something in it, or it would swallow the text behind it."""
    if len(text) > _MAX_PARSED or text.count("![") > _MAX_IMAGES:
        return _block(text)
    if _is_harmless(text):
        return text.strip("\n")
    tamed = re.sub(r"<(?=[A-Za-z/!?])", r"\\<", text.replace("![", "!\\["))
    closed = f"{tamed}\n{open_fence(tamed)}".strip("\n")
    return closed if _is_harmless(closed) else _block(text)


def _is_harmless(text: str) -> bool:
    """Whether nothing in the text is active, and a heading behind it is a heading."""
    # Nothing loads a link before it is followed, and looking for the ends of links takes seconds in a text full of brackets.
    tokens = MarkdownIt("commonmark", {"html": True}).disable("link").parse(f"{text}\n\n# {_END}")
    is_ended = len(tokens) >= _HEADING and tokens[-_HEADING].type == "heading_open" and tokens[-2].content == _END
    return is_ended and not _any_active(tokens)


def _any_active(tokens: Sequence[Token]) -> bool:
    return any(token.type in _ACTIVE or _any_active(token.children or ()) for token in tokens)
