"""`tarsy review`: judge, acknowledge or assign a session."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer

from tarsy.cli.environment import DatabaseUrl, DataDir, ServerUrl, Session, Token
from tarsy.cli.terminal import minute, parse_choice, without_control_characters


class Rating(StrEnum):
    USEFUL = "useful"
    NOT_USEFUL = "not-useful"


def review(  # noqa: PLR0913, PLR0917 - the options of a command
    session: Session,
    rating: Annotated[
        Rating | None, typer.Argument(help="Whether the investigation helped; without it, the review is shown.", show_default=False)
    ] = None,
    accuracy: Annotated[str | None, typer.Option(metavar="accurate|partly|wrong", help="Whether the verdict was right.")] = None,
    cause: Annotated[str | None, typer.Option(help="The actual cause.")] = None,
    action: Annotated[str | None, typer.Option(help="What was done about it.")] = None,
    comment: Annotated[str | None, typer.Option(help="A comment for others.")] = None,
    acknowledge: Annotated[bool, typer.Option("--acknowledge", help="Say that you have seen it.")] = False,  # noqa: FBT002 - a flag
    assign: Annotated[str | None, typer.Option(metavar="PERSON", help='Who handles it; "" to unassign.')] = None,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Review, acknowledge or assign a session, or show its review. Options that are left out stay as they are."""
    from tarsy.cli.client import TarsyClient, call_server_or_database
    from tarsy.domain.review import Accuracy

    judged = {"accuracy": parse_choice(Accuracy, "accuracy", accuracy), "actual_cause": cause, "action_taken": action}
    judged = {name: value for name, value in judged.items() if value is not None}
    triage = {**({"acknowledged": True} if acknowledge else {}), **({"assignee": assign} if assign is not None else {})}
    if rating is None and judged:
        raise typer.BadParameter("say first whether the session was useful or not-useful")

    async def store(client: TarsyClient) -> dict[str, Any]:
        session_id = await client.session_id(session)
        if rating is not None:
            await client.review(session_id, {"useful": rating is Rating.USEFUL, **judged})
        if triage:
            await client.triage("sessions", session_id, triage)
        if comment:
            await client.comment("sessions", session_id, comment)
        return await client.session_review(session_id)

    for line in _lines(call_server_or_database(store, url=url, token=token, database_url=database_url, data_dir=data_dir)):
        typer.echo(without_control_characters(line))


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    review = found["review"]
    if review is None:
        yield "Not reviewed yet."
    else:
        rating = Rating.USEFUL if review["useful"] else Rating.NOT_USEFUL
        yield f"{', '.join(filter(None, (rating, review['accuracy'])))}, by {review['reviewer']}, {minute(review['reviewed_at'])}"
        yield from (f"{name}: {review[key]}" for name, key in (("cause", "actual_cause"), ("action", "action_taken")) if review[key])
    yield from triage_lines(found["triage"])


def triage_lines(triage: Mapping[str, Any]) -> Iterator[str]:
    """Yield who has acknowledged a session or an incident, who takes care of it, and the comments."""
    if triage["acknowledged_by"]:
        yield f"acknowledged by {triage['acknowledged_by']}, {minute(triage['acknowledged_at'])}"
    if triage["assignee"]:
        yield f"assigned to {triage['assignee']}"
    yield from (f"{one['author']}, {minute(one['created_at'])}: {one['text']}" for one in triage["comments"])
