"""`tarsy eval`: cases with a known answer, run and compared."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import typer

from tarsy.cli.environment import ConfigDir, DatabaseUrl, DataDir, ServerUrl, Session, Token, process_settings
from tarsy.cli.terminal import print_table, without_control_characters

if TYPE_CHECKING:
    from tarsy.evals.cases import Case
    from tarsy.evals.new_case import Description, SuggestedAnswers
    from tarsy.evals.trials import Trial

app = typer.Typer(no_args_is_help=True)
importing = typer.Typer(no_args_is_help=True, help="Make cases from what other tools recorded.")
app.add_typer(importing, name="import")

Directory = Annotated[
    Path | None, typer.Argument(metavar="DIR", help="Where the cases are.", show_default="the built-in suite", exists=True)
]
Tags = Annotated[list[str], typer.Option("--tag", help="Only cases with this tag, family or difficulty; repeat it to require several.")]
Names = Annotated[list[str], typer.Option("--case", help="Only the case with this name; repeat it for several.")]
Expect = Annotated[
    list[str],
    typer.Option(
        "--expect", metavar="KEY=VALUE", help="The expected answer: mechanism=word,word, not=cause, cite=words, outcome, object, …"
    ),
]
Target = Annotated[Path, typer.Option("--to", help="The directory to write the case into.")]
Title = Annotated[str, typer.Option("--title", help="What is wrong, in a few words.", show_default="from the alert")]
Family = Annotated[str, typer.Option("--family", help="The kind of fault.")]
Reference = Annotated[str, typer.Option("--reference", help="The true cause in a sentence.", show_default="the session's own mechanism")]


@app.command("list")
def list_cases(directory: Directory = None, tag: Tags = [], case: Names = []) -> None:  # noqa: B006 - typer reads them
    """List the cases, with their family, difficulty and tags."""
    rows = ((one.name, one.file.difficulty.value, ", ".join(one.groups), one.file.title) for one in _cases(directory, tag, case))
    print_table(("CASE", "DIFFICULTY", "FAMILY AND TAGS", "TITLE"), rows)


@app.command("run")
def run(  # noqa: PLR0913 - the options of a command
    directory: Directory = None,
    *,
    model: Annotated[list[str], typer.Option("--model", help="A configured provider, or oracle, naive, silent, which need no key.")] = [],  # noqa: B006 - typer reads it
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Play the recorded answers of the sample incidents: needs no key, for CI.")
    ] = False,
    adversaries: Annotated[
        bool,
        typer.Option("--adversaries", help="Run investigators that try to pass without finding anything out; exit status 1 if one does."),
    ] = False,
    runs: Annotated[int, typer.Option(min=1, help="How often to run each case.")] = 1,
    tag: Tags = [],  # noqa: B006 - typer reads it
    case: Names = [],  # noqa: B006 - typer reads it
    jobs: Annotated[int, typer.Option(min=1, max=50, help="How many cases to run at once.")] = 4,
    budget: Annotated[str | None, typer.Option(help="The most to spend: 5usd or 2Mtokens.", show_default="no limit")] = None,
    baseline: Annotated[Path | None, typer.Option(help="An earlier report to compare with; exit status 1 if this run is worse.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write results and reports; an interrupted run continues from here.")
    ] = Path("eval-results"),
    chain: Annotated[str | None, typer.Option(help="The configured chain to run.", show_default="that of each alert's type")] = None,
    judge: Annotated[str | None, typer.Option(help="A configured provider whose opinion the report shows next to the grades.")] = None,
    challenge: Annotated[
        bool | None,
        typer.Option("--challenge/--no-challenge", help="Let a second agent try to refute each verdict.", show_default="as the chain says"),
    ] = None,
    fork: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Play the first N recorded calls of cases that have a recording, and ask the model from there on; -1: all but the last.",
        ),
    ] = None,
    config: ConfigDir = None,
) -> None:
    """Run cases through the same pipeline as real alerts, and report. Trials that are already in the output directory do not run again."""
    from tarsy import __version__
    from tarsy.config.load.loader import load_config
    from tarsy.evals.investigators.adversaries import ADVERSARIES
    from tarsy.evals.models import find_models
    from tarsy.evals.plan import Plan, read_budget
    from tarsy.evals.report.files import write_reports
    from tarsy.evals.report.report import report_of
    from tarsy.evals.report.terminal import adversary_lines, as_lines, progress_line
    from tarsy.evals.run import run_evals
    from tarsy.evals.trials import TrialFile, read_trials

    settings = process_settings(config)
    cases, loaded = _cases(directory, tag, case), load_config(settings.config_dir, settings.env)
    before = read_trials(baseline) if baseline else ()
    plan = Plan(
        cases=cases,
        models=find_models(loaded, [*model, *(["recorded"] if recorded else []), *(ADVERSARIES if adversaries else ())]),
        runs=runs,
        jobs=jobs,
        chain_id=chain,
        budget=read_budget(budget) if budget else None,
        # A configured provider is the same for every case.
        judge=find_models(loaded, [judge])[0].provider(cases[0]) if judge else None,
        fork_at=fork,
        challenge=challenge,
    )

    def progress(trial: "Trial", number: int, count: int) -> None:
        typer.echo(without_control_characters(progress_line(trial, number, count)))

    output.mkdir(parents=True, exist_ok=True)
    outcome = anyio.run(run_evals, settings, plan, TrialFile(output / "trials.jsonl"), progress)
    report = report_of(outcome.trials, before, version=__version__, created_at=datetime.now(UTC), left_out=outcome.left_out)
    adversary_report = report.limited_to(ADVERSARIES)
    for line in (
        *as_lines(report.limited_to({one.model for one in report.summaries} - {*ADVERSARIES})),
        *adversary_lines(adversary_report),
    ):
        typer.echo(without_control_characters(line))
    for path in write_reports(report, output):
        typer.echo(f"wrote {path}")
    raise typer.Exit(1 if report.is_regression or adversary_report.can_be_gamed else 0)


@app.command("compare")
def compare(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A report.json or trials.jsonl.", exists=True, dir_okay=False)],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Another one.", exists=True, dir_okay=False)],
) -> None:
    """Compare two measurements case by case: prompts, models or configurations. Exit status 1 if the second is worse by more than chance."""
    from tarsy.evals.report.report import comparisons
    from tarsy.evals.report.terminal import comparison_lines
    from tarsy.evals.trials import read_trials

    found = comparisons(read_trials(before), read_trials(after))
    if not found:
        typer.echo("Nothing to compare: the two have no model in common.", err=True)
        raise typer.Exit(2)
    for line in (line for comparison in found for line in comparison_lines(comparison)):
        typer.echo(without_control_characters(line))
    raise typer.Exit(1 if any(one.is_regression for one in found) else 0)


@app.command("add")
def add(  # noqa: PLR0913 - the options of a command
    session: Session,
    *,
    expect: Expect = [],  # noqa: B006 - typer reads it
    to: Target = Path("evals"),
    name: Annotated[str, typer.Option("--name", help="The name of the case.", show_default="the session's id")] = "",
    title: Title = "",
    family: Family = "production",
    reference: Reference = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: take the mechanism and the evidence from the session's verdict.")] = False,
    url: ServerUrl = None,
    token: Token = None,
    database_url: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Turn a finished session into a case: its tool results become the world, and its review (`tarsy review --accuracy`) the expected answer. Without one, asks for the mechanism and the evidence that --expect leaves out; the session's verdict suggests answers. Read the file and correct it."""
    from pydantic import ValidationError

    from tarsy.cli.client import TarsyClient, call_server_or_database
    from tarsy.domain.recording import Recording
    from tarsy.domain.review import Accuracy
    from tarsy.evals.cases import EvalError
    from tarsy.evals.new_case import Description, case_of_session, reviewed_answers, suggested_answers

    async def read(client: TarsyClient) -> tuple[str, str, dict[str, Any]]:
        session_id = await client.session_id(session)
        return session_id, await client.recording(session_id), (await client.session_review(session_id))["review"] or {}

    session_id, text, review = call_server_or_database(read, url=url, token=token, database_url=database_url, data_dir=data_dir)
    try:
        recording = Recording.model_validate_json(text)
    except ValidationError as error:
        raise EvalError("The server sent no recording that this version of TARSy can read. Use the same version of both.") from error
    accuracy = Accuracy(review["accuracy"]) if review.get("accuracy") else None
    suggested = suggested_answers(recording)
    if accuracy:
        suggested = reviewed_answers(suggested, accuracy, review["actual_cause"])
    described = Description(title=title, family=family, reference=reference, expect=tuple(expect))
    completed = _completed(described, suggested, yes=yes or accuracy is not None)
    case = case_of_session(recording, completed, "recording.json", accuracy=accuracy)
    _write(to / (name or session_id), case, "recording.json", text)


