/** Properties of the page in the browser: its title, and the position of elements on it. */
import type { RefObject } from "react";
import { useEffect, useLayoutEffect, useState } from "react";

/** The height of a session's sticky header, which covers the top of its page. */
export const SESSION_HEADER_PX = 64;

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · TARSy`;
  }, [title]);
}

/** The distance of an element from the top of the page, kept current when content above it grows. */
export function usePageTop(element: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setTop(element.current ? Math.round(element.current.getBoundingClientRect().top + window.scrollY) : 0);
    measure();
    // Content that moves the element also changes the height of the page.
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return top;
}
