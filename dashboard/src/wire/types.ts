/** Short names for the types of the API. */
import type { components, operations } from "./schema";

type Schemas = components["schemas"];

export type SessionStatus = Schemas["SessionStatus"];
export type RunStatus = Schemas["RunStatus"];
export type TimelineStatus = Schemas["TimelineStatus"];
export type TimelineEventType = Schemas["TimelineEventType"];
export type StageType = Schemas["StageType"];
export type ServerState = Schemas["ServerState"];
export type WarningSource = Schemas["WarningSource"];
export type PauseItem = Schemas["PauseItem"];
export type Role = Schemas["Role"];
export type AccessRole = Schemas["AccessRole"];
export type TokenItem = Schemas["TokenItem"];
export type Operation = keyof operations;
export type LLMInteractionKind = Schemas["LLMInteractionKind"];

export type Severity = Schemas["Severity"];
export type IncidentState = Schemas["IncidentState"];
export type AlertStatus = Schemas["AlertStatus"];
export type ChangeOutcome = Schemas["ChangeOutcome"];
export type IncidentItem = Schemas["IncidentItem"];
export type IncidentView = Schemas["IncidentView"];
export type IncidentSession = Schemas["IncidentSession"];
export type AlertItem = Schemas["AlertItem"];
export type ChangeItem = Schemas["ChangeItem"];
export type Activity = Schemas["ActivityView"];
export type MuteItem = Schemas["MuteItem"];

export type SessionSort = Schemas["SessionSort"];
export type SortOrder = Schemas["SortOrder"];
export type SessionListItem = Schemas["SessionListItem"];
export type SessionList = Schemas["SessionList"];
export type SessionDetail = Schemas["SessionDetail"];
export type StageView = Schemas["StageView"];
export type ExecutionView = Schemas["ExecutionView"];
export type PlannedStage = Schemas["PlannedStage"];

/** Live events have no position: they are appended in the order of their arrival. */
export type TimelineEvent = Omit<Schemas["TimelineEventView"], "position">;

export type ChatMessage = Schemas["ChatMessage"];
export type Note = Schemas["NoteView"];
export type NoteKind = Schemas["NoteKind"];
export type NoteState = Schemas["NoteState"];
export type Sample = Schemas["Sample"];
export type AlertRequest = Schemas["AlertRequest"];
export type McpSelection = Schemas["McpSelection"];
export type MCPServerItem = Schemas["MCPServerItem"];
export type RefusedDeliveryItem = Schemas["RefusedDeliveryItem"];
export type NotificationItem = Schemas["NotificationItem"];
export type NotificationStatus = Schemas["NotificationStatus"];
export type NotificationTarget = Schemas["TargetItem"];
export type SystemWarningItem = Schemas["SystemWarningItem"];
export type LLMCallItem = Schemas["LLMCallItem"];
export type MCPCallItem = Schemas["MCPCallItem"];
export type LLMCallDetail = Schemas["LLMCallDetail"];
export type MCPCallDetail = Schemas["MCPCallDetail"];
export type SentMessage = Schemas["SentMessageView"];
export type ForkRequest = Schemas["ForkRequest"];
/** The calls only: the relation of agents is known from the session. */
export type TraceList = Pick<Schemas["TraceList"], "llm" | "mcp">;
export type SetupState = Schemas["SetupState"];
export type SetupOutcome = Schemas["SetupOutcome"];
export type VendorItem = Schemas["VendorItem"];
export type RecipeItem = Schemas["RecipeItem"];
export type HealthReport = Schemas["HealthReport"];
export type Period = Schemas["Period"];
export type UsageOverview = Schemas["UsageOverview"];
export type UsageTrends = Schemas["UsageTrendsView"];
export type DayUsageItem = Schemas["DayUsageItem"];
export type WeekItem = Schemas["WeekItem"];
export type UsedItem = Schemas["UsedItem"];
export type ToolUseItem = Schemas["ToolUseItem"];
export type DearSessionItem = Schemas["DearSessionItem"];
export type PeriodBudgetItem = Schemas["PeriodBudgetItem"];
export type Problem = Schemas["Problem"];
export type Verdict = Schemas["VerdictView"];
export type VerdictOutcome = Schemas["VerdictOutcome"];
export type Confidence = Schemas["Confidence"];
export type CitationSums = Schemas["CitationSums"];
export type Citation = Schemas["CitationView"];
export type CitationList = Schemas["CitationList"];
export type CitationStatus = Schemas["CitationStatus"];
export type EvidenceDetail = Schemas["EvidenceDetail"];
export type Accuracy = Schemas["Accuracy"];
export type ReviewRequest = Schemas["ReviewRequest"];
export type Review = Schemas["ReviewView"];
export type Approval = Schemas["ApprovalView"];
export type ApprovalState = Schemas["ApprovalState"];
export type CallOutcome = Schemas["CallOutcome"];
export type ReviewFigures = Schemas["ReviewFiguresView"];
export type ReviewWeekItem = Schemas["ReviewWeekItem"];
export type Triage = Schemas["TriageView"];
export type TriageRequest = Schemas["TriageRequest"];
export type AuditAction = Schemas["AuditAction"];
export type AuditEntry = Schemas["AuditEntryView"];
