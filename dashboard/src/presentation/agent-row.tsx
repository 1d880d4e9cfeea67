/** A row of one agent's timeline, wherever it stands: what the agent did, whom it sent, and what those did. */
import type { ReactNode } from "react";
import type { ExecutionView } from "@/wire/types";
import { Entry } from "./entries";
import { BackToCall, SentEntry, WithinSent } from "./sent-entry";
import type { AgentTimelineRow } from "./timeline-rows";
import { isReport } from "./timeline-rows";

interface AgentRowProps {
  row: AgentTimelineRow;
  /** Another name for what an entry is. */
  title?: string | undefined;
  onLink?: (eventId: string) => void;
  onToggle: (executionId: string) => void;
  /** Go to the call that sent an agent. */
  onBack: (executionId: string) => void;
  /** What else can be done with an agent that was sent. */
  actionsOf?: (execution: ExecutionView) => ReactNode;
}

export function AgentRow({ row, title, onLink, onToggle, onBack, actionsOf }: AgentRowProps) {
  switch (row.kind) {
    case "sent":
      return <SentEntry row={row} onToggle={onToggle} actions={actionsOf?.(row.execution)} {...(onLink ? { onLink } : {})} />;
    case "back":
      return <BackToCall row={row} onBack={onBack} />;
    case "tool":
    case "event":
      return row.within ? (
        <WithinSent>
          <Entry row={row} repeated={isReport(row)} onLink={onLink} />
        </WithinSent>
      ) : (
        <Entry row={row} title={title} onLink={onLink} />
      );
  }
}
