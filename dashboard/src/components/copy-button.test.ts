import { expect, test, vi } from "vitest";
import { copyText } from "./copy-button";

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
