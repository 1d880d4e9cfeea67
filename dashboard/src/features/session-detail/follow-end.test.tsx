import { act, renderHook } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { useArrival, useFollowEnd } from "./follow-end";

test("a reader who came for one event and then asks to follow is taken along", () => {
  const end = document.createElement("div");
  end.getBoundingClientRect = () => ({ bottom: 5_000 }) as DOMRect;
  const scrolled = vi.spyOn(window, "scrollBy").mockImplementation(() => undefined);
  const { result } = renderHook(() => useFollowEnd({ current: end }, true, false));
  result.current.onGrowth();
  expect(scrolled).not.toHaveBeenCalled();
  act(() => result.current.follow());
  result.current.onGrowth();
  expect(result.current.following).toBe(true);
  expect(scrolled).toHaveBeenCalledTimes(2);
});

test("a reader who turns the wheel up at the top of a short page stays there when it grows", () => {
  const end = document.createElement("div");
  end.getBoundingClientRect = () => ({ bottom: 5_000 }) as DOMRect;
  const scrolled = vi.spyOn(window, "scrollBy").mockImplementation(() => undefined);
  const { result } = renderHook(() => useFollowEnd({ current: end }, true, true));
  act(() => void window.dispatchEvent(new WheelEvent("wheel", { deltaY: -100 })));
  result.current.onGrowth();
  expect(result.current.following).toBe(false);
  expect(scrolled).not.toHaveBeenCalled();
});

test("the page does not scroll while the pointer is pressed, and catches up afterwards", async () => {
  const end = document.createElement("div");
  end.getBoundingClientRect = () => ({ bottom: 5_000 }) as DOMRect;
  const scrolled = vi.spyOn(window, "scrollBy").mockImplementation(() => undefined);
  const { result } = renderHook(() => useFollowEnd({ current: end }, true, true));
  window.dispatchEvent(new Event("pointerdown"));
  result.current.onGrowth();
  expect(scrolled).not.toHaveBeenCalled();
  window.dispatchEvent(new Event("pointerup"));
  await vi.waitFor(() => expect(scrolled).toHaveBeenCalledOnce());
  expect(result.current.following).toBe(true);
});

test("a page that was scrolled up stays there, even if it grows before the scroll event", () => {
  const end = document.createElement("div");
  end.getBoundingClientRect = () => ({ bottom: 5_000 }) as DOMRect;
  const scrolled = vi.spyOn(window, "scrollBy").mockImplementation(() => undefined);
  const at = vi.spyOn(window, "scrollY", "get").mockReturnValue(2_000);
  const { result } = renderHook(() => useFollowEnd({ current: end }, true, true));
  at.mockReturnValue(100);
  act(() => result.current.onGrowth());
  expect(result.current.following).toBe(false);
  expect(scrolled).not.toHaveBeenCalled();
});

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
  expect(scrolled.mock.calls).toEqual([[{ top: 0, behavior: "instant" }]]);
  expect(result.current.unseen).toBe(false);
});

test("a reader of another part stays there and is notified", () => {
  const { result, scrolled } = arrive(false, 2_000);
  expect(scrolled).not.toHaveBeenCalled();
  expect(result.current.unseen).toBe(true);
  act(() => result.current.show());
  expect(scrolled).toHaveBeenCalledTimes(1);
  expect(result.current.unseen).toBe(false);
});

test("a reader at the top sees it without a notice", () => {
  const { result, scrolled } = arrive(false, 0);
  expect(scrolled).not.toHaveBeenCalled();
  expect(result.current.unseen).toBe(false);
});
