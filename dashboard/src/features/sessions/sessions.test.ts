import { describe, expect, test } from "vitest";
import { hasFilters } from "@/components/search-params";
import type { SessionListItem } from "@/wire/types";
import { chosenColumns, filterOf, joinColumns, isFiltered, nextSorting, sliceOf, readSessionSearch, withoutFilters } from "./search";
import { changesList, sortActive } from "./sessions-page";
import { readViews, withView } from "@/components/view-menu";

describe("the address", () => {
  test("keeps what it knows and forgets the rest", () => {
    expect(readSessionSearch({ text: " dns ", status: "failed,nonsense,cancelled", since: "7d", chain: "", other: "x" })).toEqual({
      text: "dns",
      status: "failed,cancelled",
      since: "7d",
    });
  });

  test("with nothing useful in it is no filter", () => {
    expect(readSessionSearch({ status: "nonsense", since: "9y", type: {} })).toEqual({});
    expect(hasFilters({})).toBe(false);
    expect(hasFilters({ text: "x" })).toBe(true);
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
    expect(readSessionSearch({ since: "constructor" })).toEqual({});
  });
});

describe("a list that is shown", () => {
  const about = { channel: "sessions", session_id: "s", id: 1 };

  test("has what is being worked on first, then the queue in its order", () => {
    const waiting = (id: string, queue_position: number | null) => ({ id, status: "pending", queue_position }) as SessionListItem;
    const running = { id: "r", status: "in_progress", queue_position: null } as SessionListItem;
    expect(sortActive([waiting("new", null), waiting("c", 2), waiting("b", 1), running]).map(({ id }) => id)).toEqual(["r", "b", "c", "new"]);
  });

  test("is asked for again when rows may come or go, not for progress", () => {
    expect(changesList({ ...about, type: "session.status", status: "pending", alert_type: "t", at: "" })).toBe(true);
    expect(changesList({ channel: "sessions", session_id: "s", type: "session.progress", stage_name: "", stage_index: 0, stage_count: 1 })).toBe(false);
  });
});

describe("a view", () => {
  test("is the whole address: range, order, page and columns", () => {
    const address = { from: "2026-03-10T08:00Z", to: "2026-03-11T08:00:00.000Z", sort: "cost", order: "asc", page: "3", rows: "200", columns: "cost,nonsense,severity" };
    const view = readSessionSearch(address);
    expect(view).toEqual({ from: "2026-03-10T08:00:00.000Z", to: "2026-03-11T08:00:00.000Z", sort: "cost", order: "asc", page: 3, rows: 200, columns: "severity,cost" });
    expect(readSessionSearch({ ...view })).toEqual(view);
    expect(filterOf(view, 0)).toEqual({ from: view.from, to: view.to });
    expect(sliceOf(view)).toEqual({ sort: "cost", order: "asc", offset: 400, limit: 200 });
  });

  test("has nothing in its address that is usual, or that does not exist", () => {
    expect(readSessionSearch({ sort: "created", order: "desc", page: "1", rows: "50", columns: "verdict,tokens,duration,submitted", from: "yesterday" })).toEqual({});
    expect(readSessionSearch({ sort: "rank; drop", page: "1e9", rows: "10000", since: "1h", from: "2026-03-10T08:00Z" })).toEqual({ since: "1h" });
    expect(sliceOf({})).toEqual({ offset: 0, limit: 50 });
  });

  test("keeps its looks when its filters are cleared", () => {
    const view = readSessionSearch({ text: "dns", sort: "cost", page: "2", columns: "cost" });
    expect(isFiltered(view)).toBe(true);
    expect(withoutFilters(view)).toEqual({ sort: "cost", columns: "cost" });
    expect(isFiltered(withoutFilters(view))).toBe(false);
  });

  test("is saved under a name, without the page", () => {
    const saved = withView(withView([], "mine", { text: "old" }, readSessionSearch), "mine", { text: "dns", page: 4 }, readSessionSearch);
    expect(readViews(JSON.stringify(saved), readSessionSearch)).toEqual([{ name: "mine", search: { text: "dns" } }]);
    expect(readViews('{"not": "views"}', readSessionSearch)).toEqual([]);
    expect(readViews("{", readSessionSearch)).toEqual([]);
  });
});

describe("columns", () => {
  test("stand in their own order, and are never none", () => {
    expect(joinColumns(["submitted", "severity"])).toBe("severity,submitted");
    expect(chosenColumns("nonsense")).toEqual(["author", "tokens", "duration", "submitted"]);
    expect(chosenColumns("verdict,cost")).toEqual(["author", "cost"]);
    expect(joinColumns([])).toBeUndefined();
  });

  test("are sorted their usual way, the other way, and no longer", () => {
    const once = nextSorting({}, "cost");
    expect(once).toEqual({ sort: "cost" });
    expect(nextSorting(once, "cost")).toEqual({ sort: "cost", order: "asc" });
    expect(nextSorting({ sort: "cost", order: "asc" }, "cost")).toEqual({});
    expect(nextSorting({}, "created")).toEqual({ sort: "created", order: "asc" });
    expect(nextSorting({ sort: "cost" }, "outcome")).toEqual({ sort: "outcome" });
  });
});
