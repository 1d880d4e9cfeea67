import { render, screen } from "@testing-library/react";
import { describe, expect, test, vi } from "vitest";
import { Markdown } from "./markdown";
import { markdownBlocks } from "./markdown-blocks";
import { MarkdownRenderer } from "./rich-text";

describe("what a model writes cannot do harm", () => {
  test.each([
    ["a script", "before <script>alert(1)</script>"],
    ["an event handler", 'before <img src="x" onerror="alert(1)">'],
    ["an address that runs", "before [click](javascript:alert(1))"],
    ["a frame", 'before <iframe src="https://elsewhere.example"></iframe>'],
    ["a style", 'before <p style="position:fixed">x</p>'],
  ])("%s", (_, text) => {
    const { container } = render(<MarkdownRenderer text={text} />);
    expect(container.querySelector("p")?.textContent).toContain("before");
    expect(container.querySelector("script, iframe, img, [onerror], [style], [href^='javascript']")).toBeNull();
  });

  test("nesting without end is shown as it is", async () => {
    const quiet = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const text = `${">".repeat(6_000)} deep`;
    const { container } = render(<Markdown text={text} />);
    await vi.waitFor(() => expect(quiet).toHaveBeenCalled(), 30_000);
    expect(container.textContent).toBe(text);
  });

  test("a picture from another server is a link: loading it would tell that server who reads", () => {
    const { container } = render(<MarkdownRenderer text="before ![chart](https://elsewhere.example/pixel.png)" />);
    expect(container.querySelector("img")).toBeNull();
    expect(screen.getByRole("link", { name: "chart" }).getAttribute("href")).toBe("https://elsewhere.example/pixel.png");
  });
});

describe("what looks like a tag is read, not lost", () => {
  test.each([
    ["a word to fill in", "kubectl logs <pod-name> -n <namespace>", "kubectl logs <pod-name> -n <namespace>"],
    ["a block", "<details>\nThe disk is full.\n</details>\n\nAfter", "<details>\nThe disk is full.\n</details>\nAfter"],
    ["a line break", "one<br>two", "onetwo"],
  ])("%s", (_, text, shown) => {
    const { container } = render(<MarkdownRenderer text={text} />);
    expect(container.textContent).toBe(shown);
    expect(container.querySelectorAll("br")).toHaveLength(text.includes("<br>") ? 1 : 0);
  });
});

test("the renderer is loaded when there is something to render", async () => {
  render(<Markdown text="**strong**" />);
  expect((await screen.findByText("strong")).tagName).toBe("STRONG");
});

test("raw Markdown has its room but is not seen before its renderer is there", async () => {
  vi.resetModules();
  vi.doMock("./rich-text", () => new Promise(() => undefined));
  const { Markdown: Waiting } = await import("./markdown");
  render(<Waiting text="**strong**" />);
  expect(getComputedStyle(screen.getByText("**strong**")).visibility).toBe("hidden");
  vi.doUnmock("./rich-text");
  vi.resetModules();
});

test("tables and highlighted code are rendered", () => {
  const { container } = render(<MarkdownRenderer text={'| a | b |\n|---|---|\n| 1 | 2 |\n\n```json\n{"x": 1}\n```'} />);
  expect(screen.getByRole("table")).toBeTruthy();
  expect(container.querySelector("code .hljs-attr")?.textContent).toBe('"x"');
});

describe("growing text", () => {
  test("is split at blank lines, but not inside of code", () => {
    expect(markdownBlocks("one\n\ntwo\n\n```\na\n\nb\n```\n\nthree")).toEqual(["one\n\n", "two\n\n", "```\na\n\nb\n```\n\n", "three"]);
  });

  test("keeps its finished blocks while it grows", () => {
    const text = "# Title\n\nSome words\n\n- a\n- b\n\nThe end";
    for (let length = 1; length < text.length; length += 1) {
      const now = markdownBlocks(text.slice(0, length));
      expect(markdownBlocks(text.slice(0, length + 1)).slice(0, now.length - 1)).toEqual(now.slice(0, -1));
      expect(now.join("").trimEnd()).toBe(text.slice(0, length).trimEnd());
    }
  });
});
