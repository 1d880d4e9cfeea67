/** Which rows are marked. Rows come and go while a reader looks: what is gone is not acted on. */
import { useCallback, useState } from "react";

export interface Marked {
  has: (id: string) => boolean;
  mark: (id: string, marked: boolean) => void;
  markAll: (ids: readonly string[], marked: boolean) => void;
  clear: () => void;
}

export function useMarked(): Marked {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const markAll = useCallback((these: readonly string[], marked: boolean) => {
    setIds((known) => {
      const next = new Set(known);
      for (const id of these) {
        if (marked) next.add(id);
        else next.delete(id);
      }
      return next;
    });
  }, []);
  const mark = useCallback((id: string, marked: boolean) => markAll([id], marked), [markAll]);
  const clear = useCallback(() => setIds(new Set()), []);
  const has = useCallback((id: string) => ids.has(id), [ids]);
  return { has, mark, markAll, clear };
}
