import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { describe, expect, test, vi } from "vitest";
import type { TimelineEvent, TimelineEventType } from "@/wire/types";
import { Entry, EVENT_BADGES } from "./entries";
import { ForkActionsContext } from "./forks";
import { entryRows } from "./timeline-rows";
import { formatArguments, formatSelection } from "./tool-lines";

const event = (more: Partial<TimelineEvent>): TimelineEvent => ({
  id: "e",
  stage_id: null,
  execution_id: null,
  sequence_number: 1,
  event_type: "llm_thinking",
  status: "completed",
  content: "",
  metadata: {},
  evidence_id: null,
  created_at: "2026-01-01T00:00:00Z",
  completed_at: "2026-01-01T00:00:02Z",
  ...more,
});
const Queries = ({ children }: { children: ReactNode }) => <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>;
const show = (...events: TimelineEvent[]) => {
  const row = entryRows(events)[0];
  if (!row) throw new Error("no row");
  return render(<Entry row={row} />, { wrapper: Queries });
};

describe("thinking", () => {
  test("is folded to its first line when it is done", async () => {
    const { container } = show(event({ content: "**deep** thoughts\nand more" }));
    expect(container.textContent).toContain("deep thoughts and more");
    await userEvent.click(screen.getByRole("button", { name: /Thinking/ }));
    expect(container.textContent).toContain("**deep** thoughts\nand more");
    expect(container.textContent).not.toContain("thoughts and");
  });

  test("is open while it streams", () => {
    show(event({ content: "deep thou", status: "streaming", completed_at: null }));
    expect(screen.getByText("deep thou")).toBeTruthy();
  });
});

test("a draft that was corrected is folded, and called one", () => {
  show(event({ event_type: "llm_response", content: "It was the moon.", metadata: { draft: true } }));
  expect(screen.getByRole("button", { name: "Draft that was corrected", expanded: false })).toBeTruthy();
  expect(screen.queryByText("It was the moon.")).toBeNull();
});

test("an entry leads to the fork of its agent's step, where there is one", async () => {
  const open = vi.fn();
  const [row] = entryRows([event({ execution_id: "x", content: "hm" })]);
  const [other] = entryRows([event({ id: "o", execution_id: "answer", content: "hm" })]);
  if (!row || !other) throw new Error("no row");
  render(
    <ForkActionsContext value={{ refusal: (id) => (id === "x" ? null : "Ask again instead."), open }}>
      <Entry row={row} />
      <Entry row={other} />
    </ForkActionsContext>,
  );
  const [fork, refused] = screen.getAllByRole("button", { name: "Fork from here" });
  if (!fork || !refused) throw new Error("no buttons");
  await userEvent.click(fork);
  expect(open).toHaveBeenCalledWith({ executionId: "x", at: "2026-01-01T00:00:00Z" });

  // Where it cannot be done, the button says why.
  await userEvent.click(refused);
  expect(open).toHaveBeenCalledTimes(1);
  expect(refused.getAttribute("aria-disabled")).toBe("true");
  // The first button's words may still be there on a busy machine.
  await screen.findByRole("tooltip", { name: "Ask again instead." });
});

test("a failed tool call says so, and shows arguments and result when opened", async () => {
  const metadata = { call_id: "1", tool_name: "pods_get", server_name: "cluster", duration_ms: 407 };
  show(
    event({ id: "c", event_type: "llm_tool_call", content: '{"name": "cart"}', metadata }),
    event({ id: "r", event_type: "tool_result", content: "not found", status: "failed", metadata }),
  );
  const head = screen.getByRole("button", { expanded: false });
  expect(head.textContent).toBe("cluster.pods_get name=cartfailed · 407 ms · 1 line");
  await userEvent.click(head);
  expect(screen.getByRole("region", { name: "Arguments" }).textContent).toContain('"cart"');
  expect(screen.getByRole("region", { name: "Result" }).textContent).toContain("not found");
});

