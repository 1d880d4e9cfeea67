/** Pure module: how long to wait before the next attempt to connect. */
const FIRST_MS = 400;
const LONGEST_MS = 10_000;

/** Doubles up to a limit; `random` in [0, 1) spreads the clients of a server that has just come back. */
export function reconnectDelay(failures: number, random: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10));
  return Math.round(ceiling * (0.5 + random / 2));
}
