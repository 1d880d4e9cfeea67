/** Following content that grows: the end of the timeline, the end of a scrollable box, and the arrival of the analysis. */
import Button from "@mui/material/Button";
import { ArrowUp } from "lucide-react";
import type { RefObject } from "react";
import { useCallback, useEffect, useRef, useState } from "react";

// Closer to the end than this counts as being there.
const NEAR_PAGE_END_PX = 120;
const NEAR_BOX_END_PX = 60;
const MARGIN_PX = 24;

/** How much of the window's end is covered by what sticks to it. */
function covered(): number {
  return document.querySelector("[data-covers-end=true]")?.getBoundingClientRect().height ?? 0;
}

/** Keeps the end of the page in view until the user scrolls up, and again after scrolling back down. `atFirst` is whether it starts by following. */
export function useFollowEnd(end: RefObject<HTMLElement | null>, growing: boolean, atFirst: boolean) {
  const [following, setFollowingState] = useState(atFirst);
  const isFollowing = useRef(atFirst);
  const lastY = useRef(0);
  // A click counts only if it ends on the element it began on: while the pointer is pressed, the page does not scroll.
  const isPressed = useRef(false);

  const setFollowing = useCallback((value: boolean) => {
    isFollowing.current = value;
    setFollowingState(value);
  }, []);

  const scrollToEnd = useCallback(() => {
    const bottom = end.current?.getBoundingClientRect().bottom;
    if (bottom === undefined) return;
    const by = bottom + MARGIN_PX + covered() - window.innerHeight;
    if (by > 0) window.scrollBy({ top: by, behavior: "instant" });
  }, [end]);

  const noticeScroll = useCallback(() => {
    const by = window.scrollY - lastY.current;
    lastY.current = window.scrollY;
    const distance = (end.current?.getBoundingClientRect().bottom ?? 0) + covered() - window.innerHeight;
    if (by < -4 && distance > NEAR_PAGE_END_PX) setFollowing(false);
    else if (by > 0 && distance <= NEAR_PAGE_END_PX) setFollowing(true);
  }, [end, setFollowing]);

  useEffect(() => {
    lastY.current = window.scrollY;
    window.addEventListener("scroll", noticeScroll, { passive: true });
    // Text that streams in would undo each small step of a wheel before it shows as a scroll event: the input itself counts.
    const stopListening = onScrollUp(() => setFollowing(false));
    return () => {
      window.removeEventListener("scroll", noticeScroll);
      stopListening();
    };
  }, [noticeScroll, setFollowing]);

  /** To be called after the content has changed. */
  const onGrowth = useCallback(() => {
    // A control that got the focus scrolls the page up, too; the event for that may come after this growth.
    noticeScroll();
    if (growing && isFollowing.current && !isPressed.current) scrollToEnd();
  }, [growing, noticeScroll, scrollToEnd]);
  useEffect(() => {
    const listening = new AbortController();
    const options = { capture: true, passive: true, signal: listening.signal };
    const onRelease = () => {
      isPressed.current = false;
      // In the next frame: the browser dispatches the click before it.
      requestAnimationFrame(onGrowth);
    };
    window.addEventListener("pointerdown", () => void (isPressed.current = true), options);
    window.addEventListener("pointerup", onRelease, options);
    window.addEventListener("pointercancel", onRelease, options);
    return () => listening.abort();
  }, [onGrowth]);
  const follow = useCallback(() => {
    setFollowing(true);
    scrollToEnd();
  }, [setFollowing, scrollToEnd]);
  const stop = useCallback(() => setFollowing(false), [setFollowing]);
  return { following, onGrowth, follow, stop };
}

/** Calls back when the user scrolls the page up by wheel, touch or keyboard, even if it is at its top. Returns a function that stops listening. */
function onScrollUp(callback: () => void): () => void {
  let touchY = 0;
  const callIf = (isUp: boolean, event: Event) => {
    if (isUp && !isHandledInside(event)) callback();
  };
  const listening = new AbortController();
  const options = { passive: true, signal: listening.signal };
  window.addEventListener("wheel", (event) => callIf(event.deltaY < 0, event), options);
  window.addEventListener("keydown", (event) => callIf(["ArrowUp", "PageUp", "Home"].includes(event.key), event), options);
  window.addEventListener("touchstart", (event) => void (touchY = event.touches[0]?.clientY ?? 0), options);
  window.addEventListener("touchmove", (event) => callIf((event.touches[0]?.clientY ?? 0) > touchY, event), options);
  return () => listening.abort();
}

/** Whether an element of the page scrolls itself, or is a text field. */
function isHandledInside(event: Event): boolean {
  return event
    .composedPath()
    .some((node) => node instanceof HTMLElement && node !== document.documentElement && node !== document.body && (node.scrollTop > 0 || node.matches("input, textarea")));
}

/** Keeps the end of a box in view while its first child grows, until the user scrolls up in it. */
export function useStickToEnd(enabled: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  useEffect(() => {
    const element = box.current;
    const content = element?.firstElementChild;
    if (!enabled || !element || !content) return;
    let last = element.scrollTop;
    const onScroll = () => {
      const isUp = element.scrollTop < last;
      last = element.scrollTop;
      if (element.scrollHeight - element.scrollTop - element.clientHeight <= NEAR_BOX_END_PX) sticks.current = true;
      else if (isUp) sticks.current = false;
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    const observer = new ResizeObserver(() => {
      if (sticks.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(content);
    // The box itself is resized with the window, or by the field below it.
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      observer.disconnect();
    };
  }, [enabled]);
  const follow = useCallback(() => {
    sticks.current = true;
  }, []);
  return { box, follow };
}

// An analysis this close to the top of the page is in view.
const TOP_PX = 200;

/** Scrolls to the analysis when it arrives, if the user follows the end of the timeline. Otherwise `unseen` asks to offer it. */
export function useArrival(ready: boolean) {
  const wasReady = useRef(ready);
  const isFollowing = useRef(true);
  const [unseen, setUnseen] = useState(false);
  const onFollowing = useCallback((following: boolean) => {
    isFollowing.current = following;
  }, []);
  const show = useCallback(() => {
    setUnseen(false);
    // At once: what is loaded above the timeline meanwhile would end a smooth movement halfway.
    window.scrollTo({ top: 0, behavior: "instant" });
  }, []);
  useEffect(() => {
    if (ready && !wasReady.current) {
      if (isFollowing.current) show();
      else setUnseen(window.scrollY > TOP_PX);
    }
    wasReady.current = ready;
  }, [ready, show]);
  useEffect(() => {
    if (!unseen) return;
    const onScroll = () => window.scrollY <= TOP_PX && setUnseen(false);
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => window.removeEventListener("scroll", onScroll);
  }, [unseen]);
  return { unseen, show, onFollowing };
}

export function ShowAnalysisButton({ onShow }: { onShow: () => void }) {
  return (
    <Button variant="contained" size="small" startIcon={<ArrowUp size={15} />} onClick={onShow} sx={{ position: "fixed", bottom: { xs: 72, lg: 20 }, left: "50%", transform: "translateX(-50%)", zIndex: 5 }}>
      Show the analysis
    </Button>
  );
}
