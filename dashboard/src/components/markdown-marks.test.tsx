import { cleanup, render } from "@testing-library/react";
import { describe, expect, test } from "vitest";
import type { Marks } from "./markdown-marks";
import { MarkdownRenderer } from "./rich-text";

const MARKS: Marks = {
  spansOf: (text) => [...text.matchAll(/\[[A-Z]\d+(?:: "[^"]*")?\]/g)].map((found) => ({ start: found.index, end: found.index + found[0].length })),
  Mark: ({ text }) => <b data-mark={text} />,
};

function marksIn(text: string): { marks: (string | undefined)[]; root: HTMLElement } {
  const { container } = render(<MarkdownRenderer text={text} marks={MARKS} />);
  return { marks: [...container.querySelectorAll<HTMLElement>("[data-mark]")].map((mark) => mark.dataset["mark"]), root: container };
}

describe("what is marked in a Markdown text", () => {
  test("is not read as Markdown", () => {
    expect(marksIn('It fails [A1: "**x** | <b> `y` _z_"].').marks).toEqual(['[A1: "**x** | <b> `y` _z_"]']);
    cleanup();
    expect(marksIn('| a | b |\n|---|---|\n| [A1: "x | y"] | z |').root.querySelectorAll("td")).toHaveLength(2);
  });

  test("leaves the Markdown around it as it was", () => {
    const { marks, root } = marksIn("**Bold.**[A1] and **[A2]** in a list:\n\n- [A3]");
    expect(marks).toEqual(["[A1]", "[A2]", "[A3]"]);
    expect(root.querySelector("strong")?.textContent).toBe("Bold.");
    expect(root.querySelectorAll("li [data-mark]")).toHaveLength(1);
  });

  test("stays what was written inside of code and links", () => {
    const { marks, root } = marksIn("```\necho [A1]\n```\n\n[see](https://x.example/[A2]) https://y.example/[A3]");
    expect(marks).toEqual([]);
    expect(root.querySelector("pre")?.textContent).toContain("echo [A1]");
    expect([...root.querySelectorAll("a")].map((link) => link.getAttribute("href"))).toEqual(["https://x.example/[A2]", "https://y.example/[A3]"]);
  });

  test("cannot be forged by a text that brings placeholders of its own", () => {
    const { marks, root } = marksIn("\u20450\u2046 is not [A1]");
    expect(marks).toEqual(["[A1]"]);
    expect(root.textContent).toContain("[0] is not");
  });
});
