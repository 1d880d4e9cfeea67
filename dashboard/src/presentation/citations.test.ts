import { describe, expect, test } from "vitest";
import examples from "./citation-examples.json";
import { citedPlaces, isEvidenceId } from "./citations";

describe("citations are read as the server reads them", () => {
  // The server's tests read the same examples.
  test.each(examples)("$text", ({ text, cited }) => {
    const read = citedPlaces(text).flatMap(({ entries }) => entries.map(({ evidenceId, quotation }) => [evidenceId, quotation]));
    expect(read).toEqual(cited);
  });

  test("a bracket is known by its place", () => {
    const text = '😀 it fails [A1: "[x]", B2], often';
    const [place] = citedPlaces(text);
    expect(text.slice(place?.start, place?.end)).toBe('[A1: "[x]", B2]');
  });

  test("no text makes reading slow", () => {
    expect(citedPlaces('[A1: "'.repeat(20_000))).toEqual([]);
    expect(citedPlaces("[A1] ".repeat(20_000))).toHaveLength(500);
  });

  test("what is no id is none", () => {
    expect(["A7", "Q2.1", "A4.1.2", "ALERT", "RUNBOOK", "NOTE3"].every(isEvidenceId)).toBe(true);
    expect(["a7", "A", "AAA1", "A7 ", "A1.2.3.4", "<b>"].some(isEvidenceId)).toBe(false);
  });
});
