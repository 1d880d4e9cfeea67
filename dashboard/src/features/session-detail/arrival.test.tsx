// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { useArrival } from "./arrival";

function arrive(follows: boolean, at: number) {
  const scrolled = vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
  vi.spyOn(window, "scrollY", "get").mockImplementation(() => at);
  const { result, rerender } = renderHook(({ ready }) => useArrival(ready), { initialProps: { ready: false } });
  act(() => result.current.onFollowing(follows));
  rerender({ ready: true });
  return { result, scrolled };
}

test("a reader who follows is taken to the analysis when it arrives", () => {
  const { result, scrolled } = arrive(true, 2_000);
  expect(scrolled).toHaveBeenCalledTimes(1);
  expect(result.current.unseen).toBe(false);
});

test("a reader who reads elsewhere stays there and is told", () => {
  const { result, scrolled } = arrive(false, 2_000);
  expect(scrolled).not.toHaveBeenCalled();
  expect(result.current.unseen).toBe(true);
  act(() => result.current.show());
  expect(scrolled).toHaveBeenCalledTimes(1);
  expect(result.current.unseen).toBe(false);
});

test("a reader at the top sees it without being told", () => {
  const { result, scrolled } = arrive(false, 0);
  expect(scrolled).not.toHaveBeenCalled();
  expect(result.current.unseen).toBe(false);
});
