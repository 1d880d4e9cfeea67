/** The words that a reader looks for on a page; "" while there are none. Entries that are shown because of them mark them. */
import type { RefObject } from "react";
import { createContext, use, useEffect, useMemo } from "react";
import type { TextPlace } from "@/components/laid-out-place";

export const FoundWordsContext = createContext("");

/** Where in a text the words stand first; null unless the entry is the one that is shown. */
export function useFoundPlace(text: string | undefined, shown: boolean): TextPlace | null {
  const words = use(FoundWordsContext).trim().toLowerCase();
  return useMemo(() => {
    const start = shown && words !== "" && text !== undefined ? text.toLowerCase().indexOf(words) : -1;
    return start === -1 ? null : { start, end: start + words.length };
  }, [text, shown, words]);
}

/** Brings what is marked in an entry into view. The entry was scrolled to when it was still folded, and the words may stand far below its beginning. */
export function useFoundInView(entry: RefObject<HTMLElement | null>, ...places: (TextPlace | null)[]): void {
  const place = places.find((one) => one !== null) ?? null;
  useEffect(() => {
    if (place === null) return;
    let [frame, left] = [0, SETTLING_FRAMES];
    const look = () => {
      const mark = entry.current?.querySelector("mark");
      const box = mark?.getBoundingClientRect();
      if (mark && box && (box.top < HEADER_PX || box.bottom > window.innerHeight)) mark.scrollIntoView({ block: "center" });
      left -= 1;
      if (left > 0) frame = requestAnimationFrame(look);
    };
    frame = requestAnimationFrame(look);
    return () => cancelAnimationFrame(frame);
  }, [entry, place]);
}

// The session's header stays on top of what is scrolled.
const HEADER_PX = 64;
// Entries open and are measured, and a long text scrolls to its line, within half a second.
const SETTLING_FRAMES = 30;