test("a link to an entry can be asked for", async () => {
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: (text: string) => Promise.resolve(copied.push(text)) } });
  const onLink = vi.fn(() => "http://tarsy/sessions/s?event=e");
  render(<Entry row={{ kind: "event", key: "e", event: event({ event_type: "error", content: "boom" }) }} onLink={onLink} />);
  await userEvent.click(screen.getByRole("button", { name: "Copy a link to this entry" }));
  expect(onLink).toHaveBeenCalledWith("e");
  await screen.findByRole("button", { name: "Copied" });
  expect(copied).toEqual(["http://tarsy/sessions/s?event=e"]);
});

test("arguments stand on one line", () => {
  expect(formatArguments('{"namespace": "shop", "tail": 20, "labels": ["a"]}')).toBe('namespace=shop tail=20 labels=["a"]');
  expect(formatArguments("not\n json")).toBe("not json");
  expect(formatArguments('{"name": "LogAgent", "task": "What do its pods')).toBe("name=LogAgent task=What do its pods…");
  expect(formatArguments('{"labels": ["a", "b')).toBe('labels=["a","b"]…');
  expect(formatArguments('{"namespace": "shop", "ta')).toBe("namespace=shop…");
});

test("a choice of tools is one line", () => {
  expect(formatSelection({ servers: [{ name: "cluster", tools: ["pods_list", "pods_log"] }, { name: "loki", tools: null }], native_tools: null })).toBe("cluster (pods_list, pods_log), loki");
});

describe("every kind of event", () => {
  test.each(Object.entries(EVENT_BADGES).filter(([kind]) => kind !== "llm_tool_call" && kind !== "tool_result"))("%s says what it is", (kind, badge) => {
    show(event({ event_type: kind as TimelineEventType, content: "what happened" }));
    expect(screen.getByText(new RegExp(`^${badge.label}`))).toBeTruthy();
  });

  test("a conclusion that was forced says so", () => {
    show(event({ event_type: "final_analysis", content: "what was found", metadata: { forced_conclusion: true } }));
    expect(screen.getByText("concluded at the iteration limit")).toBeTruthy();
  });

  test("code that the model ran is shown with what came of it", async () => {
    show(event({ event_type: "code_execution", content: "0.95", metadata: { code: "print(95 / 100)" } }));
    await userEvent.click(screen.getByRole("button", { expanded: false }));
    expect(screen.getByRole("region", { name: "Code" }).textContent).toContain("print(95 / 100)");
    expect(screen.getByRole("region", { name: "Code execution" }).textContent).toContain("0.95");
  });

  test("a result that was too long shows the summary that the model was given, and the whole", async () => {
    const metadata = { call_id: "1", tool_name: "pods_log", server_name: "cluster" };
    show(
      event({ id: "c", event_type: "llm_tool_call", content: "{}", metadata }),
      event({ id: "r", event_type: "tool_result", content: "a very long log", metadata }),
      event({ id: "s", event_type: "mcp_tool_summary", content: "out of memory", metadata }),
    );
    await userEvent.click(screen.getByRole("button", { expanded: false }));
    expect(screen.getByText("Summary given to the model")).toBeTruthy();
    expect(screen.getByRole("region", { name: "Full result" }).textContent).toContain("a very long log");
  });
});

test("a skill that was loaded is an entry of its own, with its text when opened", async () => {
  const metadata = { call_id: "1", tool_name: "load_skill", server_name: "tarsy" };
  show(
    event({ id: "c", event_type: "llm_tool_call", content: '{"name": "kubernetes-dns"}', metadata }),
    event({ id: "r", event_type: "tool_result", content: "[Skill kubernetes-dns, from the shipped skills]\n\nLook at CoreDNS.", metadata }),
  );
  await userEvent.click(screen.getByRole("button", { name: /Skill kubernetes-dns/ }));
  expect(await screen.findByText(/Look at CoreDNS/)).toBeTruthy();
});

test("a skill that is still being loaded does not claim to be there", () => {
  show(event({ id: "c", event_type: "llm_tool_call", content: '{"name": "kubernetes-dns"}', metadata: { call_id: "1", tool_name: "load_skill", server_name: "tarsy" } }));
  screen.getByText("loading");
});
