"""`tarsy usage`: the usage and cost of models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Token
from tarsy.cli.terminal import parse_choice, print_table, short_id, without_control_characters

# As many lines of a group as a terminal shows beside the others.
SHOWN = 8


def usage(
    period: Annotated[str, typer.Option(metavar="day|week|month", help="How far to look back, today included.")] = "month",
    *,
    csv: Annotated[bool, typer.Option("--csv", help="Print all sums as CSV, for a spreadsheet.")] = False,
    config: Annotated[
        Path | None, typer.Option(envvar="TARSY_CONFIG_DIR", help="Directory of the configuration files, which name the budgets.")
    ] = None,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Show the usage of models and tools, and what it cost."""
    from tarsy.cli.client import TarsyClient, call_server_or_database
    from tarsy.domain.usage import Period

    chosen = parse_choice(Period, "period", period)

    async def read(client: TarsyClient) -> str | dict[str, Any]:
        return await client.usage_table(chosen) if csv else await client.usage(chosen)

    found = call_server_or_database(read, url=url, token=token, database_url=database_url, data_dir=data_dir, config=config)
    if isinstance(found, str):
        typer.echo(found, nl=False)
    else:
        _print_report(found)


def _print_report(report: Mapping[str, Any]) -> None:
    total = report["total"]
    unpriced = f", {total['unpriced_calls']} calls of unknown price" if total["unpriced_calls"] else ""
    typer.echo(
        f"{report['first_day']} to {report['last_day']}: {_usd(total['cost_usd'])}, {total['calls']} calls, {_tokens(total)} tokens{unpriced}"
    )
    typer.echo(f"This month: {_usd(report['month_usd'])} so far, forecast {_usd(report['month_forecast_usd'])}")
    groups = {"MODEL": "by_model", "CHAIN": "by_chain", "ALERT TYPE": "by_alert_type", "AGENT": "by_agent"}
    for name, key in groups.items():
        _print_group((name, "COST", "CALLS", "TOKENS", "CACHED", "UNPRICED"), [_used(one) for one in report[key]])
    tools = [(f"{one['server']}.{one['tool']}", str(one["calls"]), str(one["failed_calls"])) for one in report["by_tool"]]
    _print_group(("TOOL", "CALLS", "FAILED"), tools)
    dearest = [(short_id(one["id"]), _usd(one["cost_usd"]), one["title"]) for one in report["dearest_sessions"]]
    _print_group(("MOST EXPENSIVE SESSION", "COST", "TITLE"), dearest)
    _print_group(("BUDGET", "SPENT", "RESERVED", "FORECAST"), [_budget(one) for one in report["budgets"]])
    for one in report["budgets"]:
        if one["unpriced_models"]:
            models = ", ".join(one["unpriced_models"])
            typer.echo(
                without_control_characters(f"The ceiling of {_name(one)} does not count calls of {models}, whose price is not known.")
            )


def _print_group(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        typer.echo()
        print_table(headers, rows[:SHOWN])
    if len(rows) > SHOWN:
        typer.echo(f"and {len(rows) - SHOWN} more; --csv prints all")


def _used(one: Mapping[str, Any]) -> tuple[str, ...]:
    cached = f"{one['cache_hit_share']:.0%}" if one["cache_hit_share"] else ""
    return one["name"], _usd(one["cost_usd"]), str(one["calls"]), _tokens(one), cached, str(one["unpriced_calls"] or "")


def _budget(one: Mapping[str, Any]) -> tuple[str, ...]:
    return _name(one), _usd(one["spent_usd"]), _usd(one["reserved_usd"]), _usd(one["forecast_usd"])


def _name(budget: Mapping[str, Any]) -> str:
    scope = next((f" for {kind} {budget[key]}" for key, kind in (("chain", "chain"), ("alert_type", "alert type")) if budget[key]), "")
    return f"{_usd(budget['usd'])} a {budget['per']}{scope}"


def _tokens(used: Mapping[str, Any]) -> str:
    return f"{used['input_tokens'] + used['output_tokens']:,}"


def _usd(amount: float) -> str:
    from decimal import Decimal

    from tarsy.domain.usage import format_usd

    return format_usd(Decimal(str(amount)))
