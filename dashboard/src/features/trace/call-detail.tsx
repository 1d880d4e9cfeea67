/** One call, whole. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import IconButton from "@mui/material/IconButton";
import Stack from "@mui/material/Stack";
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { llmCall, mcpCall } from "@/api/trace";
import { DataView } from "@/components/data-view";
import { MONO } from "@/components/text-styles";
import { formatDollars, formatDuration } from "@/components/format";
import { Fact, Section } from "@/components/section";
import { Failure, Loading } from "@/components/states";
import { RelativeTime } from "@/components/times";
import type { LLMCallDetail, MCPCallDetail } from "@/wire/types";
import { Conversation } from "./conversation";
import type { Call } from "./waterfall";

export function CallDetail({ sessionId, call, onClose }: { sessionId: string; call: Call; onClose: () => void }) {
  const close = (
    <IconButton size="small" aria-label="Close" onClick={onClose}>
      <X size={16} />
    </IconButton>
  );
  return (
    <Section title={call.label} actions={close}>
      {call.kind === "llm" ? <ModelCall key={call.id} sessionId={sessionId} id={call.id} /> : <ToolCall sessionId={sessionId} id={call.id} />}
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
      <Conversation messages={data.conversation} />
      {data.response && <DataView text={JSON.stringify(data.response)} label="Answer as received" maxHeight={360} />}
      <DataView text={JSON.stringify(data.request)} label="Request settings" maxHeight={240} />
    </Stack>
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
      <Fact name="out">{usage.output_tokens.toLocaleString()}</Fact>
      <Fact name="thinking">{usage.thinking_tokens.toLocaleString()}</Fact>
      <Fact name="cached">{usage.cached_tokens.toLocaleString()}</Fact>
      <Fact name="Cost">{call.cost_usd === null ? "price not known" : formatDollars(call.cost_usd)}</Fact>
    </Box>
  );
}

function ToolCall({ sessionId, id }: { sessionId: string; id: string }) {
  const { data, error, refetch } = useQuery(mcpCall(sessionId, id));
  if (error) return <Failure what="The call could not be loaded." error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading what="the call" />;
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
      </Box>
      {data.error_message && (
        <Alert severity="error" variant="outlined" sx={{ overflowWrap: "anywhere" }}>
          {data.error_message}
        </Alert>
      )}
      {data.arguments && <DataView text={data.arguments} label="Arguments" maxHeight={260} />}
      {data.result && <DataView text={resultText(data)} label="Result" maxHeight={520} />}
    </Stack>
  );
}

/** A result with a text is shown as that text: it is what the agent read. */
function resultText(call: MCPCallDetail): string {
  const content = call.result?.["content"];
  return typeof content === "string" ? content : JSON.stringify(call.result);
}
