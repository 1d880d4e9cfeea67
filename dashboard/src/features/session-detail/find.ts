/** Pure module: where in a timeline, and in the results of its tools, words stand. */
import { entryRows, eventsOfRow } from "@/presentation/timeline-rows";
import type { StageView, TimelineEvent } from "@/wire/types";

// Fewer would find everything.
const FEWEST_CHARACTERS = 2;

/** The events to go to, one for each entry that holds the words, in the order of the page: by stage, by agent, and as they happened. */
export function findEntries(stages: readonly StageView[], events: readonly TimelineEvent[], words: string): string[] {
  const wanted = words.trim().toLowerCase();
  if (wanted.length < FEWEST_CHARACTERS) return [];
  const order = new Map(stages.flatMap((stage) => stage.executions).map((execution, place) => [execution.id, place]));
  const stagePlace = new Map(stages.map((stage, place) => [stage.id, place]));
  const placeOf = (event: TimelineEvent) => [event.stage_id === null ? -1 : (stagePlace.get(event.stage_id) ?? stages.length), event.execution_id === null ? -1 : (order.get(event.execution_id) ?? order.size)] as const;
  return entryRows(events)
    .flatMap((row) => eventsOfRow(row).find((event) => holds(event, wanted)) ?? [])
    .sort((a, b) => {
      const [before, after] = [placeOf(a), placeOf(b)];
      return before[0] - after[0] || before[1] - after[1];
    })
    .map((event) => event.id);
}

function holds({ content, metadata }: TimelineEvent, wanted: string): boolean {
  const names = ["evidence_id", "server_name", "tool_name"].map((name) => metadata[name]).filter((name) => typeof name === "string");
  return content.toLowerCase().includes(wanted) || names.join(".").toLowerCase().includes(wanted);
}

/** The next place in a circle; from none it is the first, or the last. */
export function stepFrom(at: number, by: 1 | -1, count: number): number {
  if (at === -1) return by === 1 ? 0 : count - 1;
  return (at + by + count) % count;
}
