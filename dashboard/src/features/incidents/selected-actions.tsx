/** Actions on the selected incidents: investigating and resolving them. */
import { CircleCheck, Search } from "lucide-react";
import { incidentKeys, investigate, resolveIncident } from "@/api/incidents";
import { SelectionBar } from "@/presentation/selection-bar";
import { hasEnded } from "@/presentation/statuses";
import type { IncidentItem } from "@/wire/types";

export function SelectedActions({ selected, onClear }: { selected: readonly IncidentItem[]; onClear: () => void }) {
  const idsOf = (isEligible: (incident: IncidentItem) => boolean) => selected.filter(isEligible).map(({ id }) => id);
  return (
    <SelectionBar
      noun="incident"
      count={selected.length}
      queryKey={incidentKeys.all}
      onClear={onClear}
      actions={[
        {
          label: "Investigate",
          icon: <Search size={15} />,
          operation: "investigateIncident",
          ids: idsOf(({ last_session_status: status }) => status === null || hasEnded(status)),
          run: (ids) => forEach(ids, investigate),
          text: "Each of them is investigated, or investigated again.",
          failure: "Not all of them are investigated.",
        },
        {
          label: "Resolve",
          icon: <CircleCheck size={15} />,
          operation: "resolveIncident",
          ids: idsOf(({ resolved_at: resolved }) => resolved === null),
          run: (ids) => forEach(ids, resolveIncident),
          text: "Waiting investigations of them are cancelled. An incident whose alerts fire again is opened again.",
          failure: "Not all of them are resolved.",
        },
      ]}
    />
  );
}

async function forEach(ids: readonly string[], run: (id: string) => Promise<unknown>): Promise<void> {
  for (const id of ids) await run(id);
}
