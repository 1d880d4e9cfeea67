/** Keeps the end of something that grows in view, until the reader scrolls up; scrolling back down takes it up again. */
import type { RefObject } from "react";
import { useCallback, useEffect, useRef, useState } from "react";

// Being this close to the end counts as being there.
const NEAR_PX = 120;
const MARGIN_PX = 24;

/** `atFirst`: begin with following; a reader who came for something else asks for it. */
export function useFollowEnd(end: RefObject<HTMLElement | null>, growing: boolean, atFirst: boolean) {
  const [following, setFollowing] = useState(atFirst);
  const follows = useRef(atFirst);
  const lastY = useRef(0);

  const become = useCallback((value: boolean) => {
    follows.current = value;
    setFollowing(value);
  }, []);

  const toEnd = useCallback(() => {
    const bottom = end.current?.getBoundingClientRect().bottom;
    if (bottom === undefined) return;
    const by = bottom + MARGIN_PX - window.innerHeight;
    if (by > 0) window.scrollBy({ top: by, behavior: "instant" });
  }, [end]);

  useEffect(() => {
    lastY.current = window.scrollY;
    const onScroll = () => {
      const by = window.scrollY - lastY.current;
      lastY.current = window.scrollY;
      const distance = (end.current?.getBoundingClientRect().bottom ?? 0) - window.innerHeight;
      if (by < -4 && distance > NEAR_PX) become(false);
      else if (by > 0 && distance <= NEAR_PX) become(true);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    // A wheel turns in small steps, and text that comes sixty times a second would undo each of them: what counts is that the reader turned it.
    const ignore = onWayUp(() => become(false));
    return () => {
      window.removeEventListener("scroll", onScroll);
      ignore();
    };
  }, [end, become]);

  /** Call after the content has changed. */
  const grew = useCallback(() => {
    if (growing && follows.current) toEnd();
  }, [growing, toEnd]);
  const follow = useCallback(() => {
    become(true);
    toEnd();
  }, [become, toEnd]);
  const stop = useCallback(() => become(false), [become]);
  return { following, grew, follow, stop };
}

/** Tells when the reader scrolls the page up, by wheel, finger or key; at its top too, where it says that they want to stay. Returns how to stop. */
function onWayUp(tell: () => void): () => void {
  let finger = 0;
  const tellIf = (up: boolean, event: Event) => {
    if (up && !scrollsItself(event)) tell();
  };
  const wheel = (event: WheelEvent) => tellIf(event.deltaY < 0, event);
  const key = (event: KeyboardEvent) => tellIf(["ArrowUp", "PageUp", "Home"].includes(event.key), event);
  const touchStart = (event: TouchEvent) => {
    finger = event.touches[0]?.clientY ?? 0;
  };
  const touchMove = (event: TouchEvent) => tellIf((event.touches[0]?.clientY ?? 0) > finger, event);
  const stop = new AbortController();
  const quietly = { passive: true, signal: stop.signal };
  window.addEventListener("wheel", wheel, quietly);
  window.addEventListener("keydown", key, quietly);
  window.addEventListener("touchstart", touchStart, quietly);
  window.addEventListener("touchmove", touchMove, quietly);
  return () => stop.abort();
}

/** Something inside of the page takes the movement: a box that is not at its top, or a field that is typed into. */
function scrollsItself(event: Event): boolean {
  return event
    .composedPath()
    .some((place) => place instanceof HTMLElement && place !== document.documentElement && place !== document.body && (place.scrollTop > 0 || place.matches("input, textarea")));
}
