import { describe, expect, test } from "vitest";
import examples from "./citation-examples.json";
import { actionLabels, findCitations, DO_NOW, isEvidenceId, extractSection } from "./citations";

describe("citations are read as the server reads them", () => {
  // The server's tests read the same examples.
  test.each(examples)("$text", ({ text, cited }) => {
    const read = findCitations(text).flatMap(({ entries }) => entries.map(({ evidenceId, quotation }) => [evidenceId, quotation]));
    expect(read).toEqual(cited);
  });

  test("a bracket is known by its place", () => {
    const text = '😀 it fails [A1: "[x]", B2], often';
    const [place] = findCitations(text);
    expect(text.slice(place?.start, place?.end)).toBe('[A1: "[x]", B2]');
  });

  test("no text makes reading slow", () => {
    expect(findCitations('[A1: "'.repeat(20_000))).toEqual([]);
    expect(findCitations("[A1] ".repeat(20_000))).toHaveLength(500);
  });

  test("what is no id is none", () => {
    expect(["A7", "Q2.1", "A4.1.2", "ALERT", "RUNBOOK", "NOTE3"].every(isEvidenceId)).toBe(true);
    expect(["a7", "A", "AAA1", "A7 ", "A1.2.3.4", "<b>"].some(isEvidenceId)).toBe(false);
  });
});

const TEXT = "It fails.\n\n## Do now\n\n```\n## not a heading\n```\n\n### First\n\nRisk: low.\n\n## Why\n\nBecause.";

test("a section is taken out whole, with what is below it and the code in it", () => {
  expect(extractSection(TEXT, DO_NOW)).toEqual({ section: "```\n## not a heading\n```\n\n### First\n\nRisk: low.", rest: "It fails.\n\n## Why\n\nBecause." });
  expect(extractSection("# **Do now:**\nrestart it", DO_NOW)).toEqual({ section: "restart it", rest: "" });
});

test("a text without the section stays as it is", () => {
  const text = "What to do now is not known.\n\n```\n## Do now\n```";
  expect(extractSection(text, DO_NOW)).toEqual({ section: null, rest: text });
});

test("risk, check and way back are found where an action states them, not in code and quotations", () => {
  const text = 'Do it. Risk: low. **Verify:** it runs. Undo: back.\n`Risk: x` [A1: "at Risk: high"]\n```\nUndo: y\n```';
  expect(actionLabels(text).map(({ start, end }) => text.slice(start, end))).toEqual(["Risk:", "Verify:", "Undo:"]);
});
