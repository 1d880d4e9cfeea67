/** A text field for an alert that highlights, checks and formats JSON and YAML. */
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useDeferredValue, useEffect, useMemo, useState } from "react";
import { DataLine, useHighlighter } from "@/components/data-line";
import { formatTextSize } from "@/components/format";
import type { DataFormat } from "@/components/structured-text";
import { looksLikeYaml, prettyJson } from "@/components/structured-text";
import { CODE_COLORS, MONO } from "@/components/text-styles";

const LINE = "20px";
// Highlighting a longer text with every key would slow down typing.
const HIGHLIGHTED_UP_TO = 60_000;
const SHARED = { fontFamily: MONO, fontSize: "0.8rem", lineHeight: LINE, whiteSpace: "pre-wrap", overflowWrap: "anywhere", p: 1.5, m: 0, tabSize: 2 } as const;

export function AlertEditor({ value, onChange, invalid }: { value: string; onChange: (value: string) => void; invalid: boolean }) {
  const check = useCheck(value);
  return (
    <Box>
      <Box sx={{ position: "relative", border: 1, borderColor: invalid ? "error.main" : "divider", borderRadius: 1, bgcolor: "code.block", maxHeight: 460, overflow: "auto", "&:focus-within": { outline: "2px solid", outlineColor: "primary.main" } }}>
        <HighlightedText text={value} check={check} />
        <Box
          component="textarea"
          aria-label="Alert text"
          aria-invalid={invalid}
          aria-describedby="alert-check"
          spellCheck={false}
          value={value}
          placeholder={"Paste the alert here: plain text, JSON or YAML."}
          onChange={(event: React.ChangeEvent<HTMLTextAreaElement>) => onChange(event.target.value)}
          sx={{ ...SHARED, position: "absolute", inset: 0, width: "100%", height: "100%", border: 0, outline: "none", resize: "none", bgcolor: "transparent", color: value.length > HIGHLIGHTED_UP_TO ? "text.primary" : "transparent", caretColor: "var(--mui-palette-text-primary)", overflow: "hidden", "&::placeholder": { color: "text.secondary", opacity: 1 } }}
        />
      </Box>
      <Stack direction="row" sx={{ alignItems: "center", gap: 1, minHeight: 34 }}>
        <Typography id="alert-check" variant="caption" component="div" sx={{ flex: 1, color: check.problem ? "warning.main" : "text.secondary" }}>
          <span role="status">{describe(check, value)}</span>
          {/* Outside of the live region: it changes with every key. */}
          {value.trim() !== "" && ` · ${formatTextSize(value)}`}
        </Typography>
        {check.format === "json" && !check.problem && (
          <Button size="small" onClick={() => onChange(prettyJson(value) ?? value)}>
            Format
          </Button>
        )}
      </Stack>
    </Box>
  );
}

function describe(check: TextCheck, value: string): string {
  if (value.trim() === "") return "Anything your monitoring sends. It is passed on as it is.";
  const name = { json: "JSON", yaml: "YAML", text: "Plain text" }[check.format];
  return check.problem ? `Looks like ${name}, but ${check.problem}. You can submit it anyway.` : name;
}

function HighlightedText({ text, check }: { text: string; check: TextCheck }) {
  const shown = useDeferredValue(text);
  const tokensOf = useHighlighter(check.format);
  const lines = useMemo(() => (shown.length > HIGHLIGHTED_UP_TO ? null : shown.split("\n")), [shown]);
  return (
    <Box component="pre" aria-hidden sx={{ ...SHARED, minHeight: 260, pointerEvents: "none", ...CODE_COLORS }}>
      {lines === null
        ? text
        : lines.map((line, index) => (
            <span key={index}>
              <DataLine text={line} format={check.format} tokensOf={tokensOf} />
              {"\n"}
            </span>
          ))}
    </Box>
  );
}

/** Asynchronous, because the YAML parser is loaded when first needed. */
function useCheck(text: string): TextCheck {
  const settled = useDeferredValue(text);
  const [check, setCheck] = useState<TextCheck>({ format: "text", problem: null });
  useEffect(() => {
    let current = true;
    void checkText(settled).then((result) => {
      if (current) setCheck(result);
    });
    return () => {
      current = false;
    };
  }, [settled]);
  return check;
}

interface TextCheck {
  format: DataFormat;
  /** The second half of a sentence: "line 3 …". */
  problem: string | null;
}

// Parsing a longer text with every key would slow down typing.
const PARSED_UP_TO = 60_000;

export async function checkText(text: string): Promise<TextCheck> {
  const trimmed = text.trim();
  if (trimmed.startsWith("{") || trimmed.startsWith("[")) return { format: "json", problem: await jsonProblem(text) };
  if (!looksLikeYaml(text)) return { format: "text", problem: null };
  return { format: "yaml", problem: await yamlProblem(text) };
}

async function yamlProblem(text: string): Promise<string | null> {
  if (text.length > PARSED_UP_TO) return null;
  const { parseDocument } = await import("yaml");
  const error = parseDocument(text, { prettyErrors: true }).errors[0];
  if (!error) return null;
  const message = (error.message.split("\n")[0] ?? "").replace(/ at line \d+, column \d+:?$/, "");
  return `line ${error.linePos?.[0].line ?? "?"}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

/** Error messages of JSON.parse differ by browser; the YAML parser reads JSON too and reports the line. */
async function jsonProblem(text: string): Promise<string | null> {
  try {
    JSON.parse(text);
    return null;
  } catch {
    return (await yamlProblem(text)) ?? "it is not quite valid";
  }
}
