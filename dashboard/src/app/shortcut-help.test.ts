import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { SHORTCUTS } from "./shortcut-help";

// The tests run in the directory of the dashboard.
const MANUAL = "../docs/dashboard.md";

function tableOfManual(): string[] {
  const [, after = ""] = readFileSync(MANUAL, "utf8").split("## Shortcuts\n");
  return after.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| Where"));
}

test("the manual has every shortcut, in the words of the page that shows them", () => {
  const keys = (names: readonly string[]) => (names.includes("K") ? "`Ctrl` `K` or `⌘` `K`" : names.map((name) => `\`${name}\``).join(" "));
  const rows = SHORTCUTS.flatMap(({ where, keys: shortcuts }) => shortcuts.map((shortcut) => `| ${where} | ${keys(shortcut.keys)} | ${shortcut.does} |`));
  expect(tableOfManual()).toEqual(rows);
});
