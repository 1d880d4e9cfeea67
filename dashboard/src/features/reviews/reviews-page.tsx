/** How useful and how accurate verdicts were, and the way to those that nobody has reviewed. */
import Box from "@mui/material/Box";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { reviewFigures } from "@/api/reviews";
import { Chart } from "@/components/chart";
import { FigureTable } from "@/components/figure-table";
import { plural } from "@/components/format";
import { LinkButton } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Fact, Section } from "@/components/section";
import { Loaded, Nothing } from "@/components/states";
import { Toggles } from "@/components/toggles";
import type { ReviewFigures } from "@/wire/types";
import type { Group } from "./figures";
import { accuracyCounts, byName, figureRow, judged, rightShares, sumOf } from "./figures";

const GROUPS: Record<Group, string> = { by_confidence: "Confidence", by_model: "Model", by_chain: "Chain", by_alert_type: "Alert type" };
const WEEK = 7 * 86_400;
const HEIGHT_PX = 190;
// Half a verdict is no tick.
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

export function ReviewsPage() {
  usePageTitle("Reviews");
  return (
    <Stack spacing={2}>
      <Stack direction="row" sx={{ justifyContent: "space-between", alignItems: "center", flexWrap: "wrap", gap: 2 }}>
        <Typography variant="h1">Reviews</Typography>
        <LinkButton to="/sessions" search={{ review: "no" }} size="small" variant="outlined">
          Sessions without a review
        </LinkButton>
      </Stack>
      <Loaded query={useQuery(reviewFigures)} what="the reviews" failure="The reviews could not be loaded.">
        {(figures) => <Figures figures={figures} />}
      </Loaded>
    </Stack>
  );
}

function Figures({ figures }: { figures: ReviewFigures }) {
  const total = sumOf(figures.total);
  const verdicts = figures.weeks.reduce((sum, week) => sum + week.verdicts, 0);
  const [group, setGroup] = useState<Group>("by_confidence");
  const times = useMemo(() => figures.weeks.map(({ first_day: day }) => Date.parse(`${day}T00:00:00Z`) / 1_000), [figures]);
  const shares = useMemo(() => rightShares(figures, group), [figures, group]);
  const counts = useMemo(() => accuracyCounts(figures), [figures]);
  const weekly = { times, formatTime: formatWeek, height: HEIGHT_PX, step: WEEK } as const;
  const title = `Right verdicts by week, by ${GROUPS[group].toLowerCase()}`;
  if (total.reviewed === 0) {
    return (
      <Nothing title="No reviews yet">
        {verdicts === 0 ? "Sessions that end with a verdict can be reviewed on their page." : `${plural(verdicts, "verdict")} of the last ${figures.weeks.length} weeks could be reviewed: on the page of a session, say whether it was useful.`}
      </Nothing>
    );
  }
  return (
    <>
      <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1, m: 0 }}>
        <Fact name="Reviewed">
          {total.reviewed} of {plural(verdicts, "verdict")}
        </Fact>
        <Fact name="Useful">
          {total.useful} of {total.reviewed}
        </Fact>
        {judged(total) > 0 && (
          <Fact name="Right">
            {total.accurate} of {judged(total)}
          </Fact>
        )}
      </Box>
      {judged(total) > 0 && (
        <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) minmax(0, 1fr)" }, gap: 2, alignItems: "start" }}>
          <Section
            title="Right verdicts by week"
            actions={<Toggles label="Group" options={GROUPS} value={group} onValue={setGroup} sx={{ py: 0, fontSize: "0.78rem" }} />}
          >
            <Chart title={title} series={shares} shape="lines" format={formatShare} max={1} {...weekly} />
          </Section>
          <Section title="Reviewed verdicts by week">
            <Chart title="Reviewed verdicts by week" series={counts} shape="stacks" format={String} increments={WHOLE} {...weekly} />
          </Section>
        </Box>
      )}
      <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) minmax(0, 1fr)" }, gap: 2, alignItems: "start" }}>
        {Object.entries(GROUPS).map(([key, label]) => (
          <Section key={key} title={label} flush>
            <FigureTable label={label} head={[label, "Right", "Partly", "Wrong", "Useful"]} rows={byName(figures[key as Group]).map(figureRow)} />
          </Section>
        ))}
      </Box>
      <Typography variant="caption" color="textSecondary">
        Sessions that ended with a verdict in the last {figures.weeks.length} weeks, in UTC; weeks begin on Monday. Forks are not counted. “18 of 20” are 18 right verdicts of 20 whose accuracy a person judged.
      </Typography>
    </>
  );
}

function formatWeek(seconds: number): string {
  return `week of ${new Date(seconds * 1_000).toISOString().slice(0, 10)}`;
}

function formatShare(share: number): string {
  return `${Math.round(share * 100)} %`;
}
