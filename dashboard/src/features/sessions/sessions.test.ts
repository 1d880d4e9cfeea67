// @vitest-environment jsdom
import { describe, expect, test } from "vitest";
import type { SessionList, SessionListItem } from "@/wire/types";
import { changesList, inOrderOfWork, withMessage } from "./live-list";
import { isFiltered } from "@/components/search-words";
import { filterOf, readSearch } from "./search";

describe("the address", () => {
  test("keeps what it knows and forgets the rest", () => {
    expect(readSearch({ text: " dns ", status: "failed,nonsense,cancelled", since: "7d", chain: "", other: "x" })).toEqual({
      text: "dns",
      status: "failed,cancelled",
      since: "7d",
    });
  });

  test("with nothing useful in it is no filter", () => {
    expect(readSearch({ status: "nonsense", since: "9y", type: {} })).toEqual({});
    expect(isFiltered({})).toBe(false);
    expect(isFiltered({ text: "x" })).toBe(true);
  });

  test("becomes what the API wants", () => {
    const now = Date.parse("2026-03-10T09:03:20Z");
    expect(filterOf({ text: "dns", status: "failed", type: "k8s", chain: "c", since: "1h" }, now)).toEqual({
      text: "dns",
      status: ["failed"],
      alert_type: "k8s",
      chain_id: "c",
      from: "2026-03-10T08:00:00.000Z",
    });
  });
});

describe("a period", () => {
  const from = (time: string) => filterOf({ since: "1h" }, Date.parse(`2026-03-10T${time}Z`)).from;

  test("slides on while the page is open, but not with every look at it", () => {
    expect(from("09:03:20")).toBe(from("09:04:59"));
    expect(from("21:06:00")).toBe("2026-03-10T20:05:00.000Z");
  });

  test("with the name of something else is none", () => {
    expect(readSearch({ since: "constructor" })).toEqual({});
  });
});

describe("a list that is shown", () => {
  const row = { id: "s", status: "pending", queue_position: 3, current_stage_name: null } as SessionListItem;
  const other = { id: "o", status: "completed" } as SessionListItem;
  const list: SessionList = { sessions: [row, other], next_cursor: null };
  const about = { channel: "sessions", session_id: "s", id: 1 };

  test("has what is being worked on first, then the queue in its order", () => {
    const waiting = (id: string, queue_position: number | null) => ({ id, status: "pending", queue_position }) as SessionListItem;
    const running = { id: "r", status: "in_progress", queue_position: null } as SessionListItem;
    expect(inOrderOfWork([waiting("new", null), waiting("c", 2), waiting("b", 1), running]).map(({ id }) => id)).toEqual(["r", "b", "c", "new"]);
  });

  test("takes over a new status at once", () => {
    const after = withMessage(list, { ...about, type: "session.status", status: "in_progress", alert_type: "t", at: "" });
    expect(after.sessions[0]).toMatchObject({ status: "in_progress", queue_position: null });
    expect(after.sessions[1]).toBe(other);
  });

  test("shows how far a session is", () => {
    const after = withMessage(list, { channel: "sessions", session_id: "s", type: "session.progress", stage_name: "deep dive", stage_index: 1, stage_count: 3 });
    expect(after.sessions[0]).toMatchObject({ current_stage_name: "deep dive", current_stage_index: 1, stage_count: 3 });
  });

  test("is the same list if the message is about a session it does not show", () => {
    expect(withMessage(list, { ...about, session_id: "?", type: "session.status", status: "failed", alert_type: "t", at: "" })).toBe(list);
  });

  test("is asked for again when rows may come or go, not for progress", () => {
    expect(changesList({ ...about, type: "session.status", status: "pending", alert_type: "t", at: "" })).toBe(true);
    expect(changesList({ type: "subscription.confirmed", channel: "sessions", last_event_id: 1 })).toBe(true);
    expect(changesList({ channel: "sessions", session_id: "s", type: "session.progress", stage_name: "", stage_index: 0, stage_count: 1 })).toBe(false);
  });
});
