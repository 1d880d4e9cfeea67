import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LiveMessage } from "@/wire/live-messages";
import { LiveSocket, reconnectDelay } from "./socket";

/** What the browser gives us, driven by hand. */
class HandSocket {
  static made: HandSocket[] = [];
  readyState: number = WebSocket.CONNECTING;
  sent: Record<string, unknown>[] = [];
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((frame: { data: string }) => void) | null = null;

  constructor() {
    HandSocket.made.push(this);
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }
  close(): void {
    this.readyState = WebSocket.CLOSED;
  }
  open(): void {
    this.readyState = WebSocket.OPEN;
    this.onopen?.();
  }
  deliver(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
  drop(): void {
    this.readyState = WebSocket.CLOSED;
    this.onclose?.();
  }
}

const status = (id: number) => ({ type: "session.status", channel: "sessions", id, session_id: "s", status: "pending", alert_type: "t", at: "" });
const latest = (): HandSocket => {
  const socket = HandSocket.made.at(-1);
  if (!socket) throw new Error("no socket was opened");
  return socket;
};
const makeSocket = () => new LiveSocket("ws://here/ws", () => new HandSocket() as unknown as WebSocket);

beforeEach(() => {
  vi.useFakeTimers();
  HandSocket.made = [];
});
afterEach(() => vi.useRealTimers());

test("a channel is subscribed when the connection opens", () => {
  makeSocket().subscribe("sessions", () => undefined);
  latest().open();
  expect(latest().sent).toEqual([{ action: "subscribe", channel: "sessions" }]);
});

test("after a reconnect it goes on after the last event it saw", () => {
  const socket = makeSocket();
  socket.subscribe("sessions", () => undefined);
  latest().open();
  latest().deliver({ type: "subscription.confirmed", channel: "sessions", last_event_id: 4 });
  latest().deliver(status(7));
  latest().drop();
  expect(socket.state()).toBe("lost");
  vi.advanceTimersByTime(500);
  latest().open();
  expect(HandSocket.made).toHaveLength(2);
  expect(latest().sent).toEqual([{ action: "subscribe", channel: "sessions", last_event_id: 7 }]);
  expect(socket.state()).toBe("open");
});

test("a channel where nothing was seen goes on from where it was confirmed", () => {
  makeSocket().subscribe("sessions", () => undefined);
  latest().open();
  latest().deliver({ type: "subscription.confirmed", channel: "sessions", last_event_id: 4 });
  latest().drop();
  vi.advanceTimersByTime(500);
  latest().open();
  expect(latest().sent[0]).toMatchObject({ last_event_id: 4 });
});

test("a confirmation does not skip what is still to be replayed", () => {
  makeSocket().subscribe("session:s", () => undefined, 10);
  latest().open();
  latest().deliver({ type: "subscription.confirmed", channel: "session:s", last_event_id: 30 });
  latest().drop();
  vi.advanceTimersByTime(500);
  latest().open();
  expect(latest().sent[0]).toMatchObject({ last_event_id: 10 });
});

test("listeners get messages of their own channel only, and nothing after they stopped", () => {
  const socket = makeSocket();
  const received: LiveMessage[] = [];
  const stop = socket.subscribe("sessions", (message) => received.push(message));
  latest().open();
  latest().deliver(status(1));
  latest().deliver({ ...status(1), channel: "session:s" });
  latest().deliver({ type: "from.the.future", channel: "sessions" });
  stop();
  latest().deliver(status(2));
  expect(received).toHaveLength(1);
  expect(latest().sent.at(-1)).toEqual({ action: "unsubscribe", channel: "sessions" });
});

test("a second listener that is behind asks for what it missed", () => {
  const socket = makeSocket();
  socket.subscribe("session:s", () => undefined, 10);
  latest().open();
  socket.subscribe("session:s", () => undefined, 5);
  expect(latest().sent.at(-1)).toEqual({ action: "catchup", channel: "session:s", last_event_id: 5 });
});

test("a connection that no longer answers is given up and opened anew", () => {
  const socket = makeSocket();
  socket.subscribe("sessions", () => undefined);
  latest().open();
  vi.advanceTimersByTime(20_000);
  expect(latest().sent.at(-1)).toEqual({ action: "ping" });
  vi.advanceTimersByTime(8_000);
  expect(socket.state()).toBe("lost");
  vi.advanceTimersByTime(500);
  expect(HandSocket.made).toHaveLength(2);
});

test("a connection that does not come about is given up and tried anew", () => {
  const socket = makeSocket();
  socket.subscribe("sessions", () => undefined);
  const hanging = latest();
  vi.advanceTimersByTime(15_000);
  expect(socket.state()).toBe("lost");
  // The browser's own word about it comes when it comes.
  hanging.drop();
  vi.advanceTimersByTime(500);
  expect(HandSocket.made).toHaveLength(2);
  latest().open();
  vi.advanceTimersByTime(10_000);
  expect(HandSocket.made).toHaveLength(2);
});

test("connections that are closed before the first message are not retried ever faster", () => {
  makeSocket().subscribe("sessions", () => undefined);
  for (let attempt = 0; attempt < 6; attempt += 1) {
    latest().open();
    latest().drop();
    vi.advanceTimersByTime(10_000);
  }
  const tried = HandSocket.made.length;
  latest().open();
  latest().drop();
  vi.advanceTimersByTime(4_000);
  expect(HandSocket.made).toHaveLength(tried);
});

test("text that is being written is delivered again from its beginning", () => {
  const socket = makeSocket();
  socket.subscribe("session:s", () => undefined, 10);
  latest().open();
  socket.catchUp("session:s");
  expect(latest().sent.at(-1)).toEqual({ action: "catchup", channel: "session:s", last_event_id: 10 });
});

test("attempts become rarer, never rarer than every ten seconds, and are spread", () => {
  expect(reconnectDelay(0, 0)).toBe(200);
  expect(reconnectDelay(0, 0.999)).toBe(400);
  expect(reconnectDelay(3, 0.5)).toBe(2_400);
  expect(reconnectDelay(50, 0.999)).toBeLessThanOrEqual(10_000);
});

test("a listener that fails keeps no message from the others, and its error is reported", () => {
  const reported = vi.fn();
  vi.stubGlobal("reportError", reported);
  const socket = makeSocket();
  const received: LiveMessage[] = [];
  socket.subscribe("sessions", () => {
    throw new Error("not handled");
  });
  socket.subscribe("sessions", (message) => received.push(message));
  latest().open();
  latest().deliver(status(7));
  expect(received).toEqual([status(7)]);
  expect(reported).toHaveBeenCalledExactlyOnceWith(new Error("not handled"));
});
