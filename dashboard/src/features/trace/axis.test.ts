import { expect, test } from "vitest";
import { barOf, selectedWindow, windowWith, isWhole, panWindow, ticksOf, wholeWindow, zoomWindow } from "./axis";

test("zooming in keeps its middle, and is never closer than the resolution of times", () => {
  expect(zoomWindow({ from: 0, to: 1_000 }, 0.5, 1_000)).toEqual({ from: 250, to: 750 });
  expect(zoomWindow({ from: 0, to: 1_000 }, 0.5, 1_000, 0)).toEqual({ from: 0, to: 500 });
  expect(zoomWindow({ from: 100, to: 112 }, 0.1, 1_000)).toEqual({ from: 101, to: 111 });
});

test("a look from further away ends at the whole", () => {
  const whole = zoomWindow({ from: 900, to: 1_000 }, 100, 1_000);
  expect(whole).toEqual({ from: 0, to: 1_000 });
  expect(isWhole(whole, 1_000)).toBe(true);
  expect(isWhole({ from: 1, to: 1_000 }, 1_000)).toBe(false);
});

test("it is moved along the axis and stops at the ends", () => {
  expect(panWindow({ from: 100, to: 200 }, 0.5, 1_000)).toEqual({ from: 150, to: 250 });
  expect(panWindow({ from: 100, to: 200 }, -5, 1_000)).toEqual({ from: 0, to: 100 });
  expect(panWindow({ from: 900, to: 1_000 }, 1, 1_000)).toEqual({ from: 900, to: 1_000 });
});

test("a part is chosen in either direction; a click is none", () => {
  expect(selectedWindow({ from: 0, to: 1_000 }, 0.5, 0.25, 1_000)).toEqual({ from: 250, to: 500 });
  expect(selectedWindow({ from: 0, to: 1_000 }, 0.5, 0.501, 1_000)).toBeNull();
});

test("a call that is chosen comes into the part that is looked at", () => {
  const part = { from: 0, to: 100 };
  expect(windowWith(part, { start: 90, duration: 50 }, 1_000)).toBe(part);
  expect(windowWith(part, { start: 500, duration: 10 }, 1_000)).toEqual({ from: 475, to: 575 });
});

test("an axis has few ticks, each with a label of its own", () => {
  for (const span of [7, 90, 950, 1_234, 61_000, 400_000, 7_200_000, 90_000_000]) {
    const labels = ticksOf(wholeWindow(span)).map((tick) => tick.label);
    expect(labels.length).toBeGreaterThan(1);
    expect(labels.length).toBeLessThan(9);
    expect(new Set(labels).size).toBe(labels.length);
  }
  expect(ticksOf({ from: 12_000, to: 12_400 }).map((tick) => tick.label)).toEqual(["12.0 s", "12.1 s", "12.2 s", "12.3 s", "12.4 s"]);
});

test("a bar is cut off at both ends of what is looked at", () => {
  expect(barOf(200, 400, { from: 0, to: 1_000 })).toEqual({ left: 20, width: 20, along: 25 });
  expect(barOf(0, 700, { from: 500, to: 1_500 })).toEqual({ left: 0, width: 20, along: 0 });
  expect(barOf(1_000, 9_000, { from: 500, to: 1_500 })).toEqual({ left: 50, width: 50, along: 100 });
  expect(barOf(0, 9_000, { from: 500, to: 1_500 })).toEqual({ left: 0, width: 100, along: 0 });
});

test("what takes no time at the very end is still inside", () => {
  expect(barOf(1_000, 1_000, { from: 0, to: 1_000 })).toEqual({ left: 100, width: 0, along: 100 });
});
