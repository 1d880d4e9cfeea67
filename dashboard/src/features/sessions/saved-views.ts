/** Views of the list under names, kept in the browser. */
import { useState } from "react";
import type { SessionSearch } from "./search";
import { readSearch } from "./search";

export interface SavedView {
  name: string;
  search: SessionSearch;
}

const KEY = "sessions:views";
// More would not be found in a menu.
const MOST = 30;

/** Views as they were stored; what is none is left out. */
export function readViews(text: string | null): SavedView[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter(isView).map(({ name, search }) => ({ name, search: readSearch({ ...search }) })) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  return typeof value === "object" && value !== null && "name" in value && typeof value.name === "string" && "search" in value && typeof value.search === "object" && value.search !== null;
}

/** The page is where one was, not part of a view; a name names one view. */
export function withView(views: readonly SavedView[], name: string, search: SessionSearch): SavedView[] {
  return [...views.filter((view) => view.name !== name), { name, search: readSearch({ ...search, page: undefined }) }].slice(-MOST);
}

export function useSavedViews() {
  const [views, setViews] = useState(() => readViews(localStorage.getItem(KEY)));
  const keep = (next: SavedView[]) => {
    localStorage.setItem(KEY, JSON.stringify(next));
    setViews(next);
  };
  return {
    views,
    save: (name: string, search: SessionSearch) => keep(withView(views, name, search)),
    forget: (name: string) => keep(views.filter((view) => view.name !== name)),
  };
}
