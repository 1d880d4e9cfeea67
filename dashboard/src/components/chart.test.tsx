import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";
import { Chart } from "./chart";
import { dashOf, stacked, variableOf } from "./chart-data";

const CHART = { title: "Cost per day", shape: "lines", height: 100, format: (value: number) => `$${value}`, formatTime: (at: number) => `day ${at}` } as const;

test("a chart is described in words, and its numbers are one key away", async () => {
  render(<Chart {...CHART} times={[1, 2]} series={[{ name: "a", values: [3, null] }, { name: "b", values: [undefined, 7] }]} />);
  expect(screen.getByRole("img").getAttribute("aria-label")).toBe("Cost per day: 2 series, day 1 to day 2, lowest $3, highest $7.");
  await userEvent.tab();
  await userEvent.keyboard("{Enter}");
  expect(screen.getAllByRole("row").map((row) => [...row.children].map((cell) => cell.textContent))).toEqual([
    ["Time", "a", "b"],
    ["day 1", "$3", "–"],
    ["day 2", "–", "$7"],
  ]);
  expect(screen.getByRole("button").getAttribute("aria-expanded")).toBe("true");
});

test("a chart without values says so", () => {
  const { rerender } = render(<Chart {...CHART} times={[]} series={[]} />);
  screen.getByText("No values in this time.");
  rerender(<Chart {...CHART} times={[1]} series={[{ name: "a", values: [null] }]} />);
  screen.getByText("No values in this time.");
});

test("a chart without values at first is drawn when it has some", () => {
  const watched = vi.spyOn(IntersectionObserver.prototype, "observe");
  const { rerender } = render(<Chart {...CHART} times={[]} series={[]} />);
  expect(watched).not.toHaveBeenCalled();
  rerender(<Chart {...CHART} times={[1]} series={[{ name: "a", values: [3] }]} />);
  expect(watched).toHaveBeenCalledExactlyOnceWith(screen.getByRole("img"));
});

test("bars are put on top of each other", () => {
  expect(stacked([{ name: "a", values: [1, null] }, { name: "b", values: [2, 3] }]).map(({ values }) => values)).toEqual([
    [1, null],
    [3, 3],
  ]);
});

test("no two of twelve lines look alike", () => {
  const looks = Array.from({ length: 12 }, (_, index) => `${variableOf(undefined, index)} ${dashOf(index).join()}`);
  expect(new Set(looks).size).toBe(12);
});
