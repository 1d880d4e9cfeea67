/** Keeps the end of something that grows in view, until the reader scrolls up; scrolling back down takes it up again. */
import type { RefObject } from "react";
import { useCallback, useEffect, useRef, useState } from "react";

// Being this close to the end counts as being there.
const NEAR_PX = 120;
const MARGIN_PX = 24;

export function useFollowEnd(end: RefObject<HTMLElement | null>, wanted: boolean) {
  const [following, setFollowing] = useState(wanted);
  const follows = useRef(wanted);
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
      const up = window.scrollY < lastY.current - 4;
      lastY.current = window.scrollY;
      const distance = (end.current?.getBoundingClientRect().bottom ?? 0) - window.innerHeight;
      if (up && distance > NEAR_PX) become(false);
      else if (!up && distance <= NEAR_PX) become(true);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => window.removeEventListener("scroll", onScroll);
  }, [end, become]);

  /** Call after the content has changed. */
  const grew = useCallback(() => {
    if (wanted && follows.current) toEnd();
  }, [wanted, toEnd]);
  const follow = useCallback(() => {
    become(true);
    toEnd();
  }, [become, toEnd]);
  const stop = useCallback(() => become(false), [become]);
  return { following, grew, follow, stop };
}
