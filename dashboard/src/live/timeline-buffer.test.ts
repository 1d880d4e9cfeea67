import { describe, expect, test } from "vitest";
import type { LiveMessage } from "@/wire/live-messages";
import type { TimelineEvent } from "@/wire/types";
import type { TimelineBuffer } from "./timeline-buffer";
import { applyMessages, EMPTY_TIMELINE, eventById, loadedTimeline } from "./timeline-buffer";

const STARTED = "2026-01-01T00:00:00Z";

function event(id: string, more: Partial<TimelineEvent> = {}): TimelineEvent {
  return {
    id,
    stage_id: "stage",
    execution_id: "run",
    sequence_number: 1,
    event_type: "llm_response",
    status: "streaming",
    content: "",
    metadata: {},
    evidence_id: null,
    created_at: STARTED,
    completed_at: null,
    ...more,
  };
}

const at = { channel: "session:s", session_id: "s" };
const created = (id: string, more: Partial<TimelineEvent> = {}): LiveMessage => ({ ...at, type: "timeline_event.created", id: 1, event: event(id, more) });
const chunk = (id: string, offset: number, delta: string): LiveMessage => ({ ...at, type: "stream.chunk", event_id: id, offset, delta });
const completed = (id: string, content: string, more: object = {}): LiveMessage => ({
  ...at,
  type: "timeline_event.completed",
  id: 2,
  event_id: id,
  event_type: null,
  status: "completed",
  content,
  metadata: {},
  completed_at: STARTED,
  ...more,
});
const textOf = (buffer: TimelineBuffer, id: string) => eventById(buffer, id)?.content;

