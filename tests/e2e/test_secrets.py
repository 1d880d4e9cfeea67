"""A secret is nowhere to be found afterwards, whichever way it came in: with an alert, a tool's result or error, a model's words, a runbook, …"""

import base64
import json
import re
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle
from pathlib import Path

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.agent_scenario import SESSION_ID, SUMMARY, Scenario, agent, calls, chain, read_back, says, stage, thinks
from support.api_world import serving
from support.observed_application import observed
from support.paths import FAULT_SERVER
from support.replaying import replayed
from support.secret_kinds import DRESSES, KINDS, SecretKind
from tarsy.config.resolve.resolved import ResolvedMasking, ResolvedMcpServer, ResolvedTransport
from tarsy.db.masking_key import masking_key
from tarsy.db.tables import metadata
from tarsy.domain.claim import CHAT_ANSWER
from tarsy.domain.recording import RecordedCall
from tarsy.domain.tool import ApprovalPolicy, ToolCalling
from tarsy.session.submission import Submission
from tarsy.settings import Settings
from tarsy.tools.masking import Masker
from tarsy.wiring.application import Application, application

TRACK = "0.look/1.Investigator"
CHAT_TRACK = "2.chat/1.ChatAgent"
# What no text of ours contains by chance.
SECRETS = st.text(alphabet="ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", min_size=24, max_size=40)
NAMED = st.sampled_from(["password={}", "DB_PASSWORD: {}", '"api_key": "{}"', "Authorization: Bearer {}", "client_secret={}"])


