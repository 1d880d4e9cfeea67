/** The timeline of a session in the browser, and how live messages change it. */
import type { LiveMessage } from "@/wire/live-messages";
import type { TimelineEvent } from "@/wire/types";

export interface TimelineBuffer {
  /** In the order of the session. An unchanged event is the same object as before. */
  readonly events: readonly TimelineEvent[];
  /** The events when one was last added or completed: the same array while only text grows. */
  readonly shape: readonly TimelineEvent[];
  readonly indexById: ReadonlyMap<string, number>;
  /** The number of received characters of each open stream. */
  readonly streamed: ReadonlyMap<string, number>;
  /** Something is missing that only a reload can bring. */
  readonly incomplete: boolean;
}

export const EMPTY_TIMELINE: TimelineBuffer = { events: [], shape: [], indexById: new Map(), streamed: new Map(), incomplete: false };

/** The stored timeline, as loaded over REST. The received text of open streams is kept. */
export function loadedTimeline(events: readonly TimelineEvent[], before: TimelineBuffer = EMPTY_TIMELINE): TimelineBuffer {
  const streamed = new Map<string, number>();
  const kept = events.map((event) => {
    if (event.status !== "streaming") return event;
    const characters = before.streamed.get(event.id) ?? 0;
    const known = eventById(before, event.id);
    streamed.set(event.id, characters);
    return known && characters > 0 ? { ...event, content: known.content } : event;
  });
  return { events: kept, shape: kept, indexById: new Map(kept.map((event, index) => [event.id, index])), streamed, incomplete: false };
}

export function eventById(buffer: TimelineBuffer, id: string): TimelineEvent | undefined {
  const index = buffer.indexById.get(id);
  return index === undefined ? undefined : buffer.events[index];
}

/** Applies messages in the order of their arrival. A repeated message changes nothing. */
export function applyMessages(buffer: TimelineBuffer, messages: readonly LiveMessage[]): TimelineBuffer {
  const draft = new Draft(buffer);
  for (const message of messages) draft.apply(message);
  return draft.result();
}

/** Copies what it changes once per batch: a frame with hundreds of chunks costs one copy. */
class Draft {
  private events: TimelineEvent[] | null = null;
  private indexById: Map<string, number> | null = null;
  private streamed: Map<string, number> | null = null;
  private reshaped = false;
  private incomplete: boolean;
  private readonly base: TimelineBuffer;

  constructor(base: TimelineBuffer) {
    this.base = base;
    this.incomplete = base.incomplete;
  }

  apply(message: LiveMessage): void {
    switch (message.type) {
      case "timeline_event.created":
        this.create(message.event);
        break;
      case "timeline_event.completed":
        this.complete(message);
        break;
      case "stream.chunk":
        this.append(message.event_id, message.offset, message.delta);
        break;
      case "catchup.overflow":
        this.incomplete = true;
        break;
      case "connection.established":
      case "subscription.confirmed":
      case "subscription.error":
      case "error":
      case "pong":
      case "session.status":
      case "session.concluded":
      case "session.completed":
      case "session.progress":
      case "stage.started":
      case "stage.completed":
      case "execution.status":
      case "chat.message":
      case "note.created":
      case "approval.changed":
      case "interaction.created":
      case "pauses.changed":
      case "incident.changed":
        break;
    }
  }

  result(): TimelineBuffer {
    const { events, indexById, streamed, incomplete } = this;
    if (!events && !indexById && !streamed && incomplete === this.base.incomplete) return this.base;
    return {
      events: events ?? this.base.events,
      shape: this.reshaped && events ? events : this.base.shape,
      indexById: indexById ?? this.base.indexById,
      streamed: streamed ?? this.base.streamed,
      incomplete,
    };
  }

  private create(event: TimelineEvent): void {
    if ((this.indexById ?? this.base.indexById).has(event.id)) return;
    this.events ??= [...this.base.events];
    this.indexById ??= new Map(this.base.indexById);
    this.indexById.set(event.id, this.events.push(event) - 1);
    this.reshaped = true;
    if (event.status === "streaming") this.setStreamed(event.id, 0);
  }

  private complete(message: Extract<LiveMessage, { type: "timeline_event.completed" }>): void {
    const event = this.find(message.event_id);
    if (!event) {
      // Created before the subscription, and not in the loaded timeline.
      this.incomplete = true;
      return;
    }
    this.replace({
      ...event,
      event_type: message.event_type ?? event.event_type,
      status: message.status,
      content: message.content,
      metadata: { ...event.metadata, ...message.metadata },
      completed_at: message.completed_at,
    });
    this.reshaped = true;
    this.streamed ??= new Map(this.base.streamed);
    this.streamed.delete(event.id);
  }

  /** Offsets count characters (code points), of which an emoji is one; JavaScript strings count two units for it. */
  private append(id: string, offset: number, delta: string): void {
    const event = this.find(id);
    if (event?.status !== "streaming") return;
    const received = (this.streamed ?? this.base.streamed).get(id) ?? 0;
    if (offset > received) {
      this.incomplete = true;
      return;
    }
    const kept = offset === received ? event.content : Array.from(event.content).slice(0, offset).join("");
    this.replace({ ...event, content: offset === 0 ? delta : kept + delta });
    this.setStreamed(id, offset + Array.from(delta).length);
  }

  private find(id: string): TimelineEvent | undefined {
    const index = (this.indexById ?? this.base.indexById).get(id);
    return index === undefined ? undefined : (this.events ?? this.base.events)[index];
  }

  private replace(event: TimelineEvent): void {
    const index = (this.indexById ?? this.base.indexById).get(event.id);
    if (index === undefined) return;
    this.events ??= [...this.base.events];
    this.events[index] = event;
  }

  private setStreamed(id: string, characters: number): void {
    this.streamed ??= new Map(this.base.streamed);
    this.streamed.set(id, characters);
  }
}
