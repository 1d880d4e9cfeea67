/** The details of one call. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import IconButton from "@mui/material/IconButton";
import Stack from "@mui/material/Stack";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronDown, ChevronUp, Terminal, X } from "lucide-react";
import { llmCall, llmCallAsCurl, mcpCall } from "@/api/trace";
import { CopyButton } from "@/components/copy-button";
import { DataView } from "@/components/data-view";
import { formatDollars, formatDuration } from "@/components/format";
import { Fact, Section } from "@/components/section";
import { Loaded } from "@/components/states";
import { MONO } from "@/components/text-styles";
import { RelativeTime } from "@/components/times";
import { ForkButton } from "@/presentation/fork-dialog";
import { MetricChart } from "@/presentation/metric-chart";
import { RUN_AGENT } from "@/presentation/timeline-rows";
import type { LLMCallDetail, MCPCallDetail } from "@/wire/types";
import { Conversation, conversationText } from "./conversation";
import type { Call } from "./waterfall";

interface CallDetailProps {
  sessionId: string;
  call: Call;
  /** Its position among the visible calls; null if it is hidden by a filter. */
  position: { number: number; of: number } | null;
  onPrevious: (() => void) | undefined;
  onNext: (() => void) | undefined;
  onClose: () => void;
}

export function CallDetail({ sessionId, call, position, onPrevious, onNext, onClose }: CallDetailProps) {
  const actions = (
    <Stack direction="row" sx={{ alignItems: "center" }}>
      {call.kind === "llm" && <ForkButton sessionId={sessionId} executionId={call.lane} turn={call.turn} />}
      {position && (
        <Typography variant="caption" color="textSecondary" sx={{ mx: 1, fontVariantNumeric: "tabular-nums" }}>
          {position.number} of {position.of}
        </Typography>
      )}
      <IconButton size="small" aria-label="Previous call" aria-keyshortcuts="k" disabled={!onPrevious} onClick={onPrevious}>
        <ChevronUp size={16} />
      </IconButton>
      <IconButton size="small" aria-label="Next call" aria-keyshortcuts="j" disabled={!onNext} onClick={onNext}>
        <ChevronDown size={16} />
      </IconButton>
      <IconButton size="small" aria-label="Close" onClick={onClose}>
        <X size={16} />
      </IconButton>
    </Stack>
  );
  return (
    <Section title={call.label} actions={actions}>
      {call.kind === "llm" ? <ModelCall key={call.id} sessionId={sessionId} id={call.id} /> : <ToolCall key={call.id} sessionId={sessionId} id={call.id} />}
    </Section>
  );
}

function ModelCall({ sessionId, id }: { sessionId: string; id: string }) {
  return (
    <Loaded query={useQuery(llmCall(sessionId, id))} what="the call" failure="The call could not be loaded.">
      {(call) => (
        <Stack spacing={2}>
          <ModelFacts call={call} />
          {call.error_message && (
            <Alert severity="error" variant="outlined" sx={{ overflowWrap: "anywhere" }}>
              {call.error_code && <strong>{call.error_code}: </strong>}
              {call.error_message}
            </Alert>
          )}
          <Conversation messages={call.conversation} actions={<ConversationActions sessionId={sessionId} call={call} />} />
          {call.response && <DataView text={JSON.stringify(call.response)} label="Answer as received" maxHeight={360} />}
          <DataView text={JSON.stringify(call.request)} label="Request settings" maxHeight={240} />
        </Stack>
      )}
    </Loaded>
  );
}

function ConversationActions({ sessionId, call }: { sessionId: string; call: LLMCallDetail }) {
  const client = useQueryClient();
  const curl = useMutation({ mutationFn: () => client.query(llmCallAsCurl(sessionId, call.id)) });
  return (
    <>
      <CopyButton text={() => conversationText(call)} label="Copy all" />
      <Tooltip describeChild title="Copy a command that asks the vendor the same; the key is named by its variable">
        <CopyButton text={() => curl.mutateAsync()} label="Copy as curl" icon={<Terminal size={15} />} />
      </Tooltip>
      {curl.error && (
        <Typography variant="caption" color="error" role="alert" sx={{ width: "100%" }}>
          {curl.error.message}
        </Typography>
      )}
    </>
  );
}

