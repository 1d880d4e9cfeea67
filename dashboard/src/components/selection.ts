/** The selected rows of a list, by id. */
import { useCallback, useState } from "react";

export interface Selection {
  has: (id: string) => boolean;
  select: (id: string, selected: boolean) => void;
  selectAll: (ids: readonly string[], selected: boolean) => void;
  clear: () => void;
}

export function useSelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const selectAll = useCallback((these: readonly string[], selected: boolean) => {
    setIds((known) => {
      const next = new Set(known);
      for (const id of these) {
        if (selected) next.add(id);
        else next.delete(id);
      }
      return next;
    });
  }, []);
  const select = useCallback((id: string, selected: boolean) => selectAll([id], selected), [selectAll]);
  const clear = useCallback(() => setIds(new Set()), []);
  const has = useCallback((id: string) => ids.has(id), [ids]);
  return { has, select, selectAll, clear };
}
