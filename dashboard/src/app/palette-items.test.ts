import { expect, test } from "vitest";
import { paletteItems } from "./palette-items";

const UNJUDGED = { analysis_is_partial: false, waiting_for_model: false };
const labels = (typed: string) => paletteItems(typed, undefined, [], []).map(({ label }) => label);

test("pages and actions are found by any of their words", () => {
  expect(labels("cost")).toEqual(["Usage", "Search all sessions for “cost”"]);
  expect(labels("THEME")[0]).toBe("Switch between light and dark");
  expect(labels("")).toContain("New alert");
});

test("an id leads straight to its session", () => {
  const id = "01234567-89ab-cdef-0123-456789abcdef";
  expect(paletteItems(` ${id} `, undefined, [], [])[0]?.target).toEqual({ kind: "session", id });
});

test("what the server found is offered with its kind", () => {
  const found = paletteItems("dns", undefined, [{ id: "s", title: "DNS fails", alert_type: "net", status: "completed", verdict: null, created_at: "2026-03-10T09:00:00Z", ...UNJUDGED }], [{ id: "i", title: "DNS", source: "alertmanager", last_session_status: null, verdict_outcome: null, verdict_confidence: null, opened_at: "2026-03-10T09:00:00Z", ...UNJUDGED }]);
  expect(found.map(({ group, label }) => `${group}: ${label}`)).toEqual(["Sessions: DNS fails", "Incidents: DNS", "Sessions: Search all sessions for “dns”"]);
});

test("on the page of a session its trace, a comparison and a second try are at hand", () => {
  const here = (typed: string) => paletteItems(typed, "s1", [], []).filter(({ group }) => group === "This session");
  expect(here("").map(({ label }) => label)).toEqual(["Trace", "Compare with another session", "Submit its alert again"]);
  expect(here("retry").map(({ target }) => target)).toEqual([{ kind: "again", id: "s1" }]);
  expect(paletteItems("", "s1", [], [])[0]?.target).toEqual({ kind: "of-session", to: "/sessions/$sessionId/trace", id: "s1" });
  expect(labels("retry")).toEqual(["Search all sessions for “retry”"]);
});
