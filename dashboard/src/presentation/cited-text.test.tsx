import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { describe, expect, test, vi } from "vitest";
import { answerCitations } from "@/api/evidence";
import type { Citation, TimelineEvent } from "@/wire/types";
import { AgentText } from "./cited-text";
import type { EvidenceLinks } from "./evidence";
import { EvidenceLinksContext } from "./evidence";

const TEXT = 'It fails [A1: "no space left on device"] and [A2: "made up by a model"], see [A3].';

function event(change: Partial<TimelineEvent>): TimelineEvent {
  return {
    id: "e1",
    stage_id: "s1",
    execution_id: "x1",
    sequence_number: 1,
    event_type: "final_analysis",
    evidence_id: null,
    status: "completed",
    content: TEXT,
    metadata: { citations: { cited: 3 } },
    created_at: "2026-01-01T10:00:00Z",
    completed_at: "2026-01-01T10:00:01Z",
    ...change,
  };
}

function checked(evidence_id: string, quotation: string | null, status: Citation["status"]): Citation {
  return { execution_id: "x1", start: 0, end: 0, evidence_id, quotation, status, reason: "", nearest: "", found_start: null, found_end: null };
}

function show(shown: TimelineEvent, evidenceLinks: EvidenceLinks | null) {
  const client = new QueryClient();
  const citations = [checked("A1", "no space left on device", "quote_found"), checked("A2", "made up by a model", "failed"), checked("A3", null, "id_only")];
  client.setQueryData(answerCitations("session", "x1").queryKey, { citations, remarks: [] });
  render(
    <QueryClientProvider client={client}>
      <EvidenceLinksContext value={evidenceLinks}>
        <AgentText event={shown} />
      </EvidenceLinksContext>
    </QueryClientProvider>,
  );
}

const open = vi.fn();
const LINKS: EvidenceLinks = { sessionId: "session", hrefOf: ({ evidence }) => `?evidence=${evidence}`, open };

function links(): Promise<HTMLElement[]> {
  return screen.findAllByRole("link");
}

async function states(): Promise<(string | undefined)[]> {
  await links();
  return screen.getAllByRole("link").map((link) => link.dataset["state"]);
}

describe("the citations of an agent's text", () => {
  test("are not checked while the text is being written", async () => {
    show(event({ event_type: "llm_response", status: "streaming", metadata: {} }), LINKS);
    expect(await states()).toEqual(["unchecked", "unchecked", "unchecked"]);
  });

  test("say what checking found once the answer is complete", async () => {
    show(event({}), LINKS);
    expect(await states()).toEqual(["quote_found", "failed", "id_only"]);
    expect(screen.getByRole("link", { name: "no space left on device A1 (verified)" }).getAttribute("href")).toBe("?evidence=A1");
    expect(screen.getByRole("link", { name: "A3 (by id only)" })).toBeTruthy();
  });

  test("lead to the quoted words, here or in another tab", async () => {
    show(event({}), LINKS);
    const [first] = await links();
    first?.click();
    expect(open).toHaveBeenCalledWith({ evidence: "A1", quote: "no space left on device" });
    expect(first?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true }))).toBe(true);
  });

  test("are text like any other in sessions from before results had ids", async () => {
    show(event({ metadata: {} }), null);
    expect(await screen.findByText(TEXT)).toBeTruthy();
    expect(screen.queryByRole("link")).toBeNull();
  });
});
