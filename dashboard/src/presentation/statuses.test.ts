import { expect, test } from "vitest";
import { sessionReason } from "./statuses";

test("who stopped a session is shown, unless its message names them already", () => {
  expect(sessionReason({ status: "cancelled", error_message: "cancelled", cancelled_by: "ada" })).toBe("Cancelled by ada.");
  expect(sessionReason({ status: "cancelled", error_message: "Cancelled by ada.", cancelled_by: "ada" })).toBe("Cancelled by ada.");
  expect(sessionReason({ status: "cancelling", error_message: null, cancelled_by: "ada" })).toBe("ada asked it to stop.");
  expect(sessionReason({ status: "cancelled", error_message: "The alert was resolved.", cancelled_by: null })).toBe("The alert was resolved.");
  expect(sessionReason({ status: "completed", error_message: null, cancelled_by: null })).toBeNull();
});
