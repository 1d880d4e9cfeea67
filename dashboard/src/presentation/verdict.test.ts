import { expect, test } from "vitest";
import type { CitationSums, Verdict } from "@/wire/types";
import { citationSummary, describeConfidence, outcomeBadge, utcTime, verdictObject } from "./verdict";

const verdict: Verdict = {
  outcome: "fault",
  object: { kind: "Pod", namespace: "shop", name: "cart-1" },
  mechanism: "The cart runs out of memory.",
  confidence_object: "high",
  confidence_mechanism: "medium",
  confidence: "medium",
  confidence_reason: "one link is inferred",
  since: "2026-01-01T10:00:00Z",
  still_happening: "unknown",
  evidence: ["A1", "A3"],
  ruled_out: [],
  category: "",
};
const sums: CitationSums = { cited: 15, verified: 14, id_only: 0, failed: 1, uncited: 0 };

test("an object is named with its kind and place, and only with what is known", () => {
  expect(verdictObject(verdict)).toBe("Pod shop/cart-1");
  expect(verdictObject({ object: { kind: "Node", namespace: "", name: "node-2" } })).toBe("Node node-2");
  expect(verdictObject({ object: null })).toBeNull();
});

test("the reason of a confidence is what lowered it, or what it means", () => {
  expect(describeConfidence({ ...verdict, confidence_mechanism: "high" })).toBe("Medium, although the agent claimed more: one link is inferred.");
  expect(describeConfidence({ ...verdict, confidence_reason: "" })).toBe("Object high (observed directly, alternatives excluded), mechanism medium (one link is inferred).");
  expect(describeConfidence({ ...verdict, confidence_object: "low", confidence_mechanism: "low", confidence_reason: "" })).toBe("Low: a correlation.");
});

test("a fault that was hardly observed is suspected, not found", () => {
  expect(outcomeBadge(verdict).label).toBe("Fault");
  expect(outcomeBadge({ ...verdict, confidence: "low" }).label).toBe("Suspected fault");
  expect(outcomeBadge({ outcome: "no_fault", confidence: "low" }).label).toBe("No fault");
});

test("a time is shown in UTC, and only what says its zone is a time", () => {
  expect(utcTime("2026-01-01T12:00:00+02:00")).toEqual({ at: "2026-01-01T10:00:00.000Z", text: "2026-01-01 10:00:00 UTC" });
  expect(utcTime("since the release of 10:00")).toBeNull();
  expect(utcTime("2026-13-41T10:00:00Z")).toBeNull();
});

test("what checking found is one honest sentence", () => {
  expect(citationSummary(sums)).toBe("14 quotations verified, 1 failed, 0 by id only.");
  expect(citationSummary({ cited: 3, verified: 1, id_only: 2, failed: 0, uncited: 1 })).toBe("1 quotation verified, 0 failed, 2 by id only; 1 statement without a source.");
  expect(citationSummary({ cited: 0, verified: 0, id_only: 0, failed: 0, uncited: 2 })).toContain("nothing could be verified: 2 statements");
});
