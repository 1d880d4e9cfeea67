"""The use of models and tools, and its cost."""

from datetime import UTC, date, datetime
from typing import Annotated

from fastapi import Query, Response

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.usage import PeriodBudgetItem, UsageOverview, UsageTrendsView
from tarsy.api.schemas.view import Day
from tarsy.api.services import ServicesDep
from tarsy.db.usage import DETAIL_COLUMNS
from tarsy.domain.usage import MAX_DAYS, Period, Span, csv_lines

router = api_router("/usage", tag="usage")

PeriodOf = Annotated[Period, Query(description="The last day, week or month, including today; `from` and `to` override it.")]
FirstDay = Annotated[Day | None, Query(alias="from", description="First day, in UTC.")]
LastDay = Annotated[Day | None, Query(alias="to", description="Last day, in UTC.")]


@router.get("", operation_id="getUsage")
async def get_usage(services: ServicesDep, period: PeriodOf = Period.MONTH, first: FirstDay = None, last: LastDay = None) -> UsageOverview:
    """Usage and cost by day, model, chain, alert type, agent and tool; the most expensive sessions; a forecast for the month; how much of each budget is used."""
    now = datetime.now(UTC)
    report = await services.usage.report(_span(period, first, last, now.date()), now.date())
    states = await services.spending.states(services.period_budgets, now)
    unpriced = {one.path: one.models for one in await services.system.installation.unpriced_ceilings()}
    budgets = [PeriodBudgetItem.of(state, now, unpriced.get(("system", "budgets", index), ())) for index, state in enumerate(states)]
    return UsageOverview.of(report, budgets)


@router.get("/trends", operation_id="getUsageTrends")
async def get_usage_trends(
    services: ServicesDep, period: PeriodOf = Period.MONTH, first: FirstDay = None, last: LastDay = None
) -> UsageTrendsView:
    """Usage of each day by model and alert type; verdicts and time to verdict of each of the last thirteen weeks."""
    span = _span(period, first, last, datetime.now(UTC).date())
    return UsageTrendsView.of(await services.usage.trends(span), span)


@router.get("/table.csv", operation_id="getUsageTable", response_class=Response, responses={200: {"content": {"text/csv": {}}}})
async def get_usage_table(services: ServicesDep, period: PeriodOf = Period.MONTH, first: FirstDay = None, last: LastDay = None) -> Response:
    """All sums as CSV, one line per day, chain, alert type, agent and model."""
    span = _span(period, first, last, datetime.now(UTC).date())
    rows = await services.usage.details(span)
    table = csv_lines([DETAIL_COLUMNS, *([row[name] for name in DETAIL_COLUMNS] for row in rows)])
    name = f"tarsy-usage-{span.first}-{span.last}.csv"
    return Response(table, media_type="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _span(period: Period, first: date | None, last: date | None, today: date) -> Span:
    usual = period.until(today)
    span = Span(first or min(usual.first, last or today), last or today)
    if span.last < span.first:
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, "`to` is before `from`.")
    if (span.last - span.first).days > MAX_DAYS:
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, f"At most {MAX_DAYS} days can be requested at once.")
    return span
