/** Keeps a session's timeline current: loads it, follows the channel, applies what comes once per frame. */
import type { LiveMessage } from "@/wire/live-messages";
import type { TimelineEvent } from "@/wire/types";
import type { LiveSocket } from "./socket";
import type { TimelineBuffer } from "./timeline-buffer";
import { applyMessages, EMPTY_TIMELINE, loaded } from "./timeline-buffer";

export interface LoadedTimeline {
  events: readonly TimelineEvent[];
  /** The newest live event that this includes. */
  lastEventId: number;
}

export interface FeedState {
  readonly buffer: TimelineBuffer;
  readonly phase: "loading" | "ready" | "failed";
  readonly error: unknown;
}

const RELOAD_AFTER_FAILURE_MS = 3_000;
// A hidden page gets no animation frames, not even the one that it asked for before it was hidden.
const LATEST_FRAME_MS = 250;

export class SessionFeed {
  private state: FeedState = { buffer: EMPTY_TIMELINE, phase: "loading", error: null };
  private readonly observers = new Set<() => void>();
  private pending: LiveMessage[] = [];
  private frame: (() => void) | null = null;
  private loading = false;
  private stopped = false;
  private unwatch: (() => void) | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;

  private readonly socket: LiveSocket;
  private readonly channel: string;
  private readonly load: () => Promise<LoadedTimeline>;
  private heard: (messages: readonly LiveMessage[]) => void = () => undefined;

  constructor(socket: LiveSocket, sessionId: string, load: () => Promise<LoadedTimeline>) {
    this.socket = socket;
    this.channel = `session:${sessionId}`;
    this.load = load;
  }

  /** Begin, or begin again. `heard` is told of every message, a frame's worth at a time. Returns how to stop. */
  start(heard: (messages: readonly LiveMessage[]) => void): () => void {
    this.heard = heard;
    this.stopped = false;
    void this.reload();
    return () => this.stop();
  }

  private stop(): void {
    this.stopped = true;
    this.unwatch?.();
    this.unwatch = null;
    this.frame?.();
    this.frame = null;
    this.pending = [];
    clearTimeout(this.retry);
    this.retry = undefined;
  }

  readonly snapshot = (): FeedState => this.state;

  readonly observe = (observer: () => void): (() => void) => {
    this.observers.add(observer);
    return () => this.observers.delete(observer);
  };

  private async reload(): Promise<void> {
    if (this.loading) return;
    this.loading = true;
    try {
      this.arrived(await this.load());
    } catch (error) {
      this.failed(error);
    } finally {
      this.loading = false;
    }
    if (this.pending.length > 0) this.schedule();
  }

  private arrived(timeline: LoadedTimeline): void {
    if (this.stopped) return;
    this.become({ buffer: loaded(timeline.events, this.state.buffer), phase: "ready", error: null });
    // Texts that are being written are not stored: those of events that we did not know of were told in vain.
    if (this.unwatch) this.socket.retell(this.channel);
    else this.unwatch = this.socket.watch(this.channel, (message) => this.received(message), timeline.lastEventId);
  }

  private failed(error: unknown): void {
    if (this.stopped) return;
    this.become({ ...this.state, phase: this.state.phase === "ready" ? "ready" : "failed", error });
    this.retry = setTimeout(() => {
      this.retry = undefined;
      void this.reload();
    }, RELOAD_AFTER_FAILURE_MS);
  }

  private received(message: LiveMessage): void {
    this.pending.push(message);
    // What arrives while we load is applied on top of what was loaded.
    if (!this.loading) this.schedule();
  }

  private schedule(): void {
    if (this.frame || this.stopped) return;
    const flush = () => {
      this.frame?.();
      this.frame = null;
      this.flush();
    };
    const request = requestAnimationFrame(flush);
    const timer = setTimeout(flush, LATEST_FRAME_MS);
    this.frame = () => {
      cancelAnimationFrame(request);
      clearTimeout(timer);
    };
  }

  private flush(): void {
    if (this.loading) return;
    const batch = this.pending;
    this.pending = [];
    const buffer = applyMessages(this.state.buffer, batch);
    if (buffer !== this.state.buffer) this.become({ ...this.state, buffer });
    this.heard(batch);
    if (buffer.incomplete && this.retry === undefined) void this.reload();
  }

  private become(state: FeedState): void {
    this.state = state;
    for (const observer of this.observers) observer();
  }
}
