import { act, render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { Elapsed, RelativeTime, serverTimeIn, syncServerTime } from "./times";

const MINUTE = 60_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

test("a machine whose clock goes wrong shows times by the server's", () => {
  const { container } = render(
    <>
      <RelativeTime at={ago(-10 * MINUTE)} /> <Elapsed since={ago(-9 * MINUTE)} until={null} />
    </>,
  );
  act(() => syncServerTime(Date.now() + 11 * MINUTE));
  expect(container.textContent).toMatch(/^(59 s|1 m) ago (1 m 5\d s|2 m 0 s)$/);
  // What is to end in an hour ends in an hour of the server.
  expect(Math.round((serverTimeIn(60 * MINUTE).getTime() - Date.now()) / MINUTE)).toBe(71);
  // A moment on the way is no difference.
  act(() => syncServerTime(Date.now() + 11 * MINUTE - 1_900));
  expect(container.textContent).toMatch(/^(59 s|1 m) ago/);
  act(() => syncServerTime(Date.now() - 900));
  expect(container.textContent).toMatch(/^in (9|10) m 0 s$/);
});

test("a screen reader does not announce a clock that ticks in a region whose changes are announced", () => {
  render(
    <p role="status">
      Paused since <RelativeTime at={ago(MINUTE)} />, for <Elapsed since={ago(MINUTE)} until={null} />
    </p>,
  );
  for (const text of ["1 m ago", "1 m 0 s"]) expect(screen.getByText(text).getAttribute("aria-live")).toBe("off");
});
