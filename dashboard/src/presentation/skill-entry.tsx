/** A skill that an agent loaded: the operator's own words, shown as what they are. */
import Box from "@mui/material/Box";
import { BookOpen } from "lucide-react";
import type { Face } from "@/components/badge";
import { Markdown } from "@/components/markdown";
import { EntryFrame, useFolding } from "./entry-frame";
import { TIMELINE_FACES } from "./statuses";
import type { ToolRow } from "./timeline-rows";
import { text } from "./timeline-rows";

const LOADED: Face = { label: "Skill", tone: "good", icon: BookOpen };

export function isSkillRow(row: ToolRow): boolean {
  const first = row.call ?? row.result;
  return first?.metadata["server_name"] === "tarsy" && first.metadata["tool_name"] === "load_skill";
}

/** "kubernetes-dns", or "kubernetes-dns, file notes.md". */
export function skillName(argumentsText: string): string {
  try {
    const read: unknown = JSON.parse(argumentsText);
    if (typeof read !== "object" || read === null) return argumentsText;
    const { name, file } = read as Record<string, unknown>;
    return [text(name) ?? argumentsText, ...(text(file) ? [`file ${String(file)}`] : [])].join(", ");
  } catch {
    return argumentsText;
  }
}

interface SkillEntryProps {
  row: ToolRow;
  highlighted: boolean;
  onLink: ((eventId: string) => void) | undefined;
}

export function SkillEntry({ row, highlighted, onLink }: SkillEntryProps) {
  const folding = useFolding(highlighted);
  const first = row.call ?? row.result;
  if (!first) return null;
  const failed = row.result && row.result.status !== "completed" && row.result.status !== "streaming";
  const loaded = text(row.result?.content)?.split("\n", 1)[0]?.replace(/^\[Skill |\]$/g, "");
  return (
    <EntryFrame
      face={failed ? TIMELINE_FACES[row.result?.status ?? "failed"] : LOADED}
      title={`Skill ${row.call ? skillName(row.call.content) : (loaded ?? "")}`}
      note={failed ? "not loaded" : "loaded"}
      at={first.created_at}
      onLink={onLink && (() => onLink(first.id))}
      highlighted={highlighted}
      folding={folding}
    >
      <Box sx={{ borderLeft: 2, borderColor: "divider", pl: 1.5, mt: 0.5 }}>
        <Markdown text={row.result?.content ?? ""} />
      </Box>
    </EntryFrame>
  );
}
