"""`tarsy usage`: the usage and cost of models, read from the database, also while no server runs."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer

from tarsy.cli.db import DatabaseUrl, DataDir, with_upgraded_engine
from tarsy.cli.environment import process_settings
from tarsy.cli.terminal import harmless, parse_choice

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

    from tarsy.domain.period_budget import PeriodState
    from tarsy.domain.usage import UsageReport, UsageTotals

# As many lines of a group as a terminal shows beside the others.
SHOWN = 8


def usage(
    period: Annotated[str, typer.Option(metavar="day|week|month", help="How far to look back, today included.")] = "month",
    *,
    csv: Annotated[bool, typer.Option("--csv", help="Print all sums as CSV, for a spreadsheet.")] = False,
    config: Annotated[
        Path | None, typer.Option(envvar="TARSY_CONFIG_DIR", help="Directory of the configuration files, which name the budgets.")
    ] = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Show the usage of models and tools, and what it cost."""
    from tarsy.cli.doctor_checks import price_remarks
    from tarsy.config.load.loader import load_config
    from tarsy.config.problems import ConfigError
    from tarsy.db.spending import PostgresSpendingStore
    from tarsy.db.usage import DETAIL_COLUMNS, UsageRepository
    from tarsy.domain.usage import Period, csv_lines

    (chosen,) = parse_choice(Period, "period", period)
    now = datetime.now(UTC)
    span = chosen.until(now.date())
    if csv:
        rows = with_upgraded_engine(lambda engine: UsageRepository(engine).details(span), database_url, data_dir)
        typer.echo(csv_lines([DETAIL_COLUMNS, *([row[name] for name in DETAIL_COLUMNS] for row in rows)]), nl=False)
        return
    settings, loaded = process_settings(config), None
    try:
        loaded = load_config(settings.config_dir, settings.env)
    except ConfigError as error:
        typer.echo(f"The configuration cannot be read, so no budgets are shown: {error}", err=True)
    budgets = [one.budget for one in loaded.config.system.budgets] if loaded else []

    async def read(engine: "AsyncEngine") -> "tuple[UsageReport, Sequence[PeriodState]]":
        return await UsageRepository(engine).report(span, now.date()), await PostgresSpendingStore(engine).states(budgets, now)

    report, states = with_upgraded_engine(read, database_url, data_dir)
    _print_report(report)
    if loaded and states:
        _print_budgets(states, now)
        for remark in anyio.run(price_remarks, loaded):
            if remark.path.startswith("system.budgets"):
                typer.echo(harmless(f"  {remark.message}; {remark.remedy}"))


def _print_budgets(states: "Sequence[PeriodState]", now: datetime) -> None:
    from tarsy.domain.usage import format_usd

    typer.echo("\nbudgets")
    for state in states:
        forecast = format_usd(state.forecast(now))
        used = f"{format_usd(state.spent)} spent, {format_usd(state.reserved)} reserved, at this rate {forecast} at its end"
        typer.echo(harmless(f"  {state.budget.description.removeprefix('the ')}: {used}"))


def _print_report(report: "UsageReport") -> None:
    from tarsy.domain.usage import format_usd

    typer.echo(f"{report.span.first} to {report.span.last}: {_line(report.total)}")
    typer.echo(f"this month {format_usd(report.month_usd)}, at this rate {format_usd(report.month_forecast_usd)} at its end")
    groups = {"model": report.by_model, "chain": report.by_chain, "alert type": report.by_alert_type, "agent": report.by_agent}
    for name, group in groups.items():
        if group:
            typer.echo(f"\nby {name}")
        for one in group[:SHOWN]:
            typer.echo(harmless(f"  {one.name}: {_line(one.used)}"))
        if len(group) > SHOWN:
            typer.echo(f"  and {len(group) - SHOWN} more (--csv has all)")
    if report.by_tool:
        typer.echo("\nby tool")
    for tool in report.by_tool[:SHOWN]:
        typer.echo(harmless(f"  {tool.server}.{tool.tool}: {tool.calls} calls, {tool.failed_calls} failed"))
    if report.dearest_sessions:
        typer.echo("\ndearest sessions")
    for session in report.dearest_sessions:
        typer.echo(harmless(f"  {session.id}  {format_usd(session.cost_usd)}  {session.title}"))


def _line(used: "UsageTotals") -> str:
    from tarsy.domain.usage import format_usd

    share = used.cache_hit_share
    parts = [
        format_usd(used.cost_usd),
        f"{used.calls} calls",
        f"{used.input_tokens + used.output_tokens:,} tokens",
        *([f"{share:.0%} of the input cached"] if share else []),
        *([f"{used.unpriced_calls} calls of unknown price"] if used.unpriced_calls else []),
    ]
    return ", ".join(parts)
