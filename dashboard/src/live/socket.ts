/** The transport of live events: one WebSocket that reconnects, and resumes every subscription after the last event it received. */
import type { LiveMessage } from "@/wire/live-messages";
import { channelOf, parseLiveMessage } from "@/wire/live-messages";

export type ConnectionState = "connecting" | "open" | "lost";
export type Listener = (message: LiveMessage) => void;

interface Channel {
  /** The newest event that was received; null until the server has confirmed the subscription. */
  lastEventId: number | null;
  listeners: Set<Listener>;
}

// The server closes silent connections after a minute; many proxies do earlier.
const PING_EVERY_MS = 20_000;
const PONG_WITHIN_MS = 8_000;
// On a network that drops packets an attempt would hang for minutes.
const OPEN_WITHIN_MS = 15_000;
const FIRST_RECONNECT_MS = 400;
const LONGEST_RECONNECT_MS = 10_000;

/** Doubles up to a limit. `random` in [0, 1) spreads the reconnects of many clients. */
export function reconnectDelay(failures: number, random: number): number {
  const ceiling = Math.min(LONGEST_RECONNECT_MS, FIRST_RECONNECT_MS * 2 ** Math.min(failures, 10));
  return Math.round(ceiling * (0.5 + random / 2));
}

export class LiveSocket {
  private readonly url: string;
  private readonly open: (url: string) => WebSocket;
  private readonly channels = new Map<string, Channel>();
  private readonly observers = new Set<() => void>();
  private socket: WebSocket | null = null;
  private failures = 0;
  private reconnect: ReturnType<typeof setTimeout> | undefined;
  private heartbeat: ReturnType<typeof setInterval> | undefined;
  private deadline: ReturnType<typeof setTimeout> | undefined;
  private current: ConnectionState = "connecting";

  constructor(url: string, open: (url: string) => WebSocket = (address) => new WebSocket(address)) {
    this.url = url;
    this.open = open;
  }

  readonly state = (): ConnectionState => this.current;

  /** Calls `observer` when the connection state changes. */
  readonly observe = (observer: () => void): (() => void) => {
    this.observers.add(observer);
    return () => this.observers.delete(observer);
  };

  /** Delivers the events of a channel after `lastEventId`, or from now on. Returns a function that unsubscribes. */
  subscribe(name: string, listener: Listener, lastEventId: number | null = null): () => void {
    const known = this.channels.get(name);
    const channel = known ?? { lastEventId, listeners: new Set() };
    channel.listeners.add(listener);
    this.channels.set(name, channel);
    if (!this.socket) this.connect();
    else if (!known) this.sendSubscribe(name, channel);
    else if (lastEventId !== null) this.send({ action: "catchup", channel: name, last_event_id: lastEventId });
    return () => {
      channel.listeners.delete(listener);
      if (channel.listeners.size > 0 || this.channels.get(name) !== channel) return;
      this.channels.delete(name);
      this.send({ action: "unsubscribe", channel: name });
    };
  }

  /** Requests the events after the newest received one again, and the whole text of open streams. */
  catchUp(name: string): void {
    const lastEventId = this.channels.get(name)?.lastEventId ?? null;
    if (lastEventId !== null) this.send({ action: "catchup", channel: name, last_event_id: lastEventId });
  }

  /** Reconnects or checks the connection at once: the network is back, or the page is visible again. */
  readonly checkNow = (): void => {
    if (this.current === "open") this.ping();
    else if (this.reconnect !== undefined) this.connect();
  };

  private connect(): void {
    clearTimeout(this.reconnect);
    this.reconnect = undefined;
    const socket = this.open(this.url);
    this.socket = socket;
    socket.onopen = () => {
      clearTimeout(this.deadline);
      for (const [name, channel] of this.channels) this.sendSubscribe(name, channel);
      this.heartbeat = setInterval(() => this.ping(), PING_EVERY_MS);
      this.setState("open");
    };
    socket.onmessage = (frame: MessageEvent<string>) => this.receive(frame.data);
    socket.onclose = () => this.handleClose(socket);
    this.closeAfter(OPEN_WITHIN_MS, socket);
  }

  private handleClose(socket: WebSocket): void {
    if (socket !== this.socket) return;
    this.socket = null;
    clearInterval(this.heartbeat);
    clearTimeout(this.deadline);
    this.setState("lost");
    this.reconnect = setTimeout(() => this.connect(), reconnectDelay(this.failures, Math.random()));
    this.failures += 1;
  }

  private ping(): void {
    this.send({ action: "ping" });
    if (this.socket) this.closeAfter(PONG_WITHIN_MS, this.socket);
  }

  private closeAfter(ms: number, socket: WebSocket): void {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => {
      socket.close();
      this.handleClose(socket);
    }, ms);
  }

  private receive(text: string): void {
    clearTimeout(this.deadline);
    // Reset here rather than on open: a proxy may accept connections of a server that is down.
    this.failures = 0;
    const message = parseLiveMessage(text);
    const name = message && channelOf(message);
    const channel = name ? this.channels.get(name) : undefined;
    if (!message || !channel) return;
    if (message.type === "subscription.confirmed") channel.lastEventId ??= message.last_event_id;
    else if (message.type === "catchup.overflow") channel.lastEventId = message.last_event_id;
    else if ("id" in message) channel.lastEventId = Math.max(channel.lastEventId ?? 0, message.id);
    for (const listener of channel.listeners) {
      try {
        listener(message);
      } catch (error) {
        // The other listeners receive the message all the same.
        reportError(error);
      }
    }
  }

  private sendSubscribe(name: string, { lastEventId }: Channel): void {
    this.send({ action: "subscribe", channel: name, ...(lastEventId === null ? {} : { last_event_id: lastEventId }) });
  }

  private send(action: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(action));
  }

  private setState(state: ConnectionState): void {
    this.current = state;
    for (const observer of this.observers) observer();
  }
}
