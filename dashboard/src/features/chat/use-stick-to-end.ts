/** Keeps the end of a box that grows in view, as far as it `follows` anything, until the reader scrolls up in it; scrolling back down takes it up again. */
import { useCallback, useEffect, useRef } from "react";

// Being this close to the end counts as being there.
const NEAR_PX = 60;

export function useStickToEnd(follows: boolean) {
  const scrolled = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  useEffect(() => {
    if (!follows) return;
    const box = scrolled.current;
    const content = box?.firstElementChild;
    if (!box || !content) return;
    let last = box.scrollTop;
    const onScroll = () => {
      const isUp = box.scrollTop < last;
      last = box.scrollTop;
      if (isAtEnd(box)) sticks.current = true;
      else if (isUp) sticks.current = false;
    };
    const onGrowth = () => {
      if (sticks.current) box.scrollTop = box.scrollHeight;
    };
    box.addEventListener("scroll", onScroll, { passive: true });
    const observer = new ResizeObserver(onGrowth);
    observer.observe(content);
    // The box itself changes when the window does, or the field below it.
    observer.observe(box);
    return () => {
      box.removeEventListener("scroll", onScroll);
      observer.disconnect();
    };
  }, [follows]);
  const follow = useCallback(() => {
    sticks.current = true;
  }, []);
  return { scrolled, follow };
}

function isAtEnd(box: HTMLElement): boolean {
  return box.scrollHeight - box.scrollTop - box.clientHeight <= NEAR_PX;
}
