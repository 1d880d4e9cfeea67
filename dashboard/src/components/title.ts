/** The name of the page, as tabs, bookmarks and screen readers give it. */
import { useEffect } from "react";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · TARSy`;
  }, [title]);
}