def _completed(description: "Description", suggested: "SuggestedAnswers", *, yes: bool) -> "Description":
    """Add the mechanism and the evidence that the description lacks: the answers of the person at the terminal, or the suggested ones."""
    from tarsy.evals.cases import EvalError

    given = dict(entry.split("=", 1) for entry in description.expect if "=" in entry)
    names_cause = given.get("outcome", suggested.outcome) != "inconclusive"
    lacks_mechanism, lacks_evidence = names_cause and "mechanism" not in given, "cite" not in given
    if not lacks_mechanism and not lacks_evidence:
        return description
    if not yes and not sys.stdin.isatty():
        raise EvalError(
            "A case needs a mechanism and evidence, and there is no terminal to ask for them: give --expect mechanism=word,word and "
            "--expect cite=words, or --yes for those of the session's verdict."
        )

    def ask(question: str, default: str) -> str:
        answer = default if yes else typer.prompt(question, default=default or "-", type=str).strip()
        return "" if answer == "-" else answer

    answers: list[str] = []
    reference = description.reference or ask("The true cause, in a sentence", suggested.reference)
    if lacks_mechanism:
        words = ask("Words that a correct mechanism contains (a,b; a|b for alternative spellings)", ",".join(suggested.must_say(reference)))
        answers += [f"mechanism={words}"] if words else []
        wrong = ask("Causes that it must not name (a,b; - for none)", ",".join(suggested.must_not_say)) if words else ""
        answers += [f"not={wrong}"] if wrong else []
    if lacks_evidence:
        for number, quotation in enumerate(() if yes else suggested.quotations, start=1):
            typer.echo(without_control_characters(f"  {number}  {quotation}"))
        first_two = ("1", "2")[: len(suggested.quotations)]
        chosen = ask("Quotations that it must cite: their numbers, or words of a tool result", ",".join(first_two))
        parts = [part.strip() for part in chosen.split(",") if part.strip()]
        if all(part.isdecimal() for part in parts):
            quoted = [suggested.quotations[int(part) - 1] for part in parts if 0 < int(part) <= len(suggested.quotations)]
        else:
            quoted = [chosen]
        answers += [f"cite={one}" for one in quoted if one]
    found = {answer.partition("=")[0] for answer in answers}
    if (lacks_mechanism and "mechanism" not in found) or (lacks_evidence and "cite" not in found):
        raise EvalError(
            "A case without a mechanism or without evidence proves nothing: give --expect mechanism=word,word and --expect cite=words."
        )
    return replace(description, reference=reference, expect=(*description.expect, *answers))


