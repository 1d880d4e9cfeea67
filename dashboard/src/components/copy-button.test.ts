import Dialog from "@mui/material/Dialog";
import { fireEvent, render, screen } from "@testing-library/react";
import { createElement } from "react";
import { expect, test, vi } from "vitest";
import { CopyButton, copyText } from "./copy-button";

test("a page that came by plain http copies the old way, and the focus stays where it was", async () => {
  const button = document.createElement("button");
  document.body.append(button);
  button.focus();
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: undefined });
  Object.assign(document, {
    execCommand: () => {
      if (document.activeElement instanceof HTMLTextAreaElement) copied.push(document.activeElement.value);
      return true;
    },
  });
  expect(await copyText("# Analysis")).toBe(true);
  expect(copied).toEqual(["# Analysis"]);
  expect(document.activeElement).toBe(button);
  expect(document.querySelector("textarea")).toBeNull();
});

test("inside of a dialog, which keeps the focus, the old way works too", async () => {
  render(createElement(Dialog, { open: true }, createElement("button", { autoFocus: true }, "Copy")));
  vi.stubGlobal("navigator", { clipboard: undefined });
  const copied: (string | undefined)[] = [];
  Object.assign(document, { execCommand: () => copied.push(document.activeElement instanceof HTMLTextAreaElement ? document.activeElement.value : undefined) > 0 });
  screen.getByRole("button").focus();
  await copyText("a token");
  expect(copied).toEqual(["a token"]);
});

test("a text that is loaded first is copied, and a text that could not be loaded is reported", async () => {
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: { writeText: (text: string) => Promise.resolve(copied.push(text)) } });
  const loads = [() => Promise.resolve("curl"), () => Promise.reject(new Error("503"))];
  render(createElement(CopyButton, { text: () => loads.shift()?.() ?? "", label: "Copy as curl" }));
  fireEvent.click(screen.getByRole("button", { name: "Copy as curl" }));
  await screen.findByRole("button", { name: "Copied" });
  fireEvent.click(screen.getByRole("button"));
  await screen.findByRole("button", { name: "Not copied" });
  expect(copied).toEqual(["curl"]);
});
