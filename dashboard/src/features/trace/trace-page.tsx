export function TracePage(_: { sessionId: string; selected: string | undefined; onSelect: (call: string | undefined) => void }) {
  return null;
}
