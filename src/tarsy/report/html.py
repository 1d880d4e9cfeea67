"""A report as one HTML page that loads nothing and runs nothing.

All text of models, tools and alerts is escaped, or rendered from Markdown without HTML, links and images.
"""

import base64
import hashlib
import secrets
from collections.abc import Iterable, Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token

from tarsy.db.run.evidence import CheckedText
from tarsy.domain.citation import CitationStatus
from tarsy.report.report import (
    NO_VERDICT,
    Passage,
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

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #f3f5f7; --line: #d0d7de; --good: #1a7f37; --bad: #9a6700; --mark: #fff3b0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #21262d; --line: #3d444d; --good: #57ab5a; --bad: #d29922; --mark: #5c4a00; } body { background: #0d1117; } }
body { font: 16px/1.6 system-ui, sans-serif; color: var(--ink); max-width: 52rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
h1, h2 { border-bottom: 1px solid var(--line); padding-bottom: .3rem; }
table { border-collapse: collapse; } td, th { text-align: left; padding: .15rem 1rem .15rem 0; vertical-align: top; } th { overflow-wrap: normal; }
pre { background: var(--soft); padding: .8rem; white-space: pre-wrap; } code { background: var(--soft); padding: .1rem .3rem; } pre code { padding: 0; }
.caution { border-left: .3rem solid var(--bad); padding-left: .8rem; } .verdict { border: 1px solid var(--line); padding: .2rem 1rem; }
.quote_found, .id_only, .failed { font-size: .85em; text-decoration: none; } .quote_found { color: var(--good); } .failed, .id_only { color: var(--bad); }
mark { background: var(--mark); color: inherit; } section:target { outline: 2px solid var(--good); outline-offset: .5rem; }
@media print { body { max-width: none; margin: 0; } }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# Longer text is not rendered: no analysis is so long, and a hostile text could make rendering slow.
_MAX_RENDERED = 100_000
_SIGN = {CitationStatus.QUOTE_FOUND: "✓", CitationStatus.ID_ONLY: "○", CitationStatus.FAILED: "✗ not verified"}


def as_html(report: Report) -> str:
    """Return the report as a self-contained page."""
    parts = [_table(facts(report)), *(f'<p class="caution">{escape(one)}</p>' for one in cautions(report))]
    if report.session.verdict or report.analysis.text:
        parts += (_verdict(report), _rendered(report.do_now, report))
    if action_lines := (*map(str, report.actions), *report.actions_left_out):
        parts.append(f"<h2>Actions</h2><ul>{''.join(f'<li>{escape(one)}</li>' for one in action_lines)}</ul>")
    if report.session.executive_summary:
        parts.append(f"<h2>Summary</h2>\n{_rendered(CheckedText(report.session.executive_summary), report)}")
    analysis = _rendered(report.findings, report) if report.analysis.text else f"<p>{no_analysis(report)}</p>"
    parts.append(f"<h2>Analysis</h2>\n{analysis}")
    if report.chat:
        parts.append("<h2>Questions and answers</h2>")
    for one in report.chat:
        answer = _rendered(one.answer, report) if one.answer.text else f"<p>{escape(one.error or 'There is no answer.')}</p>"
        parts.append(f"<h3>{escape(one.author)}, {utc_time(one.asked_at)}</h3><pre>{escape(one.question)}</pre>\n{answer}")
    parts.append(f"<h2>Alert</h2>\n<pre>{escape(report.session.alert_data)}</pre>")
    if report.evidence or report.left_out:
        parts.append("<h2>Cited evidence</h2>")
    for evidence in report.evidence:
        head = f'<section id="{_anchor(evidence.id)}"><h3>{escape(evidence.id)}</h3><p>{escape(source_line(evidence))}</p>'
        rest = f"\n{left_out_note(evidence.skipped)}" if evidence.skipped else ""
        parts.append(f"{head}<pre>{''.join(map(_passage, evidence.passages))}{rest}</pre></section>")
    parts += (f'<section id="{_anchor(one)}"><h3>{escape(one)}</h3><p>Left out for length.</p></section>' for one in report.left_out)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'\">"
        f'<meta name="referrer" content="no-referrer"><title>{escape(report.title)}</title><style>{_STYLE}</style></head>\n<body><main>\n'
        f"<h1>{escape(report.title)}</h1>\n" + "\n".join(parts) + "\n</main></body></html>\n"
    )


def _table(rows: Iterable[tuple[str, str]]) -> str:
    cells = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows if value)
    return f"<table>{''.join(cells)}</table>"


def _verdict(report: Report) -> str:
    judged = report.session.verdict
    if judged is None:
        return f"<p>{NO_VERDICT}</p>"
    rests_on = ", ".join(_linked(one, report) for one in judged.verdict.evidence)
    ruled_out = "".join(
        f"<li>{escape(one.hypothesis)} {', '.join(_linked(name, report) for name in one.evidence)}</li>" for one in judged.verdict.ruled_out
    )
    return (
        f'<div class="verdict"><h2>Verdict</h2>{_table(verdict_facts(judged))}'
        + (f"<p>Based on {rests_on}.</p>" if rests_on else "")
        + (f"<p>Ruled out:</p><ul>{ruled_out}</ul>" if ruled_out else "")
        + "</div>"
    )


def _rendered(text: CheckedText, report: Report) -> str:
    """Render Markdown, with its citations as links to the evidence."""
    if len(text.text) > _MAX_RENDERED:
        return f"<pre>{escape(text.text)}</pre>"
    marked: list[str] = []
    # Stands for a citation while the text around it is rendered. The text cannot contain it, also not as an entity such as `&#xE000;`.
    mark = f"citation{secrets.token_hex(16)}n"
    found = tuple(brackets(text))
    position = 0
    for number, (start, end, _) in enumerate(found):
        marked += (text.text[position:start], f"{mark}{number}e")
        position = end
    marked.append(text.text[position:])
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink", "reference"])

    def code_block(_: RendererProtocol, tokens: Sequence[Token], place: int, *__: object) -> str:
        # Without the attribute that names its language.
        return f"<pre><code>{escape(tokens[place].content)}</code></pre>\n"

    markdown.add_render_rule("fence", code_block)
    rendered, *others = markdown.render("".join(marked)).split(mark)
    for other in others:
        number, _, rest = other.partition("e")
        cited: list[str] = []
        for one in found[int(number)][2]:
            quotation = one.checked.citation.quotation
            words = f": “{escape(quotation)}”" if quotation else ""
            link = _linked(one.checked.citation.evidence_id, report)
            sign = f' <span title="{escape(result_text(one))}">{_SIGN[one.checked.status]}</span>'
            cited.append(f'<span class="{one.checked.status.value}">{link}{words}{sign}</span>')
        rendered += f"[{', '.join(cited)}]{rest}"
    return rendered


def _linked(evidence_id: str, report: Report) -> str:
    name = escape(evidence_id)
    return f'<a href="#{_anchor(evidence_id)}">{name}</a>' if evidence_id in report.evidence_ids else name


def _anchor(evidence_id: str) -> str:
    return escape(f"evidence-{evidence_id}")


def _passage(passage: Passage) -> str:
    """Render a passage with its quotations marked."""
    parts = [f"\n{left_out_note(passage.skipped)}\n"] if passage.skipped else []
    position = 0
    for start, end in passage.quoted:
        parts.append(f"{escape(passage.text[position:start])}<mark>{escape(passage.text[start:end])}</mark>")
        position = end
    return "".join((*parts, escape(passage.text[position:])))