@importing.command("snapshot")
def import_snapshot(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help='JSON files of tool results: {"tool:{arguments}": "text"}.', exists=True, file_okay=False)
    ],
    alert: Annotated[Path, typer.Option("--alert", help="A file with the alert.", exists=True, dir_okay=False)],
    expect: Expect = [],  # noqa: B006 - typer reads it
    to: Target = Path("evals"),
    name: Annotated[str, typer.Option("--name", help="The name of the case.", show_default="the directory's")] = "",
    title: Title = "",
    family: Family = "imported",
    reference: Annotated[str, typer.Option("--reference", help="The true cause in a sentence.")] = "",
) -> None:
    """Make a case from recorded tool results and an alert."""
    from tarsy.evals.new_case import Description, case_of_snapshot
    from tarsy.evals.worlds.loading import read_snapshot
    from tarsy.evals.worlds.snapshot import merged, written

    files = [path for path in sorted(directory.glob("*.json")) if path.resolve() != alert.resolve()]
    if not files:
        raise typer.BadParameter(f"no *.json in {directory}")
    snapshot = merged(read_snapshot(path) for path in files)
    description = Description(title=title, family=family, reference=reference, expect=tuple(expect))
    newest = datetime.fromtimestamp(max(path.stat().st_mtime for path in files), UTC)
    text = case_of_snapshot(snapshot, alert.read_text(encoding="utf-8"), description, "snapshot.json", recorded_at=newest)
    _write(to / (name or directory.resolve().name), text, "snapshot.json", written(snapshot))


def _write(folder: Path, case: str, world_name: str, world: str) -> None:
    from tarsy.evals.cases import CASE_FILE, load_cases

    if (folder / CASE_FILE).exists():
        typer.echo(f"{folder / CASE_FILE} exists already: choose another --name.", err=True)
        raise typer.Exit(1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / world_name).write_text(world, encoding="utf-8")
    (folder / CASE_FILE).write_text(case, encoding="utf-8")
    load_cases(folder)
    typer.echo(f"wrote {folder / CASE_FILE}: read what it expects, and correct it.")


def _cases(directory: Path | None, tags: Sequence[str], names: Sequence[str]) -> "tuple[Case, ...]":
    from tarsy.evals.cases import SUITE, load_cases, select_cases

    found = select_cases(load_cases(directory or SUITE), tags=tags, names=names)
    if not found:
        typer.echo("No case has all of these tags and names; `tarsy eval list` shows them.", err=True)
        raise typer.Exit(2)
    return found
