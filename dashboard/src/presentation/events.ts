/** Every kind of timeline event has a face, or this does not compile. */
import { Binary, Brain, CircleHelp, FileText, Globe, Lightbulb, ListTree, MessageSquareText, Microscope, Repeat2, Search, TriangleAlert, Wrench, CircleX } from "lucide-react";
import type { Face } from "@/components/badge";
import type { TimelineEventType } from "@/wire/types";

export const EVENT_FACES = {
  llm_thinking: { label: "Thinking", tone: "neutral", icon: Brain },
  llm_response: { label: "Response", tone: "neutral", icon: MessageSquareText },
  llm_tool_call: { label: "Tool call", tone: "neutral", icon: Wrench },
  tool_result: { label: "Tool result", tone: "neutral", icon: Wrench },
  mcp_tool_summary: { label: "Summary of a tool result", tone: "neutral", icon: ListTree },
  final_analysis: { label: "Analysis", tone: "good", icon: Microscope },
  executive_summary: { label: "Executive summary", tone: "good", icon: FileText },
  error: { label: "Error", tone: "bad", icon: CircleX },
  warning: { label: "Warning", tone: "warning", icon: TriangleAlert },
  user_question: { label: "Question", tone: "running", icon: CircleHelp },
  code_execution: { label: "Code execution", tone: "neutral", icon: Binary },
  google_search_result: { label: "Web search", tone: "neutral", icon: Search },
  url_context_result: { label: "Web page", tone: "neutral", icon: Globe },
  provider_fallback: { label: "Switched to another model", tone: "warning", icon: Repeat2 },
  note: { label: "Note", tone: "running", icon: Lightbulb },
} satisfies Record<TimelineEventType, Face>;
