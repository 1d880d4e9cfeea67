import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { clearDrafts, useTextDraft } from "./draft";
import { ViewsMenu } from "./view-menu";

const refuse = () => {
  throw new DOMException("Access is denied for this document.", "SecurityError");
};

// As where the browser blocks cookies and storage: already reading the property fails.
beforeEach(() => {
  vi.spyOn(window, "localStorage", "get").mockImplementation(refuse);
  vi.spyOn(window, "sessionStorage", "get").mockImplementation(refuse);
});

// Before the storage is emptied for the next test.
afterEach(() => vi.restoreAllMocks());

function Field() {
  const [text, setText] = useTextDraft("note");
  return <input aria-label="Note" value={text} onChange={(event) => setText(event.target.value)} />;
}

test("text is written, views are opened and the user logs out where the browser has no storage", async () => {
  render(
    <>
      <Field />
      <ViewsMenu list="sessions" search={{ text: "dns" }} read={({ text }) => ({ text: String(text) })} onChange={() => undefined} />
    </>,
  );
  await userEvent.type(screen.getByLabelText("Note"), "Look at web-3");
  expect(screen.getByLabelText<HTMLInputElement>("Note").value).toBe("Look at web-3");
  await userEvent.click(screen.getByRole("button", { name: "Views" }));
  await userEvent.type(await screen.findByLabelText("Name this view"), "About DNS{Enter}");
  await screen.findByRole("button", { name: "About DNS" });
  expect(clearDrafts).not.toThrow();
});
