/** Usage and cost, as charts and by day, model, chain, alert type, agent and tool. */
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Stack from "@mui/material/Stack";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { usage, usageTableAddress } from "@/api/system";
import { FigureTable } from "@/components/figure-table";
import { formatCost, formatCount, formatDollars } from "@/components/format";
import { TextLink } from "@/components/links";
import { usePageTitle } from "@/components/page";
import { Fact, Section } from "@/components/section";
import { Loaded, Nothing } from "@/components/states";
import { Toggles } from "@/components/toggles";
import type { DearSessionItem, Period, PeriodBudgetItem, ToolUseItem, UsageOverview, UsedItem } from "@/wire/types";
import { Trends } from "./trends";

const PERIODS: Record<Period, string> = { day: "Today", week: "7 days", month: "30 days" };

export function UsagePage() {
  usePageTitle("Usage");
  const [period, setPeriod] = useState<Period>("month");
  const query = useQuery(usage(period));
  return (
    <Stack spacing={2}>
      <Box sx={{ display: "flex", alignItems: "center", flexWrap: "wrap", gap: 2 }}>
        <Typography variant="h1">Usage</Typography>
        <Toggles label="Period" options={PERIODS} value={period} onValue={setPeriod} sx={{ py: 0.25 }} />
        <Button size="small" color="inherit" startIcon={<Download size={15} />} href={usageTableAddress(period)}>
          CSV
        </Button>
      </Box>
      <Loaded query={query} what="the usage" failure="The usage could not be loaded.">
        {(overview) => (
          <>
            <Budgets budgets={overview.budgets} />
            {overview.total.calls > 0 && <Totals overview={overview} />}
          </>
        )}
      </Loaded>
      <Trends period={period} />
      {query.data && (query.data.total.calls === 0 ? <Nothing title="No model calls in this period" /> : <Tables overview={query.data} />)}
    </Stack>
  );
}

function Tables({ overview }: { overview: UsageOverview }) {
  return (
    <Box sx={{ display: "grid", gridTemplateColumns: { xs: "minmax(0, 1fr)", lg: "minmax(0, 1fr) minmax(0, 1fr)" }, gap: 2, alignItems: "start" }}>
      <Group title="Models" rows={overview.by_model.map(usedRow)} />
      <Group title="Days" rows={overview.by_day.toReversed().map(usedRow)} />
      <Group title="Alert types" rows={overview.by_alert_type.map(usedRow)} />
      <Group title="Chains" rows={overview.by_chain.map(usedRow)} />
      <Group title="Agents" rows={overview.by_agent.map(usedRow)} />
      <Group title="Tools" rows={overview.by_tool.map(toolRow)} />
      <MostExpensive sessions={overview.dearest_sessions} />
    </Box>
  );
}

function Totals({ overview }: { overview: UsageOverview }) {
  const { total } = overview;
  const cached = cachedShare(total);
  return (
    <Box component="dl" sx={{ display: "flex", flexWrap: "wrap", columnGap: 4, rowGap: 1, m: 0 }}>
      <Fact name="Cost">{formatCost({ usd: total.cost_usd, unpriced_calls: total.unpriced_calls })}</Fact>
      <Fact name="Model calls">
        {formatCount(total.calls)}
        {total.failed_calls > 0 && `, ${formatCount(total.failed_calls)} failed`}
      </Fact>
      <Fact name="Tokens">{formatCount(total.input_tokens + total.output_tokens)}</Fact>
      {cached !== null && <Fact name="Input from the cache">{cached}</Fact>}
      <Fact name="This month">{formatDollars(overview.month_usd)}</Fact>
      <Fact name="Forecast">{formatDollars(overview.month_forecast_usd)} by the end of the month</Fact>
    </Box>
  );
}

function Budgets({ budgets }: { budgets: PeriodBudgetItem[] }) {
  if (budgets.length === 0) return null;
  const unpriced = unpricedWarning(budgets);
  return (
    <Section title="Budgets" flush>
      <FigureTable label="Budgets" head={["Budget", "Ceiling", "Spent", "Reserved", "Forecast"]} rows={budgets.map(budgetRow)} />
      {unpriced && <Alert severity="warning">{unpriced}</Alert>}
    </Section>
  );
}

function Group({ title, rows }: { title: string; rows: string[][] }) {
  const head = title === "Tools" ? ["Tool", "Calls", "Failed"] : [title.replace(/s$/, ""), "Cost", "Tokens", "Calls"];
  if (rows.length === 0) return null;
  return (
    <Section title={title} flush>
      <FigureTable label={title} head={head} rows={rows} />
    </Section>
  );
}

function MostExpensive({ sessions }: { sessions: DearSessionItem[] }) {
  if (sessions.length === 0) return null;
  return (
    <Section title="Most expensive sessions">
      <Box component="ol" sx={{ m: 0, pl: 2.5 }}>
        {sessions.map((session) => (
          <li key={session.id}>
            <TextLink to="/sessions/$sessionId" params={{ sessionId: session.id }}>
              {session.title}
            </TextLink>{" "}
            {formatCost({ usd: session.cost_usd, unpriced_calls: session.unpriced_calls })}
          </li>
        ))}
      </Box>
    </Section>
  );
}

/** Name, cost, tokens and calls. A plus stands for calls without a known price. */
export function usedRow(used: UsedItem): string[] {
  const cost = used.unpriced_calls > 0 ? `${formatDollars(used.cost_usd)} + ?` : formatDollars(used.cost_usd);
  return [used.name ?? "", cost, formatCount(used.input_tokens + used.output_tokens), formatCount(used.calls)];
}

export function toolRow(tool: ToolUseItem): string[] {
  return [`${tool.server}.${tool.tool}`, formatCount(tool.calls), formatCount(tool.failed_calls)];
}

/** Scope, ceiling, spent and reserved amount, and the forecast for the end of the period. */
export function budgetRow(budget: PeriodBudgetItem): string[] {
  const scope = [budget.chain && `chain ${budget.chain}`, budget.alert_type && `alert type ${budget.alert_type}`].filter(Boolean).join(", ");
  const amounts = [budget.usd, budget.spent_usd, budget.reserved_usd, budget.forecast_usd].map(formatDollars);
  return [scope ? `per ${budget.per}: ${scope}` : `per ${budget.per}`, ...amounts];
}

/** A warning about models without a known price, which budgets cannot count; null if there are none. */
export function unpricedWarning(budgets: PeriodBudgetItem[]): string | null {
  const models = [...new Set(budgets.flatMap((budget) => budget.unpriced_models))];
  if (models.length === 0) return null;
  return `Budgets do not count calls of ${models.join(" and ")}, whose price is not known. Give it under system.cost_estimation.model_rates.`;
}

/** The cached share of the input; null without input. */
export function cachedShare(used: UsedItem): string | null {
  return used.cache_hit_share === null ? null : `${Math.round(used.cache_hit_share * 100)} %`;
}
