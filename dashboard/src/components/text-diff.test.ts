import { expect, test } from "vitest";
import { lineDiff } from "./text-diff";

const told = (before: string, after: string) => lineDiff(before, after).map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);

test("what two texts share stays, what differs is told", () => {
  expect(told("a\nb\nc\nd", "a\nx\nc\nd\ne")).toEqual([" a", "-b", "+x", " c", " d", "+e"]);
  expect(told("same", "same")).toEqual([" same"]);
});

test("lines that moved are told as little as can be", () => {
  expect(told("1\n2\n3", "2\n3\n1")).toEqual(["-1", " 2", " 3", "+1"]);
});

test("both texts can be read back from the difference", () => {
  const [before, after] = ["a\n\nb\nb\nc", "b\n\na\nb"];
  const lines = lineDiff(before, after);
  expect(lines.filter(({ kind }) => kind !== "added").map(({ text }) => text).join("\n")).toBe(before);
  expect(lines.filter(({ kind }) => kind !== "removed").map(({ text }) => text).join("\n")).toBe(after);
});

test("texts too long to be compared line by line are told as replaced", () => {
  const many = (word: string) => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join("\n");
  expect(lineDiff(many("a"), many("b")).filter(({ kind }) => kind === "removed")).toHaveLength(3_000);
});
