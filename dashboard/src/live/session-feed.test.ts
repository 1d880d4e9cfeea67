import { beforeEach, expect, test, vi } from "vitest";
import type { LiveMessage } from "@/wire/live-messages";
import type { TimelineEvent } from "@/wire/types";
import type { LoadedTimeline } from "./session-feed";
import { SessionFeed } from "./session-feed";
import type { Listener, LiveSocket } from "./socket";

let frames: FrameRequestCallback[] = [];
const frame = () => {
  const due = frames;
  frames = [];
  for (const run of due) run(0);
};

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (run: FrameRequestCallback) => frames.push(run));
  vi.stubGlobal("cancelAnimationFrame", () => {
    frames = [];
  });
});

const event = (id: string, content = ""): TimelineEvent => ({
  id,
  stage_id: null,
  execution_id: null,
  sequence_number: 1,
  event_type: "llm_response",
  status: content === "" ? "streaming" : "completed",
  content,
  metadata: {},
  evidence_id: null,
  created_at: "2026-01-01T00:00:00Z",
  completed_at: null,
});
const chunk = (offset: number, delta: string): LiveMessage => ({ type: "stream.chunk", channel: "session:s", session_id: "s", event_id: "a", offset, delta });
const overflow: LiveMessage = { type: "catchup.overflow", channel: "session:s", last_event_id: 300 };

function setUp(...answers: (LoadedTimeline | Error)[]) {
  let listener: Listener = () => undefined;
  const watched: (number | null)[] = [];
  const catchUp = vi.fn<(channel: string) => void>();
  const socket = {
    catchUp,
    subscribe: (_: string, received: Listener, from: number | null) => {
      listener = received;
      watched.push(from);
      return () => undefined;
    },
  } as unknown as LiveSocket;
  const load = vi.fn<(signal: AbortSignal) => Promise<LoadedTimeline>>(() => {
    const answer = answers.shift();
    return answer instanceof Error || !answer ? Promise.reject(answer ?? new Error("asked too often")) : Promise.resolve(answer);
  });
  const feed = new SessionFeed(socket, "s", load);
  const texts = () => feed.snapshot().buffer.events.map(({ content }) => content);
  return { feed, load, watched, catchUp, texts, deliver: (...messages: LiveMessage[]) => messages.forEach((message) => listener(message)) };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("it loads, then listens from where the loaded part ends", async () => {
  const { feed, watched, texts } = setUp({ events: [event("a", "x")], lastEventId: 12 });
  expect(feed.snapshot().phase).toBe("loading");
  feed.start(() => undefined);
  await settled();
  expect(feed.snapshot().phase).toBe("ready");
  expect(texts()).toEqual(["x"]);
  expect(watched).toEqual([12]);
});

test("however many chunks come, observers are notified once per frame", async () => {
  const { feed, deliver, texts } = setUp({ events: [event("a")], lastEventId: 1 });
  feed.start(() => undefined);
  await settled();
  const observer = vi.fn();
  feed.observe(observer);
  deliver(chunk(0, "a"), chunk(1, "b"), chunk(2, "c"));
  expect(observer).not.toHaveBeenCalled();
  frame();
  expect(observer).toHaveBeenCalledTimes(1);
  expect(texts()).toEqual(["abc"]);
});

test("an overflow loads again, and what comes meanwhile is applied on top", async () => {
  const { feed, deliver, texts, load, watched } = setUp({ events: [event("a")], lastEventId: 1 }, { events: [event("x", "missed"), event("a")], lastEventId: 300 });
  feed.start(() => undefined);
  await settled();
  deliver(overflow);
  frame();
  deliver(chunk(0, "tail"));
  await settled();
  frame();
  expect(load).toHaveBeenCalledTimes(2);
  expect(texts()).toEqual(["missed", "tail"]);
  expect(watched).toEqual([1]);
});

test("a text that begins among what was missed is asked for from its beginning", async () => {
  const { feed, deliver, texts, load, catchUp } = setUp({ events: [], lastEventId: 1 }, { events: [event("a")], lastEventId: 300 });
  feed.start(() => undefined);
  await settled();
  // In one frame: the event is not known yet that the text belongs to.
  deliver(overflow, chunk(0, "so far"));
  frame();
  await settled();
  expect(catchUp).toHaveBeenCalledExactlyOnceWith("session:s");
  deliver(chunk(0, "so far"), chunk(6, ", so good"));
  frame();
  expect(texts()).toEqual(["so far, so good"]);
  expect(load).toHaveBeenCalledTimes(2);
});

test("a reload that fails is not repeated with every frame", async () => {
  const { feed, deliver, load } = setUp({ events: [event("a")], lastEventId: 1 }, new Error("503"));
  const stop = feed.start(() => undefined);
  await settled();
  deliver(overflow);
  frame();
  await settled();
  deliver(chunk(0, "a"));
  frame();
  deliver(chunk(1, "b"));
  frame();
  expect(load).toHaveBeenCalledTimes(2);
  stop();
});

test("a page that is hidden before its next frame hears all the same", async () => {
  const { feed, deliver, texts } = setUp({ events: [event("a")], lastEventId: 1 });
  feed.start(() => undefined);
  await settled();
  deliver(chunk(0, "unseen"));
  // No frame comes.
  await vi.waitFor(() => expect(texts()).toEqual(["unseen"]), 30_000);
});

test("others are notified of every message", async () => {
  const { feed, deliver } = setUp({ events: [], lastEventId: 1 });
  const received: LiveMessage[] = [];
  feed.start((messages) => received.push(...messages));
  await settled();
  deliver(chunk(0, "?"), { type: "subscription.confirmed", channel: "session:s", last_event_id: 1 });
  frame();
  expect(received.map(({ type }) => type)).toEqual(["stream.chunk", "subscription.confirmed"]);
});

test("a failed first load says so", async () => {
  const { feed } = setUp(new Error("503"));
  const stop = feed.start(() => undefined);
  await settled();
  expect(feed.snapshot()).toMatchObject({ phase: "failed", error: new Error("503") });
  stop();
});

test("a load that is under way when the page is left is aborted, and does not delay the next one", async () => {
  const { feed, load, texts } = setUp({ events: [event("a", "x")], lastEventId: 1 });
  const signals: AbortSignal[] = [];
  load.mockImplementationOnce((signal: AbortSignal) => {
    signals.push(signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new DOMException("Aborted", "AbortError"))));
  });
  const stop = feed.start(() => undefined);
  stop();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  feed.start(() => undefined);
  await settled();
  expect([feed.snapshot().phase, texts()]).toEqual(["ready", ["x"]]);
});

test("after it is stopped nothing changes any more", async () => {
  const { feed, deliver, texts } = setUp({ events: [event("a")], lastEventId: 1 });
  const stop = feed.start(() => undefined);
  await settled();
  deliver(chunk(0, "late"));
  stop();
  frame();
  expect(texts()).toEqual([""]);
});
