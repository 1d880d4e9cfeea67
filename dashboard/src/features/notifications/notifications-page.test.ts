import { expect, test } from "vitest";
import { countsOf } from "./notifications-page";

const TARGET = { name: "on-call", service: "slack", pending: 0, delivered: 0, dead_letter: 0, expired: 0, last_delivered_at: null, last_error: null };

test("a target shows what became of its notifications, and only that", () => {
  expect(countsOf({ ...TARGET, delivered: 1200, dead_letter: 1, pending: 2 })).toBe("1,200 delivered, 2 pending, 1 dead letter");
  expect(countsOf({ ...TARGET, dead_letter: 3, expired: 1 })).toBe("3 dead letters, 1 expired");
  expect(countsOf(TARGET)).toBe("nothing sent yet");
});
