/** Pure module: every shortcut, for the page that shows them all. */

export interface Shortcut {
  keys: readonly string[];
  does: string;
}

const isMac = typeof navigator !== "undefined" && /Mac|iP(hone|ad|od)/.test(navigator.userAgent);
export const PALETTE_KEYS = isMac ? ["⌘", "K"] : ["Ctrl", "K"];

export const SHORTCUTS: readonly { where: string; keys: readonly Shortcut[] }[] = [
  {
    where: "Everywhere",
    keys: [
      { keys: PALETTE_KEYS, does: "Find a session, an incident, a page or an action" },
      { keys: ["?"], does: "Show these shortcuts" },
      { keys: ["g", "i"], does: "Go to incidents" },
      { keys: ["g", "s"], does: "Go to sessions" },
      { keys: ["g", "n"], does: "Write a new alert" },
      { keys: ["g", "u"], does: "Go to usage" },
      { keys: ["g", "y"], does: "Go to the system" },
      { keys: ["Esc"], does: "Close what is open" },
    ],
  },
  {
    where: "In a list",
    keys: [
      { keys: ["j"], does: "Next row" },
      { keys: ["k"], does: "Row before" },
      { keys: ["Enter"], does: "Open the row; with Ctrl or ⌘ in a new tab" },
      { keys: ["x"], does: "Select the row, or no longer" },
      { keys: ["/"], does: "Search" },
    ],
  },
  { where: "In a session", keys: [{ keys: ["/"], does: "Find words in it" }] },
  {
    where: "In a trace",
    keys: [
      { keys: ["j"], does: "Next call" },
      { keys: ["k"], does: "Call before" },
      { keys: ["/"], does: "Search" },
      { keys: ["+"], does: "Look closer at the time" },
      { keys: ["-"], does: "Look from further away" },
      { keys: ["0"], does: "Show all of the time" },
    ],
  },
];
