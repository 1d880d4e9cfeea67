/** Where the entries of a timeline lead that an investigation can be forked from. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { models } from "@/api/forks";
import type { ForkAsk, ForkDoor } from "@/presentation/fork-door";
import { forkRefusal } from "@/presentation/fork-place";
import type { SessionDetail } from "@/wire/types";

/** Null where no model could go on. */
export function useForkDoor({ status, stages }: SessionDetail, open: (ask: ForkAsk) => void): ForkDoor | null {
  const { data } = useQuery(models);
  const canGoOn = (data?.models.length ?? 0) > 0;
  return useMemo(() => (canGoOn ? { refusal: (executionId) => forkRefusal({ status, stages }, executionId), open } : null), [canGoOn, status, stages, open]);
}
