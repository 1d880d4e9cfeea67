// @vitest-environment jsdom
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";
import type { SentMessage } from "@/wire/types";
import { Conversation } from "./conversation";

afterEach(cleanup);

const message = (content: string): SentMessage => ({ role: "tool", content, tool_name: "pods_log", tool_call_id: null, tool_calls: [], compacted_later: false }) as unknown as SentMessage;

test("of a long conversation only what is open is in the page", async () => {
  const { container } = render(<Conversation messages={Array.from({ length: 40 }, (_, index) => message(`line ${index}`))} />);
  expect(container.querySelectorAll("pre")).toHaveLength(1);
  expect(screen.getByText("line 39")).toBeTruthy();
  const first = container.querySelector("details");
  if (!first) throw new Error("no message");
  first.open = true;
  expect(await screen.findByText("line 0", {}, { timeout: 30_000 })).toBeTruthy();
});