def server() -> ResolvedMcpServer:
    return ResolvedMcpServer(
        name="f",
        approval=ApprovalPolicy.NEVER,
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
    async with observed(story, database_url, alert=Masker.for_group("security").mask(story.alert)) as session:
        await session.run_waiting()
        kept = await stored(session.running, database_url)
        analysis = (await session.running.services.repositories.sessions.get(SESSION_ID)).final_analysis
        await session.running.services.repositories.sessions.purge(SESSION_ID, actor="tester")
    printed = capsys.readouterr()
    assert analysis == "It is the disk."
    assert "found" in kept, "the rest of the result is there"
    encoded = base64.b64encode(planted[2].encode()).decode()
    for place, text in {
        "stored": kept,
        "logged": printed.out + printed.err,
        "told": str(session.messages),
        "asked": str(session.asked),
    }.items():
        assert [secret for secret in (*planted, encoded) if secret in text] == [], place


async def test_the_arguments_of_a_call_that_is_cut_short_are_masked_too(database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    secret = "Zq9hunter2hunter2"
    story = Scenario(
        chain(stage(agent(mcp_servers=("f",), iteration_timeout=6.0)), mcp_servers={"f": server()}),
        [
            says(TRACK, 0, calls("a", "f.hang", text=f"password={secret}")),
            says(TRACK, 1, "It is the disk."),
            says(f"1.{SUMMARY}", 0, "Disk."),
        ],
    )
    async with observed(story, database_url) as session:
        await session.run_waiting()
        kept = await stored(session.running, database_url)
    printed = capsys.readouterr()
    assert "did not answer before the time of this iteration was up" in kept
    assert secret not in kept + printed.out + printed.err + str(session.messages)


async def test_the_same_secret_has_the_same_tag_everywhere_in_a_session_and_its_key_is_nowhere(database_url: str) -> None:
    same, other = "Zq9hunter2hunter2", "Zq9hunter3hunter3"
    story = Scenario(
        chain(stage(agent(mcp_servers=("f",))), mcp_servers={"f": server()}),
        [
            says(TRACK, 0, calls("a", "f.echo", text=f"DB_PASSWORD={same}"), calls("b", "f.echo", text=kubernetes_secret(same))),
            says(TRACK, 1, calls("c", "f.echo", text=f"DB_PASSWORD={other}")),
            says(TRACK, 2, f"The password is {same}."),
            says(f"1.{SUMMARY}", 0, "Disk."),
        ],
    )
    async with observed(story, database_url) as session, serving(session.running.services) as api:
        await session.run_waiting()
        recording = await read_back(session.running)
        shown = [(await api.client.get(f"/api/v1/sessions/{SESSION_ID}{part}")).text for part in ("", "/timeline", "/trace", "/recording")]
        key = await masking_key(session.running.engine)
        analysis = (await session.running.services.repositories.sessions.get(SESSION_ID)).final_analysis or ""
    results = {tool.call_id: tool.content for tool in recording.tools}
    tags = {name: re.findall(r"~(\w{3})\]", text) for name, text in {**results, "analysis": analysis}.items()}
    assert len(tags["a"]) == 1
    assert tags["a"] == tags["b"]
    assert tags["c"] != tags["a"]
    assert tags["analysis"] == tags["a"]
    forms = (key.hex(), base64.b64encode(key).decode())
    assert [form for form in forms if form in f"{shown}{recording.model_dump_json()}{session.messages}{session.asked}"] == []


async def test_an_alert_is_masked_before_it_is_stored(database_url: str) -> None:
    async with application(Settings(env={"OPENAI_API_KEY": "k"}, database_url=database_url)) as running:
        submitted = await running.services.submissions.submit(Submission(data="password=hunter2-hunter2", author="tester"))
        session = await running.services.repositories.sessions.get(submitted.session_id)
    assert "hunter2" not in session.alert_data


# A representative of each sort of format, in dresses of one line and of several; the product of all is the masker's own test.
PLANTED = KINDS[::7]
WORN = ("env", "YAML below its key", "lines in JSON", "URL user, not encoded", "Go DSN", "Kubernetes Secret", "told", "env entry")


@dataclass
class RunbookServer:
    address: str
    asked: list[str] = field(default_factory=list[str])


@contextmanager
def runbook_server(text: str) -> Generator[RunbookServer]:
    """Serves one text, and remembers what it was asked for."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        served = RunbookServer(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield served
        http.shutdown()
        thread.join()


class Planting:
    """A secret for every way in, no two the same, and what has been planted so far."""

    def __init__(self, offset: int) -> None:
        self._kinds = cycle(PLANTED[offset:] + PLANTED[:offset])
        self._dresses = cycle(WORN[offset:] + WORN[:offset])
        self.kinds: list[SecretKind] = []

    def secret(self) -> str:
        kind = next(self._kinds)
        self.kinds.append(kind)
        return DRESSES[next(self._dresses)](kind)

    def in_pieces(self) -> list[str]:
        """As a model says it: a few characters at a time."""
        text = f"I see:\n{self.secret()}\nThat explains it. "
        return [text[at : at + 5] for at in range(0, len(text), 5)]


def masked_by_default() -> ResolvedMcpServer:
    return ResolvedMcpServer(
        name="f",
        approval=ApprovalPolicy.NEVER,
        transport=ResolvedTransport(type="stdio", command=sys.executable, args=(str(FAULT_SERVER),)),
    )


def every_way_in(planting: Planting, tool_calling: ToolCalling) -> Scenario:
    """Thinking, text, arguments, results, errors, stderr, names of tools, analysis, summary, and an answer in the chat."""

    def use(turn: int, tool: str, text: str) -> RecordedCall:
        if tool_calling is ToolCalling.NATIVE:
            return says(TRACK, turn, *map(thinks, planting.in_pieces()), *planting.in_pieces(), calls(f"call-{turn}", tool, text=text))
        written = f"Thought: {planting.secret()}\nAction: {tool}\nAction Input: {json.dumps({'text': text})}"
        return says(TRACK, turn, *(written[at : at + 5] for at in range(0, len(written), 5)))

    answer = "Final Answer: " if tool_calling is ToolCalling.REACT else ""
    return Scenario(
        chain(
            stage(agent(mcp_servers=("f",), tool_calling=tool_calling)),
            mcp_servers={"f": masked_by_default()},
            chat=agent("ChatAgent", mcp_servers=("f",)),
        ),
        [
            use(0, "f.echo", planting.secret()),
            use(1, "f.say_as_error", planting.secret()),
            use(2, "f.say_on_stderr", planting.secret()),
            says(TRACK, 3, answer, *planting.in_pieces(), "It is the disk."),
            says(f"1.{SUMMARY}", 0, *planting.in_pieces(), "Disk."),
            says(CHAT_TRACK, 0, *planting.in_pieces(), "Yes."),
        ],
    )


@pytest.mark.parametrize("tool_calling", list(ToolCalling))
@pytest.mark.parametrize("offset", range(0, len(WORN), 3))
async def test_no_way_in_lets_a_secret_through(
    database_url: str, capsys: pytest.CaptureFixture[str], offset: int, tool_calling: ToolCalling
) -> None:
    planting = Planting(offset)
    story = every_way_in(planting, tool_calling)
    alert = Masker.for_group("security").mask(planting.secret())
    async with observed(story, database_url, alert=alert) as session, serving(session.running.services) as api:
        await session.run_waiting()
        asked = await api.client.post(f"/api/v1/sessions/{SESSION_ID}/chat/messages", json={"content": planting.secret()})
        assert asked.status_code == 202, asked.text
        await session.running.pool.run_waiting(CHAT_ANSWER)
        kept = await stored(session.running, database_url)
        shown = [(await api.client.get(f"/api/v1/sessions/{SESSION_ID}{part}")).text for part in ("", "/timeline", "/trace")]
        analysis = (await session.running.services.repositories.sessions.get(SESSION_ID)).final_analysis
    printed = capsys.readouterr()
    assert analysis is not None
    assert analysis.endswith("It is the disk.")
    assert "Yes." in kept
    places = {
        "stored": kept,
        "logged": printed.out + printed.err,
        "told": str(session.messages),
        "asked": str(session.asked),
        "shown": str(shown),
    }
    surviving = {(place, kind.name) for place, text in places.items() for kind in planting.kinds if kind.survives_in(text)}
    assert surviving == set()


async def test_what_a_model_wrote_in_secrets_replays_to_the_letter(database_url: str) -> None:
    story = every_way_in(Planting(0), ToolCalling.REACT)
    async with observed(story, database_url) as session:
        await session.run_waiting()
        recording = await read_back(session.running)
    assert await replayed(database_url, recording) == []


async def test_a_runbook_whose_address_holds_a_token_is_fetched_and_stored_without_it(database_url: str, tmp_path: Path) -> None:
    token, secret = next(kind for kind in KINDS if kind.name == "GITHUB_TOKEN"), KINDS[-1]
    (tmp_path / "tarsy.yaml").write_text("system: {runbooks: {allowed_domains: [127.0.0.1]}}\n")
    with runbook_server(f"# Steps\n{secret.name}={secret.value}\nLook at the disk.\n") as served:
        address = f"{served.address}/runbook.md?token={token.value}"
        async with application(Settings(env={"OPENAI_API_KEY": "k"}, database_url=database_url, config_dir=tmp_path)) as running:
            submission = Submission(data="disk full", author="tester", runbook_url=address)
            submitted = await running.services.submissions.submit(submission)
            session = await running.services.repositories.sessions.get(submitted.session_id)
    assert served.asked == [f"/runbook.md?token={token.value}"]
    assert session.runbook_url == f"{served.address}/runbook.md?token=[MASKED_GITHUB_TOKEN]"
    assert session.runbook is not None
    assert "Look at the disk." in session.runbook
    assert not secret.survives_in(session.runbook)
