"""A secret that comes in with an alert, a tool's result, an error or a model's own arguments is nowhere to be found afterwards."""

import base64
import sys

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, calls, chain, read_back, says, stage
from support.overheard import overheard
from support.paths import FAULT_SERVER
from tarsy.config.resolve.resolved import ResolvedMasking, ResolvedMcpServer, ResolvedTransport
from tarsy.db.tables import metadata
from tarsy.session.intake import Submission
from tarsy.settings import Settings
from tarsy.tools.masking import Masker
from tarsy.wiring import Application, application

TRACK = "0.look/1.Investigator"
# What no text of ours contains by chance.
SECRETS = st.text(alphabet="ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", min_size=24, max_size=40)
NAMED = st.sampled_from(["password={}", "DB_PASSWORD: {}", '"api_key": "{}"', "Authorization: Bearer {}", "client_secret={}"])


def server() -> ResolvedMcpServer:
    return ResolvedMcpServer(
        name="f",
        transport=ResolvedTransport(type="stdio", command=sys.executable, args=(str(FAULT_SERVER),)),
        masking=ResolvedMasking(enabled=True, pattern_groups=("all",)),
    )


def kubernetes_secret(secret: str) -> str:
    return f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  value: {base64.b64encode(secret.encode()).decode()}\n"


def scenario(planted: list[str], forms: list[str]) -> Scenario:
    """The alert, three results, an argument and a refused call each bring a secret along."""
    texts = [form.format(secret) for form, secret in zip(forms, planted, strict=True)]
    investigating = chain(stage(agent(mcp_servers=("f",))), mcp_servers={"f": server()})
    return Scenario(
        investigating,
        [
            says(TRACK, 0, "Let me see.", calls("a", "f.echo", text=f"found {texts[1]} in the environment")),
            says(TRACK, 1, calls("b", "f.echo", text=kubernetes_secret(planted[2]))),
            says(TRACK, 2, calls("c", "f.echo", txt=texts[3]), calls("d", "f.nothing", text=texts[4])),
            says(TRACK, 3, "It is the disk."),
            says(f"1.{SUMMARY}", 0, "Disk."),
        ],
        alert=f"login fails\n{texts[0]}\nplease look",
    )


async def stored(running: Application, database_url: str) -> str:
    """Every row of every table, as text."""
    connection = await asyncpg.connect(database_url)
    try:
        rows = [row for table in metadata.sorted_tables for row in await connection.fetch(f"SELECT t::text AS row FROM {table.name} t")]  # noqa: S608 - our own tables
    finally:
        await connection.close()
    recording = await read_back(running)
    return "\n".join([*(row["row"] for row in rows), recording.model_dump_json()])


@settings(max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    planted=st.lists(SECRETS, min_size=5, max_size=5, unique=True),
    forms=st.lists(NAMED, min_size=5, max_size=5),
)
async def test_a_planted_secret_never_survives_a_whole_session(
    database_url: str, capsys: pytest.CaptureFixture[str], planted: list[str], forms: list[str]
) -> None:
    story = scenario(planted, forms)
    # The scenario stores its alert directly; a submission would have masked it.
    async with overheard(story, database_url, alert=Masker.for_group("security").mask(story.alert)) as session:
        await session.work_off()
        kept = await stored(session.running, database_url)
        analysis = (await session.running.services.sessions.get(SESSION_ID)).final_analysis
        await session.running.services.sessions.purge(SESSION_ID, actor="tester")
    printed = capsys.readouterr()
    assert analysis == "It is the disk."
    assert "found" in kept, "the rest of the result is there"
    encoded = base64.b64encode(planted[2].encode()).decode()
    for place, text in {
        "stored": kept,
        "logged": printed.out + printed.err,
        "told": str(session.told),
        "asked": str(session.asked),
    }.items():
        assert [secret for secret in (*planted, encoded) if secret in text] == [], place


async def test_the_arguments_of_a_call_that_is_cut_short_are_masked_too(database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "Zq9hunter2hunter2"
    story = Scenario(
        chain(stage(agent(mcp_servers=("f",), iteration_timeout=3.0)), mcp_servers={"f": server()}),
        [
            says(TRACK, 0, calls("a", "f.hang", text=f"password={secret}")),
            says(TRACK, 1, "It is the disk."),
            says(f"1.{SUMMARY}", 0, "Disk."),
        ],
    )
    async with overheard(story, database_url) as session:
        await session.work_off()
        kept = await stored(session.running, database_url)
    printed = capsys.readouterr()
    assert "did not answer before the time of this iteration was up" in kept
    assert secret not in kept + printed.out + printed.err + str(session.told)


async def test_an_alert_is_masked_before_it_is_stored(database_url: str) -> None:
    async with application(Settings(env={"OPENAI_API_KEY": "k"}, database_url=database_url)) as running:
        session_id = await running.services.intake.submit(Submission(data="password=hunter2-hunter2", author="tester"))
        session = await running.services.sessions.get(session_id)
    assert "hunter2" not in session.alert_data
