/** Commands and configuration with which senders reach this installation. */
import Box from "@mui/material/Box";
import Link from "@mui/material/Link";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { firstAlert, me } from "@/api/system";
import { CopyButton } from "@/components/copy-button";
import { MONO } from "@/components/text-styles";
import type { SetupState } from "@/wire/types";

export function AlertStep({ state }: { state: SetupState }) {
  const { data: account } = useQuery(me);
  const { data: known } = useQuery({ ...firstAlert, enabled: state.open });
  const needsToken = account?.login_required === true && account.identified_by !== "proxy";
  const sender = { url: known?.url ?? window.location.origin, token: needsToken ? (known?.token ?? UNKNOWN_TOKEN) : null };
  return (
    <Stack spacing={2}>
      {!state.model && <Typography variant="body2">Without a model, alerts are refused: choose one in the first step.</Typography>}
      {needsToken && <Typography variant="body2">{known?.token ? "The snippets hold your own token: paste them only where it may be read." : `This server asks senders for a token: put yours where ${UNKNOWN_TOKEN} stands.`}</Typography>}
      <Snippet title="From a terminal" text={curlSnippet(sender)} name="Copy the curl command" />
      <Snippet title="From Alertmanager (alertmanager.yml)" text={alertmanagerSnippet(sender)} name="Copy the Alertmanager configuration" />
      <Typography variant="body2">
        Merge this into your <code>alertmanager.yml</code>, and write the receiver of your root route instead of <code>YOUR_DEFAULT_RECEIVER</code>. Your paging stays as it is.
      </Typography>
      <Typography variant="body2">
        Grafana, PagerDuty, Datadog and others have recipes of their own: <Link href="/help/sender-recipes.md">sender recipes</Link>.
      </Typography>
    </Stack>
  );
}

function Snippet({ title, text, name }: { title: string; text: string; name: string }) {
  return (
    <Box>
      <Stack direction="row" sx={{ alignItems: "center", gap: 1 }}>
        <Typography variant="h3" sx={{ flex: 1 }}>
          {title}
        </Typography>
        <CopyButton text={text} label="Copy" name={name} />
      </Stack>
      {/* Focusable, so that it can be scrolled by keyboard. */}
      <Box component="pre" tabIndex={0} aria-label={title} role="region" sx={{ m: 0, p: 1.5, overflowX: "auto", bgcolor: "code.block", border: 1, borderColor: "divider", borderRadius: 1, fontFamily: MONO, fontSize: "0.8rem" }}>
        {text}
      </Box>
    </Box>
  );
}

interface Sender {
  url: string;
  /** Null if none is needed. */
  token: string | null;
}

/** The placeholder for a token that is not known here. */
const UNKNOWN_TOKEN = "YOUR_TOKEN";

/** Quotes a text for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function curlSnippet({ url, token }: Sender): string {
  const header = token === null ? "" : ` \\\n  -H ${quoted(`Authorization: Bearer ${token}`)}`;
  return `curl -s ${quoted(`${url}/api/v1/alerts`)}${header} \\\n  -H 'Content-Type: text/plain' \\\n  --data-binary 'Pod cart-6f7b9c4d8-tw5bd in namespace shop is crash-looping'`;
}

/** A child route that continues, so that paging stays as it is. The last route is needed because an alert that one child takes no longer
 * reaches the receiver of the root. Pasted unchanged, or over a whole configuration, Alertmanager refuses it instead of paging nobody. */
export function alertmanagerSnippet({ url, token }: Sender): string {
  const login = token === null ? "" : `\n        http_config: {authorization: {credentials: ${JSON.stringify(token)}}}`;
  return `receivers:
  # Add to your receivers.
  - name: tarsy
    webhook_configs:
      - url: ${JSON.stringify(`${url}/api/v1/webhook/alertmanager`)}
        send_resolved: true${login}

route:
  # Keep your receiver and all other settings here.
  routes:
    - receiver: tarsy
      continue: true
    # Your own routes stay between these two.
    - receiver: YOUR_DEFAULT_RECEIVER`;
}
