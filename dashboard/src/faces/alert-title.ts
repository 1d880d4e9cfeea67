/** Pure module: the few words by which a person recognises an alert. */

const NAMES = ["alertname", "alert_name", "title", "rule", "summary", "alert", "subject", "message", "description"];
// Alerts may be a megabyte; what names them stands near the top.
const LOOKED_AT = 4_000;
const LONGEST = 140;

/** From the fields that monitoring systems use for it, or else the first line; empty if that is only the beginning of some JSON. */
export function alertTitle(alert: string): string {
  const head = alert.slice(0, LOOKED_AT);
  for (const name of NAMES) {
    const json = new RegExp(`"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)+)"`, "i").exec(head);
    const yaml = new RegExp(`^\\s*(?:- )?${name}:[ \\t]+["']?([^"'\\n]+)`, "im").exec(head);
    const found = (json ?? yaml)?.[1]?.trim();
    if (found) return clip(found.replace(/\\n/g, " ").replace(/\\"/g, '"'));
  }
  if (/^\s*[{[]\s*["{[]/.test(head)) return "";
  const first = head.split("\n").find((line) => /\w/.test(line));
  return clip(first?.trim() ?? "");
}

function clip(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
