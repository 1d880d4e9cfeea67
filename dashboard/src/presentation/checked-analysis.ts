/** The parts in which an analysis is shown, with its checked citations. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { analysisCitations } from "@/api/evidence";
import type { SessionDetail } from "@/wire/types";
import { DO_NOW, extractSection } from "./citations";
import { citationsByKey } from "./evidence";

export function useCheckedAnalysis({ id, citations, verdict, final_analysis: analysis }: SessionDetail, concluded: boolean) {
  const { data: list, error } = useQuery({ ...analysisCitations(id), enabled: concluded && citations !== null });
  const checked = useMemo(() => (list ? citationsByKey(list.citations) : null), [list]);
  // The verdict card shows what to do now.
  const { section: doNow, rest: text } = useMemo(() => (verdict && analysis ? extractSection(analysis, DO_NOW) : { section: null, rest: analysis }), [verdict, analysis]);
  return { list, checked, error, doNow, text };
}