describe("events", () => {
  test("are appended in the order in which they are delivered", () => {
    const buffer = applyMessages(loadedTimeline([event("a")]), [created("b"), created("c")]);
    expect(buffer.events.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  test("that are delivered twice are there once", () => {
    const buffer = applyMessages(loadedTimeline([event("a", { content: "kept" })]), [created("a"), created("b"), created("b")]);
    expect(buffer.events.map(({ id }) => id)).toEqual(["a", "b"]);
    expect(textOf(buffer, "a")).toBe("kept");
  });

  test("that did not change are the same objects", () => {
    const before = loadedTimeline([event("a", { status: "completed" }), event("b")]);
    const after = applyMessages(before, [chunk("b", 0, "x")]);
    expect(after.events[0]).toBe(before.events[0]);
    expect(after.events[1]).not.toBe(before.events[1]);
  });

  test("messages about other things leave the buffer as it is", () => {
    const before = loadedTimeline([event("a")]);
    expect(applyMessages(before, [{ type: "pong" }, { ...at, type: "session.status", id: 3, status: "failed", alert_type: "t", at: STARTED }])).toBe(before);
  });
});

describe("streams", () => {
  test("grow by their chunks", () => {
    const buffer = applyMessages(EMPTY_TIMELINE, [created("a"), chunk("a", 0, "Hel"), chunk("a", 3, "lo")]);
    expect(textOf(buffer, "a")).toBe("Hello");
  });

  test("joined in the middle begin with the text so far", () => {
    const buffer = applyMessages(loadedTimeline([event("a")]), [chunk("a", 0, "Hello wor"), chunk("a", 9, "ld")]);
    expect(textOf(buffer, "a")).toBe("Hello world");
  });

  test("are written over where a chunk begins before their end", () => {
    const buffer = applyMessages(EMPTY_TIMELINE, [created("a"), chunk("a", 0, "Hello there"), chunk("a", 6, "world")]);
    expect(textOf(buffer, "a")).toBe("Hello world");
  });

  test("count characters as the server does: an emoji is one", () => {
    const buffer = applyMessages(EMPTY_TIMELINE, [created("a"), chunk("a", 0, "🔥🔥"), chunk("a", 2, " hot"), chunk("a", 1, "!")]);
    expect(textOf(buffer, "a")).toBe("🔥!");
    expect(buffer.incomplete).toBe(false);
  });

  test("with a hole ask for a reload and keep what they have", () => {
    const buffer = applyMessages(EMPTY_TIMELINE, [created("a"), chunk("a", 0, "Hello"), chunk("a", 9, "?")]);
    expect(buffer.incomplete).toBe(true);
    expect(textOf(buffer, "a")).toBe("Hello");
  });

  test("ignore chunks that come after the end", () => {
    const buffer = applyMessages(EMPTY_TIMELINE, [created("a"), completed("a", "Done"), chunk("a", 0, "late")]);
    expect(textOf(buffer, "a")).toBe("Done");
  });
});

describe("completion", () => {
  test("brings the final text, the final kind and more metadata", () => {
    const buffer = applyMessages(EMPTY_TIMELINE, [
      created("a", { metadata: { call_id: "1" } }),
      chunk("a", 0, "dra"),
      completed("a", "final", { event_type: "final_analysis", metadata: { duration_ms: 5 } }),
    ]);
    expect(eventById(buffer, "a")).toMatchObject({
      status: "completed",
      content: "final",
      event_type: "final_analysis",
      metadata: { call_id: "1", duration_ms: 5 },
    });
    expect(buffer.streamed.size).toBe(0);
  });

  test("of an event that was not delivered asks for a reload", () => {
    expect(applyMessages(EMPTY_TIMELINE, [completed("a", "text")]).incomplete).toBe(true);
  });

  test("delivered twice changes nothing", () => {
    const once = applyMessages(EMPTY_TIMELINE, [created("a"), completed("a", "text")]);
    expect(applyMessages(once, [completed("a", "text")]).events).toEqual(once.events);
  });
});

describe("catching up", () => {
  test("an overflow asks for a reload, and what was loaded settles it", () => {
    const buffer = applyMessages(EMPTY_TIMELINE, [{ type: "catchup.overflow", channel: "session:s", last_event_id: 900 }]);
    expect(buffer.incomplete).toBe(true);
    expect(loadedTimeline([event("a")], buffer).incomplete).toBe(false);
  });

  test("a reload keeps the text of a stream that is still open", () => {
    const before = applyMessages(EMPTY_TIMELINE, [created("a"), chunk("a", 0, "so far")]);
    const after = applyMessages(loadedTimeline([event("a")], before), [chunk("a", 6, ", so good")]);
    expect(textOf(after, "a")).toBe("so far, so good");
  });

  test("a reload takes the stored text of a stream that has ended meanwhile", () => {
    const before = applyMessages(EMPTY_TIMELINE, [created("a"), chunk("a", 0, "so far")]);
    expect(textOf(loadedTimeline([event("a", { status: "completed", content: "the end" })], before), "a")).toBe("the end");
  });

  test("replaying everything that was missed gives what was stored", () => {
    const missed = [created("a"), completed("a", "one"), created("b"), completed("b", "two")];
    const live = applyMessages(EMPTY_TIMELINE, missed);
    expect(applyMessages(live, missed).events).toEqual(live.events);
  });
});

test("a frame of 200 chunks touches one of 5,000 events", () => {
  const many = loadedTimeline([...Array.from({ length: 5_000 }, (_, index) => event(`e${index}`, { status: "completed" })), event("open")]);
  const frame = Array.from({ length: 200 }, (_, index) => chunk("open", index * 5, "word "));
  const buffer = applyMessages(many, frame);
  expect(textOf(buffer, "open")).toHaveLength(1_000);
  expect(buffer.events.filter((after, index) => after !== many.events[index])).toHaveLength(1);
});

describe("the shape of a timeline", () => {
  const streaming = applyMessages(EMPTY_TIMELINE, [created("a"), chunk("a", 0, "one ")]);

  test("stays the same array while text grows", () => {
    const grown = applyMessages(streaming, [chunk("a", 4, "two ")]);
    expect(grown.events).not.toBe(streaming.events);
    expect(grown.shape).toBe(streaming.shape);
    expect(textOf(grown, "a")).toBe("one two ");
  });

  test("is another one when an event comes or ends", () => {
    const another = applyMessages(streaming, [created("b")]);
    expect(another.shape.map(({ id }) => id)).toEqual(["a", "b"]);
    const ended = applyMessages(streaming, [completed("a", "one")]);
    expect(ended.shape[0]?.status).toBe("completed");
    expect(loadedTimeline([event("a")], streaming).shape).not.toBe(streaming.shape);
  });
});
