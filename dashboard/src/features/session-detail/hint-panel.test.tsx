import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { api } from "@/api/client";
import { sessionKeys } from "@/api/sessions";
import { me } from "@/api/system";
import type { AccessRole, Note, Operation, SessionDetail } from "@/wire/types";
import { HintPanel } from "./hint-panel";

const HINT: Note = { id: "NOTE1", session_id: "s1", kind: "hint", author: "ada", text: "Look at web-3", created_at: "2026-03-10T09:00:00Z", state: "waiting", told: [] };

function show(session: Partial<SessionDetail>, notes: Note[] = [], denied: Partial<Record<Operation, AccessRole>> = {}) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity, retry: false } } });
  client.setQueryData(sessionKeys.notes("s1"), { notes });
  client.setQueryData(me.queryKey, { author: "ada", login_required: true, identified_by: "oidc", role: "viewer", denied, single_sign_on: null });
  vi.spyOn(api, "GET").mockResolvedValue({ data: { notes } as never, response: new Response() });
  const panel = (shown: Partial<SessionDetail>) => (
    <QueryClientProvider client={client}>
      <HintPanel session={{ id: "s1", status: "in_progress", recorded: false, chat_enabled: true, ...shown } as SessionDetail} />
    </QueryClientProvider>
  );
  const { container, rerender } = render(panel(session));
  return { container, change: (changed: Partial<SessionDetail>) => rerender(panel(changed)) };
}

test("a role that may not give hints sees why the button is disabled", async () => {
  show({}, [], { giveHint: "responder" });
  await userEvent.type(screen.getByLabelText("Tell the agents something"), "Look");
  const button = screen.getByRole<HTMLButtonElement>("button", { name: "Hint" });
  expect(button.disabled).toBe(true);
  expect(screen.getByLabelText("This needs the role responder.").contains(button)).toBe(true);
  cleanup();
});

test("a hint is sent to a running session, and the field is empty again", async () => {
  show({});
  const sent = vi.spyOn(api, "POST").mockResolvedValue({ data: HINT, response: new Response() });
  const field = screen.getByLabelText("Tell the agents something");
  await userEvent.type(field, "  Look at web-3 {Enter}");
  expect(sent).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/hints", { params: { path: { session_id: "s1" } }, body: { text: "Look at web-3" } });
  expect((field as HTMLTextAreaElement).value).toBe("");
});

test("what is typed while a hint is being sent is kept", async () => {
  show({});
  let accept: () => void = () => undefined;
  vi.spyOn(api, "POST").mockReturnValue(new Promise((resolve) => (accept = () => resolve({ data: HINT, response: new Response() }))));
  const field = screen.getByLabelText<HTMLTextAreaElement>("Tell the agents something");
  await userEvent.type(field, "Look at web-3{Enter} and web-4");
  accept();
  await vi.waitFor(() => expect(screen.getByRole<HTMLButtonElement>("button", { name: "Hint" }).disabled).toBe(false));
  expect(field.value).toBe("Look at web-3 and web-4");
});

test("each note says what became of it", () => {
  show({}, [
    { ...HINT, state: "delivered", told: ["One", "Other"] },
    { ...HINT, id: "NOTE2", kind: "alerts", author: "alertmanager", text: "Joined the incident (1)" },
  ]);
  expect(screen.getByText("Told to One, Other")).toBeTruthy();
  expect(screen.getByText("Update about the alerts")).toBeTruthy();
  expect(screen.getByText("Read before the next model call")).toBeTruthy();
});

test("a hint that came too late is offered as a question", async () => {
  show({ status: "completed" }, [{ ...HINT, state: "too_late" }]);
  expect(screen.getByText("Came too late")).toBeTruthy();
  expect(screen.queryByLabelText("Tell the agents something")).toBeNull();
  const asked = vi.spyOn(api, "POST").mockResolvedValue({ data: {}, response: new Response() });
  await userEvent.click(screen.getByRole("button", { name: "Ask as a question" }));
  expect(asked).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/chat/messages", { params: { path: { session_id: "s1" } }, body: { content: "Look at web-3" } });
});

test("a hint that is being written when the session ends stays, and can be asked as a question", async () => {
  const { container, change } = show({});
  const sent = vi.spyOn(api, "POST").mockResolvedValue({ data: {}, response: new Response() });
  await userEvent.type(screen.getByLabelText("Tell the agents something"), "Look at web-3");
  change({ status: "completed" });
  expect(screen.getByLabelText<HTMLTextAreaElement>("Tell the agents something").value).toBe("Look at web-3");
  // Nothing is sent by a key that was pressed for the hint.
  await userEvent.keyboard("{Enter}");
  expect(sent).not.toHaveBeenCalled();
  await userEvent.click(screen.getByRole("button", { name: "Ask as a question" }));
  expect(sent).toHaveBeenCalledWith("/api/v1/sessions/{session_id}/chat/messages", { params: { path: { session_id: "s1" } }, body: { content: "Look at web-3" } });
  await vi.waitFor(() => expect(container.textContent).toBe(""));
});

test("what has ended without a note, or only plays a recording, shows nothing", () => {
  expect(show({ status: "completed" }).container.textContent).toBe("");
  cleanup();
  expect(show({ recorded: true }).container.textContent).toBe("");
});
