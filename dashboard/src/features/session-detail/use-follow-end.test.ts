// @vitest-environment jsdom
import { act, renderHook } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { useFollowEnd } from "./use-follow-end";

test("a reader who came for one event and then asks to follow is taken along", () => {
  const end = document.createElement("div");
  end.getBoundingClientRect = () => ({ bottom: 5_000 }) as DOMRect;
  const scrolled = vi.spyOn(window, "scrollBy").mockImplementation(() => undefined);
  const { result } = renderHook(() => useFollowEnd({ current: end }, true, false));
  result.current.grew();
  expect(scrolled).not.toHaveBeenCalled();
  act(() => result.current.follow());
  result.current.grew();
  expect(result.current.following).toBe(true);
  expect(scrolled).toHaveBeenCalledTimes(2);
});

test("a reader who turns the wheel up at the top of a short page stays there when it grows", () => {
  const end = document.createElement("div");
  end.getBoundingClientRect = () => ({ bottom: 5_000 }) as DOMRect;
  const scrolled = vi.spyOn(window, "scrollBy").mockImplementation(() => undefined);
  const { result } = renderHook(() => useFollowEnd({ current: end }, true, true));
  act(() => void window.dispatchEvent(new WheelEvent("wheel", { deltaY: -100 })));
  result.current.grew();
  expect(result.current.following).toBe(false);
  expect(scrolled).not.toHaveBeenCalled();
});