function ModelFacts({ call }: { call: LLMCallDetail }) {
  const { usage } = call;
  return (
    <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 3, rowGap: 1, m: 0 }}>
      <Fact name="Model">
        <Box component="span" sx={{ fontFamily: MONO, fontSize: "0.8rem" }}>
          {call.provider} / {call.model}
        </Box>
      </Fact>
      <Fact name="Started">
        <RelativeTime at={call.started_at} />
      </Fact>
      <Fact name="Duration">{formatDuration(call.duration_ms)}</Fact>
      {call.first_chunk_ms !== null && <Fact name="First word after">{formatDuration(call.first_chunk_ms)}</Fact>}
      <Fact name="Tokens in">{usage.input_tokens.toLocaleString()}</Fact>
      <Fact name="Tokens out">{usage.output_tokens.toLocaleString()}</Fact>
      <Fact name="Of it thinking">{usage.thinking_tokens.toLocaleString()}</Fact>
      <Fact name="From the cache">
        {usage.cached_tokens.toLocaleString()}
        {usage.input_tokens > 0 && ` (${Math.round((100 * usage.cached_tokens) / usage.input_tokens)} %)`}
      </Fact>
      <Fact name="Cost">{call.cost_usd === null ? "price not known" : formatDollars(call.cost_usd)}</Fact>
    </Box>
  );
}

function ToolCall({ sessionId, id }: { sessionId: string; id: string }) {
  return (
    <Loaded query={useQuery(mcpCall(sessionId, id))} what="the call" failure="The call could not be loaded.">
      {(call) => <ToolCallData data={call} />}
    </Loaded>
  );
}

function ToolCallData({ data }: { data: MCPCallDetail }) {
  const dispatch = parseDispatch(data);
  return (
    <Stack spacing={2}>
      <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 3, rowGap: 1, m: 0 }}>
        <Fact name="Server">{data.server}</Fact>
        {data.tool && <Fact name="Tool">{data.tool}</Fact>}
        <Fact name="Started">
          <RelativeTime at={data.started_at} />
        </Fact>
        <Fact name="Duration">{formatDuration(data.duration_ms)}</Fact>
        {data.call_id && <Fact name="Call id">{data.call_id}</Fact>}
        {dispatch && <Fact name="Agent">{dispatch.agent}</Fact>}
        {dispatch && dispatch.contextIds.length > 0 && <Fact name="Given to read">{dispatch.contextIds.join(", ")}</Fact>}
      </Box>
      {data.error_message && (
        <Alert severity="error" variant="outlined" sx={{ overflowWrap: "anywhere" }}>
          {data.error_message}
        </Alert>
      )}
      {dispatch ? <DataView text={dispatch.task} label={`Task of ${dispatch.agent}`} raw maxHeight={260} /> : data.arguments && <DataView text={data.arguments} label="Arguments" maxHeight={260} />}
      {data.result && <MetricChart text={resultText(data)} />}
      {data.result && <DataView text={resultText(data)} label="Result" maxHeight={520} />}
    </Stack>
  );
}

/** The text that the agent read, if the result has one. */
function resultText(call: MCPCallDetail): string {
  const content = call.result?.["content"];
  return typeof content === "string" ? content : JSON.stringify(call.result);
}

interface Dispatch {
  agent: string;
  task: string;
  /** The ids of the evidence that the sub-agent was given. */
  contextIds: readonly string[];
}

/** The sub-agent that a call dispatched; null for other calls, and for malformed arguments. */
export function parseDispatch(call: Pick<MCPCallDetail, "server" | "tool" | "arguments">): Dispatch | null {
  if (call.server !== "tarsy" || call.tool !== RUN_AGENT) return null;
  try {
    const args = JSON.parse(call.arguments ?? "") as Record<string, unknown> | null;
    if (typeof args?.["name"] !== "string" || typeof args["task"] !== "string") return null;
    const ids = args["context_ids"];
    return { agent: args["name"], task: args["task"], contextIds: Array.isArray(ids) ? ids.map(String) : [] };
  } catch {
    return null;
  }
}
