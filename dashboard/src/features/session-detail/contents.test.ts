import { render, screen } from "@testing-library/react";
import { createElement } from "react";
import { expect, test, vi } from "vitest";
import { headingsOf } from "@/components/markdown-blocks";
import type { StageView } from "@/wire/types";
import { Contents, contentsOf } from "./contents";

test("the headings of an analysis are those of its text, not those of code in it", () => {
  expect(headingsOf("# **Why**\ntext\n```sh\n# a comment\n```\n## What `it` did ##\n#none")).toEqual(["Why", "What it did"]);
});

test("the contents are what is on the page, with the headings of the analysis and the stages of the timeline", () => {
  const stages = [{ id: "s1", stage_name: "triage" }] as StageView[];
  expect(contentsOf(["Verdict", "Analysis", "Timeline"], "## Why", stages).map(({ label, level }) => [label, level])).toEqual([
    ["Verdict", 1],
    ["Analysis", 1],
    ["Why", 2],
    ["Timeline", 1],
    ["triage", 2],
  ]);
});

test("a heading is found behind a line that a rule below it has made one", () => {
  const main = document.createElement("main");
  main.innerHTML = '<section><h2>Analysis</h2><div class="prose"><h2>It is the disk.</h2><h2>Why</h2></div></section>';
  document.body.append(main);
  vi.spyOn(main.querySelectorAll(".prose h2")[1] as Element, "getBoundingClientRect").mockReturnValue({ top: 1_000 } as DOMRect);
  const scrolled = vi.spyOn(window, "scrollTo").mockReturnValue();
  render(createElement(Contents, { contents: contentsOf(["Analysis"], "It is the disk.\n---\n## Why", []), onStage: () => undefined }));
  screen.getByRole("button", { name: "Why" }).click();
  expect(scrolled.mock.lastCall?.[0]).toMatchObject({ top: 1_000 - 64 - 8 });
});
