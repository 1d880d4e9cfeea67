/** Keeps the timeline of a session current: loads it, subscribes to its channel, and applies messages once per frame. */
import { useEffect, useEffectEvent, useMemo, useSyncExternalStore } from "react";
import type { LiveMessage } from "@/wire/live-messages";
import type { TimelineEvent } from "@/wire/types";
import { useSocket } from "./connection";
import type { LiveSocket } from "./socket";
import type { TimelineBuffer } from "./timeline-buffer";
import { applyMessages, EMPTY_TIMELINE, loadedTimeline } from "./timeline-buffer";

export interface LoadedTimeline {
  events: readonly TimelineEvent[];
  /** The newest live event that is included. */
  lastEventId: number;
}

interface FeedState {
  readonly buffer: TimelineBuffer;
  readonly phase: "loading" | "ready" | "failed";
  readonly error: unknown;
}

const RELOAD_AFTER_FAILURE_MS = 3_000;
// A hidden page gets no animation frames, not even one that it requested before it was hidden.
const LATEST_FRAME_MS = 250;

export class SessionFeed {
  private state: FeedState = { buffer: EMPTY_TIMELINE, phase: "loading", error: null };
  private readonly observers = new Set<() => void>();
  private pending: LiveMessage[] = [];
  private cancelFrame: (() => void) | null = null;
  /** Aborts the current load; null if there is none. */
  private loading: AbortController | null = null;
  private unsubscribe: (() => void) | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;

  private readonly socket: LiveSocket;
  private readonly channel: string;
  private readonly load: (signal: AbortSignal) => Promise<LoadedTimeline>;
  private onMessages: (messages: readonly LiveMessage[]) => void = () => undefined;

  constructor(socket: LiveSocket, sessionId: string, load: (signal: AbortSignal) => Promise<LoadedTimeline>) {
    this.socket = socket;
    this.channel = `session:${sessionId}`;
    this.load = load;
  }

  /** Starts or restarts the feed. `onMessages` receives all messages of a frame at once. Returns a function that stops it. */
  start(onMessages: (messages: readonly LiveMessage[]) => void): () => void {
    this.onMessages = onMessages;
    void this.reload();
    return () => {
      this.loading?.abort();
      this.loading = null;
      this.unsubscribe?.();
      this.unsubscribe = null;
      this.cancelFrame?.();
      this.cancelFrame = null;
      this.pending = [];
      clearTimeout(this.retry);
      this.retry = undefined;
    };
  }

  readonly snapshot = (): FeedState => this.state;

  readonly observe = (observer: () => void): (() => void) => {
    this.observers.add(observer);
    return () => this.observers.delete(observer);
  };

  private async reload(): Promise<void> {
    if (this.loading) return;
    const loading = new AbortController();
    this.loading = loading;
    try {
      const timeline = await this.load(loading.signal);
      if (!loading.signal.aborted) this.handleLoaded(timeline);
    } catch (error) {
      if (!loading.signal.aborted) this.handleFailure(error);
    }
    if (loading.signal.aborted) return;
    this.loading = null;
    if (this.pending.length > 0) this.schedule();
  }

  private handleLoaded(timeline: LoadedTimeline): void {
    this.setState({ buffer: loadedTimeline(timeline.events, this.state.buffer), phase: "ready", error: null });
    // The text of open streams is not stored; chunks of events that were unknown until now have been dropped.
    if (this.unsubscribe) this.socket.catchUp(this.channel);
    else this.unsubscribe = this.socket.subscribe(this.channel, (message) => this.receive(message), timeline.lastEventId);
  }

  private handleFailure(error: unknown): void {
    this.setState({ ...this.state, phase: this.state.phase === "ready" ? "ready" : "failed", error });
    this.retry = setTimeout(() => {
      this.retry = undefined;
      void this.reload();
    }, RELOAD_AFTER_FAILURE_MS);
  }

  private receive(message: LiveMessage): void {
    this.pending.push(message);
    // Messages that arrive during a reload are applied after it.
    if (!this.loading) this.schedule();
  }

  private schedule(): void {
    if (this.cancelFrame) return;
    const run = () => {
      this.cancelFrame?.();
      this.cancelFrame = null;
      this.flush();
    };
    const request = requestAnimationFrame(run);
    const timer = setTimeout(run, LATEST_FRAME_MS);
    this.cancelFrame = () => {
      cancelAnimationFrame(request);
      clearTimeout(timer);
    };
  }

  private flush(): void {
    if (this.loading) return;
    const messages = this.pending;
    this.pending = [];
    const buffer = applyMessages(this.state.buffer, messages);
    if (buffer !== this.state.buffer) this.setState({ ...this.state, buffer });
    this.onMessages(messages);
    if (buffer.incomplete && this.retry === undefined) void this.reload();
  }

  private setState(state: FeedState): void {
    this.state = state;
    for (const observer of this.observers) observer();
  }
}

export function useSessionTimeline(sessionId: string, load: (sessionId: string, signal: AbortSignal) => Promise<LoadedTimeline>, onMessages: (messages: readonly LiveMessage[]) => void): FeedState {
  const socket = useSocket();
  const handle = useEffectEvent(onMessages);
  const feed = useMemo(() => new SessionFeed(socket, sessionId, (signal) => load(sessionId, signal)), [socket, sessionId, load]);
  useEffect(() => feed.start((messages) => handle(messages)), [feed]);
  return useSyncExternalStore(feed.observe, feed.snapshot);
}
