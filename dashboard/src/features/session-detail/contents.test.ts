import { expect, test } from "vitest";
import { headingsOf } from "@/components/markdown-blocks";
import type { StageView } from "@/wire/types";
import { contentsOf } from "./contents";

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
