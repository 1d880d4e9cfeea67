/** One call, whole. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import Stack from "@mui/material/Stack";
import Tooltip from "@mui/material/Tooltip";
import Typography from "@mui/material/Typography";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronDown, ChevronUp, Terminal, X } from "lucide-react";
import type { ReactNode } from "react";
import { llmCall, llmCallAsCurl, mcpCall } from "@/api/trace";
import { copyText } from "@/components/clipboard";
import { CopyButton } from "@/components/copy-button";
import { DataView } from "@/components/data-view";
import { MONO } from "@/components/text-styles";
import { formatDollars, formatDuration } from "@/components/format";
import { Fact, Section } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { RelativeTime } from "@/components/times";
import type { LLMCallDetail, MCPCallDetail } from "@/wire/types";
import { Conversation } from "./conversation";
import { conversationText } from "./conversation-text";
import { errandOf } from "./errand";
import type { Call } from "./waterfall";

/** What stands beside a model's call: the way to take the investigation up anew from there, or why there is none. */
export type ForkSlot = (call: Call) => ReactNode;

interface CallDetailProps {
  sessionId: string;
  call: Call;
  /** Which of the calls that are shown it is; null if it is none of them. */
  place: { number: number; of: number } | null;
  onPrevious: (() => void) | undefined;
  onNext: (() => void) | undefined;
  onClose: () => void;
  fork: ForkSlot;
}

export function CallDetail({ sessionId, call, place, onPrevious, onNext, onClose, fork }: CallDetailProps) {
  const actions = (
    <Stack direction="row" sx={{ alignItems: "center" }}>
      {call.kind === "llm" && fork(call)}
      {place && (
        <Typography variant="caption" color="textSecondary" sx={{ mx: 1, fontVariantNumeric: "tabular-nums" }}>
          {place.number} of {place.of}
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
  const { data, error, refetch } = useQuery(llmCall(sessionId, id));
  if (error) return <Failure what="The call could not be loaded." error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="the call" />;
  return (
    <Stack spacing={2}>
      <ModelFacts call={data} />
      {data.error_message && (
        <Alert severity="error" variant="outlined" sx={{ overflowWrap: "anywhere" }}>
          {data.error_code && <strong>{data.error_code}: </strong>}
          {data.error_message}
        </Alert>
      )}
      <Conversation messages={data.conversation} actions={<ConversationActions sessionId={sessionId} call={data} />} />
      {data.response && <DataView text={JSON.stringify(data.response)} label="Answer as received" maxHeight={360} />}
      <DataView text={JSON.stringify(data.request)} label="Request settings" maxHeight={240} />
    </Stack>
  );
}

function ConversationActions({ sessionId, call }: { sessionId: string; call: LLMCallDetail }) {
  const client = useQueryClient();
  const curl = useMutation({ mutationFn: () => client.query(llmCallAsCurl(sessionId, call.id)).then(copyText) });
  return (
    <>
      <CopyButton text={() => conversationText(call)} label="Copy all" />
      <Tooltip describeChild title="Copy a command that asks the vendor the same; the key is named by its variable">
        <Button size="small" startIcon={<Terminal size={15} />} onClick={() => curl.mutate()}>
          {curl.isSuccess ? "Copied" : "Copy as curl"}
        </Button>
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
  const { data, error, refetch } = useQuery(mcpCall(sessionId, id));
  if (error) return <Failure what="The call could not be loaded." error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="the call" />;
  const errand = errandOf(data);
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
        {errand && <Fact name="Agent">{errand.agent}</Fact>}
        {errand && errand.given.length > 0 && <Fact name="Given to read">{errand.given.join(", ")}</Fact>}
      </Box>
      {data.error_message && (
        <Alert severity="error" variant="outlined" sx={{ overflowWrap: "anywhere" }}>
          {data.error_message}
        </Alert>
      )}
      {errand ? <DataView text={errand.task} label={`Task of ${errand.agent}`} raw maxHeight={260} /> : data.arguments && <DataView text={data.arguments} label="Arguments" maxHeight={260} />}
      {data.result && <DataView text={resultText(data)} label="Result" maxHeight={520} />}
    </Stack>
  );
}

/** A result with a text is shown as that text: it is what the agent read. */
function resultText(call: MCPCallDetail): string {
  const content = call.result?.["content"];
  return typeof content === "string" ? content : JSON.stringify(call.result);
}
