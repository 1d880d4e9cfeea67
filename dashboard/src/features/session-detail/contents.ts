/** Pure module: what a session's page holds, for its table of contents. */
import type { StageView } from "@/wire/types";

export type Content = { key: string; label: string; level: 1 | 2 } & ({ kind: "section"; title: string } | { kind: "heading"; place: number } | { kind: "stage"; stageId: string });

/** What is there, in the order of the page. */
export function contentsOf(sections: readonly string[], analysis: string | null, stages: readonly StageView[]): Content[] {
  return sections.flatMap((title): Content[] => [
    { key: title, label: title, level: 1, kind: "section", title },
    ...(title === "Analysis" && analysis !== null ? headingsOf(analysis).map((label, place): Content => ({ key: `heading-${place}`, label, level: 2, kind: "heading", place })) : []),
    ...(title === "Timeline" ? stages.map((stage): Content => ({ key: stage.id, label: stage.stage_name, level: 2, kind: "stage", stageId: stage.id })) : []),
  ]);
}

/** The headings of a Markdown text, without those that only look so inside of code. */
export function headingsOf(text: string): string[] {
  const headings: string[] = [];
  let fence: string | null = null;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark !== undefined) fence = fence === null ? mark : line.trim().startsWith(fence) ? null : fence;
    const heading = fence === null ? /^ {0,3}#{1,6}\s+(.+?)\s*#*$/.exec(line)?.[1] : undefined;
    if (heading !== undefined) headings.push(heading.replace(/[*_`]/g, ""));
  }
  return headings;
}
