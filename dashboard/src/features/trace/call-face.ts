/** What the bars of a trace mean: every colour has a name, in the legend and for those who cannot see it. */
import { Brain, CircleX, Wrench } from "lucide-react";
import type { Face } from "@/components/badge";
import type { Call } from "./waterfall";

const FACES = {
  llm: { label: "Model", tone: "running", icon: Brain },
  mcp: { label: "Tool", tone: "good", icon: Wrench },
} satisfies Record<Call["kind"], Face>;
const FAILED: Face = { label: "Failed", tone: "bad", icon: CircleX };

export function faceOf(call: Pick<Call, "kind" | "failed">): Face {
  return call.failed ? FAILED : FACES[call.kind];
}

/** The bars, in the order of the legend; `name` is that of a class. */
export const BARS = [
  { name: "bar-model", label: "Model", color: "info.main", has: (call: Call) => !call.failed && call.kind === "llm" },
  { name: "bar-tool", label: "Tool", color: "success.main", has: (call: Call) => !call.failed && call.kind === "mcp" },
  { name: "bar-failed", label: "Failed", color: "error.main", has: (call: Call) => call.failed },
] as const;

export type BarName = (typeof BARS)[number]["name"];

export function barClass(call: Call): BarName | "" {
  return BARS.find((bar) => bar.has(call))?.name ?? "";
}
