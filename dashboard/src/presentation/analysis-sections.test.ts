import { expect, test } from "vitest";
import { aspects, DO_NOW, takeSection } from "./analysis-sections";

const TEXT = "It fails.\n\n## Do now\n\n```\n## not a heading\n```\n\n### First\n\nRisk: low.\n\n## Why\n\nBecause.";

test("a section is taken out whole, with what is below it and the code in it", () => {
  expect(takeSection(TEXT, DO_NOW)).toEqual({ section: "```\n## not a heading\n```\n\n### First\n\nRisk: low.", rest: "It fails.\n\n## Why\n\nBecause." });
  expect(takeSection("# **Do now:**\nrestart it", DO_NOW)).toEqual({ section: "restart it", rest: "" });
});

test("a text without the section stays as it is", () => {
  const text = "What to do now is not known.\n\n```\n## Do now\n```";
  expect(takeSection(text, DO_NOW)).toEqual({ section: null, rest: text });
});

test("risk, check and way back are found where an action tells them, not in code and quotations", () => {
  const text = 'Do it. Risk: low. **Verify:** it runs. Undo: back.\n`Risk: x` [A1: "at Risk: high"]\n```\nUndo: y\n```';
  expect(aspects(text).map(({ start, end }) => text.slice(start, end))).toEqual(["Risk:", "Verify:", "Undo:"]);
});
