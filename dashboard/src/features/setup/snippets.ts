/** What a sender is told, ready to be copied. */
export interface Sender {
  url: string;
  /** Null: none is needed. */
  token: string | null;
}

/** What stands in a snippet where a token is needed and not known here. */
export const UNKNOWN_TOKEN = "YOUR_TOKEN";

/** Quoted for a POSIX shell, whatever it holds. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function curlSnippet({ url, token }: Sender): string {
  const header = token === null ? "" : ` \\\n  -H ${quoted(`Authorization: Bearer ${token}`)}`;
  return `curl -s ${quoted(`${url}/api/v1/alerts`)}${header} \\\n  -H 'Content-Type: text/plain' \\\n  --data-binary 'Pod cart-6f7b9c4d8-tw5bd in namespace shop is crash-looping'`;
}

export function alertmanagerSnippet({ url, token }: Sender): string {
  const login = token === null ? "" : `\n        http_config: {authorization: {credentials: ${JSON.stringify(token)}}}`;
  return `receivers:\n  - name: tarsy\n    webhook_configs:\n      - url: ${JSON.stringify(`${url}/api/v1/webhook/alertmanager`)}\n        send_resolved: true${login}\n\nroute:\n  receiver: tarsy`;
}
