/** How far below the top of the page an element stands, also when what is above it grows. */
import type { RefObject } from "react";
import { useLayoutEffect, useState } from "react";

export function usePageTop(element: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const place = () => setTop(element.current ? Math.round(element.current.getBoundingClientRect().top + window.scrollY) : 0);
    place();
    // Whatever moves it also changes the height of the page.
    const observer = new ResizeObserver(place);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return top;
}
