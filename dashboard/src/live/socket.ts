/** The transport: one WebSocket, kept open, with every watched channel subscribed from where it was. */
import type { LiveMessage } from "@/wire/live-messages";
import { channelOf, parseLiveMessage } from "@/wire/live-messages";

export type ConnectionState = "connecting" | "open" | "lost";
export type Listener = (message: LiveMessage) => void;

interface Channel {
  /** The newest event that was seen; null until the server has said where the channel is. */
  lastEventId: number | null;
  listeners: Set<Listener>;
}

// The server closes silent connections after a minute; proxies often do after less.
const PING_EVERY_MS = 20_000;
const PONG_WITHIN_MS = 8_000;
// A network that swallows packets lets an attempt hang for minutes, long after it has come back.
const OPEN_WITHIN_MS = 15_000;
// Before the next attempt to connect.
const FIRST_MS = 400;
const LONGEST_MS = 10_000;

/** Doubles up to a limit; `random` in [0, 1) spreads the clients of a server that has just come back. */
export function reconnectDelay(failures: number, random: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.round(ceiling * (0.5 + random / 2));
}

export class LiveSocket {
  private readonly url: string;
  private readonly open: (url: string) => WebSocket;
  private readonly channels = new Map<string, Channel>();
  private readonly observers = new Set<() => void>();
  private socket: WebSocket | null = null;
  private failures = 0;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private heartbeat: ReturnType<typeof setInterval> | undefined;
  private deadline: ReturnType<typeof setTimeout> | undefined;
  private current: ConnectionState = "connecting";

  constructor(url: string, open: (url: string) => WebSocket = (address) => new WebSocket(address)) {
    this.url = url;
    this.open = open;
  }

  readonly state = (): ConnectionState => this.current;

  readonly observe = (observer: () => void): (() => void) => {
    this.observers.add(observer);
    return () => this.observers.delete(observer);
  };

  /** Listen to a channel from after `lastEventId`, or from now on. Returns how to stop. */
  watch(name: string, listener: Listener, lastEventId: number | null = null): () => void {
    const known = this.channels.get(name);
    const channel = known ?? { lastEventId, listeners: new Set() };
    channel.listeners.add(listener);
    this.channels.set(name, channel);
    if (!this.socket) this.connect();
    else if (!known) this.subscribe(name, channel);
    else if (lastEventId !== null) this.send({ action: "catchup", channel: name, last_event_id: lastEventId });
    return () => this.unwatch(name, channel, listener);
  }

  /** Hear again what follows the newest event that was seen, and the whole of each text that is being written. */
  retell(name: string): void {
    const lastEventId = this.channels.get(name)?.lastEventId ?? null;
    if (lastEventId !== null) this.send({ action: "catchup", channel: name, last_event_id: lastEventId });
  }

  /** Do not wait for the next attempt: the network is back, or the reader looks at the page again. */
  readonly hurry = (): void => {
    if (this.current === "open") this.ping();
    else if (this.retry !== undefined) this.connect();
  };

  private unwatch(name: string, channel: Channel, listener: Listener): void {
    channel.listeners.delete(listener);
    if (channel.listeners.size > 0 || this.channels.get(name) !== channel) return;
    this.channels.delete(name);
    this.send({ action: "unsubscribe", channel: name });
  }

  private connect(): void {
    clearTimeout(this.retry);
    this.retry = undefined;
    const socket = this.open(this.url);
    this.socket = socket;
    socket.onopen = () => this.opened();
    socket.onmessage = (frame: MessageEvent<string>) => this.received(frame.data);
    socket.onclose = () => this.closed(socket);
    this.giveUpAfter(OPEN_WITHIN_MS, socket);
  }

  private opened(): void {
    clearTimeout(this.deadline);
    for (const [name, channel] of this.channels) this.subscribe(name, channel);
    this.heartbeat = setInterval(() => this.ping(), PING_EVERY_MS);
    this.become("open");
  }

  private closed(socket: WebSocket): void {
    if (socket !== this.socket) return;
    this.socket = null;
    clearInterval(this.heartbeat);
    clearTimeout(this.deadline);
    this.become("lost");
    this.retry = setTimeout(() => this.connect(), reconnectDelay(this.failures, Math.random()));
    this.failures += 1;
  }

  private ping(): void {
    this.send({ action: "ping" });
    if (this.socket) this.giveUpAfter(PONG_WITHIN_MS, this.socket);
  }

  private giveUpAfter(ms: number, socket: WebSocket): void {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => {
      socket.close();
      this.closed(socket);
    }, ms);
  }

  private received(text: string): void {
    clearTimeout(this.deadline);
    // Not when it opens: a proxy may take the connection of a server that is not there.
    this.failures = 0;
    const message = parseLiveMessage(text);
    const name = message && channelOf(message);
    const channel = name ? this.channels.get(name) : undefined;
    if (!message || !channel) return;
    if (message.type === "subscription.confirmed") channel.lastEventId ??= message.last_event_id;
    else if (message.type === "catchup.overflow") channel.lastEventId = message.last_event_id;
    else if ("id" in message) channel.lastEventId = Math.max(channel.lastEventId ?? 0, message.id);
    for (const listener of channel.listeners) listener(message);
  }

  private subscribe(name: string, channel: Channel): void {
    const from = channel.lastEventId === null ? {} : { last_event_id: channel.lastEventId };
    this.send({ action: "subscribe", channel: name, ...from });
  }

  private send(action: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(action));
  }

  private become(state: ConnectionState): void {
    this.current = state;
    for (const observer of this.observers) observer();
  }
}
