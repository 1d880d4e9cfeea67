/** The table of contents beside a session, on a wide screen. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import { headingsOf } from "@/components/markdown-blocks";
import { SESSION_HEADER_PX } from "@/components/page";
import { ONE_LINE } from "@/components/text-styles";
import type { StageView } from "@/wire/types";

type Content = { key: string; label: string; level: 1 | 2 } & ({ kind: "section"; title: string } | { kind: "heading"; index: number } | { kind: "stage"; stageId: string });

/** The sections of the page, the headings of the analysis and the stages of the timeline, in the order of the page. */
export function contentsOf(sections: readonly string[], analysis: string | null, stages: readonly StageView[]): Content[] {
  return sections.flatMap((title): Content[] => [
    { key: title, label: title, level: 1, kind: "section", title },
    ...(title === "Analysis" && analysis !== null ? headingsOf(analysis).map((label, index): Content => ({ key: `heading-${index}`, label, level: 2, kind: "heading", index })) : []),
    ...(title === "Timeline" ? stages.map((stage): Content => ({ key: stage.id, label: stage.stage_name, level: 2, kind: "stage", stageId: stage.id })) : []),
  ]);
}

interface ContentsProps {
  contents: readonly Content[];
  onStage: (stageId: string) => void;
}

export function Contents({ contents, onStage }: ContentsProps) {
  const go = (content: Content) => {
    if (content.kind === "stage") {
      onStage(content.stageId);
      return;
    }
    const element = content.kind === "section" ? sectionTitle(content.title) : headingAt(content.index, content.label);
    if (element) window.scrollTo({ top: element.getBoundingClientRect().top + window.scrollY - SESSION_HEADER_PX - 8 });
  };
  return (
    <Box component="nav" aria-label="On this page" sx={{ displayPrint: "none", position: "sticky", top: SESSION_HEADER_PX + 8, maxHeight: `calc(100vh - ${SESSION_HEADER_PX + 24}px)`, overflowY: "auto", fontSize: "0.8rem" }}>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0 }}>
        {contents.map((content) => (
          <li key={content.key}>
            <ButtonBase onClick={() => go(content)} title={content.label} sx={{ ...ONE_LINE, display: "block", width: "100%", textAlign: "left", font: "inherit", fontWeight: content.level === 1 ? 600 : 400, color: content.level === 1 ? "text.primary" : "text.secondary", pl: content.level === 1 ? 1 : 2.5, pr: 1, py: 0.4, borderRadius: 0.5, "&:hover": { bgcolor: "action.hover" } }}>
              {content.label}
            </ButtonBase>
          </li>
        ))}
      </Box>
    </Box>
  );
}

function sectionTitle(title: string): Element | undefined {
  return [...document.querySelectorAll("main section h2")].find((heading) => heading.textContent === title);
}

/** A rendered heading of the analysis, which does not include sections shown in other places. A line above a rule is rendered as a heading too. */
function headingAt(index: number, label: string): Element | undefined {
  const analysis = sectionTitle("Analysis")?.closest("section");
  const headings = [...(analysis?.querySelectorAll(".prose :is(h1, h2, h3, h4, h5, h6)") ?? [])].slice(index);
  return headings.find((heading) => heading.textContent === label) ?? headings[0];
}
