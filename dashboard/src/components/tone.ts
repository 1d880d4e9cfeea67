/** Pure module: the few meanings a colour may have. A tone is always shown together with an icon or a word. */
export type Tone = "neutral" | "running" | "good" | "warning" | "bad";

const COLOR = {
  neutral: "text.secondary",
  running: "info.main",
  good: "success.main",
  warning: "warning.main",
  bad: "error.main",
} satisfies Record<Tone, string>;

export function toneColor(tone: Tone): string {
  return COLOR[tone];
}
