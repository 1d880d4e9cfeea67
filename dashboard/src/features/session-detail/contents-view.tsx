/** The table of contents beside a session, where the screen is wide enough for it. */
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import { ONE_LINE } from "@/components/text-styles";
import type { Content } from "./contents";

interface ContentsProps {
  contents: readonly Content[];
  onStage: (stageId: string) => void;
}

// The session's header stays on top of what is scrolled to.
const HEADER_PX = 64;

export function Contents({ contents, onStage }: ContentsProps) {
  const go = (content: Content) => {
    if (content.kind === "stage") onStage(content.stageId);
    else scrollTo(content.kind === "section" ? sectionTitle(content.title) : headingAt(content.place));
  };
  return (
    <Box component="nav" aria-label="On this page" sx={{ position: "sticky", top: HEADER_PX + 8, maxHeight: `calc(100vh - ${HEADER_PX + 24}px)`, overflowY: "auto", fontSize: "0.8rem" }}>
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

function scrollTo(element: Element | undefined): void {
  if (element) window.scrollTo({ top: element.getBoundingClientRect().top + window.scrollY - HEADER_PX - 8 });
}

function sectionTitle(title: string): Element | undefined {
  return [...document.querySelectorAll("main section h2")].find((heading) => heading.textContent === title);
}

/** Headings as they were drawn: a part that is shown elsewhere on the page is not among them. */
function headingAt(place: number): Element | undefined {
  const analysis = sectionTitle("Analysis")?.closest("section");
  return [...(analysis?.querySelectorAll(".prose :is(h1, h2, h3, h4, h5, h6)") ?? [])][place];
}
