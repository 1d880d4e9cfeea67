/** The analysis of a session that has ended, in the parts in which it is shown, with what checking its citations found. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { analysisCitations } from "@/api/evidence";
import { DO_NOW, takeSection } from "@/presentation/analysis-sections";
import { byKey } from "@/presentation/citation-states";
import type { SessionDetail } from "@/wire/types";

export function useCheckedAnalysis({ id, citations, verdict, final_analysis: analysis }: SessionDetail, ended: boolean) {
  const { data: list } = useQuery({ ...analysisCitations(id), enabled: ended && citations !== null });
  const checked = useMemo(() => (list ? byKey(list.citations) : null), [list]);
  // What to do stands in the verdict's card, if there is one.
  const { section: doNow, rest: text } = useMemo(() => (verdict && analysis ? takeSection(analysis, DO_NOW) : { section: null, rest: analysis }), [verdict, analysis]);
  return { list, checked, doNow, text };
}
