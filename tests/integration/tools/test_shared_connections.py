"""The application keeps shared connections for all sessions it works on, and closes them when it ends."""

from dataclasses import replace
from uuid import uuid4

import pytest

from support.agent_scenario import SUMMARY, Scenario, agent, calls, chain, says, stage
from support.http_fault_server import HttpFault, http_fault_server
from tarsy.config.resolve.resolved import ResolvedMcpServer, ResolvedTransport
from tarsy.domain.claim import INVESTIGATION
from tarsy.domain.tool import ApprovalPolicy
from tarsy.llm.in_process import in_process_client
from tarsy.settings import Settings
from tarsy.wiring.application import application
from tarsy.wiring.infrastructure import Overrides

TRACK = "0.look/1.Investigator"


def scenario(remote: HttpFault, *, shared: bool) -> Scenario:
    server = ResolvedMcpServer(
        name="f", approval=ApprovalPolicy.NEVER, transport=ResolvedTransport(type="http", url=remote.url, shared_connection=shared)
    )
    return Scenario(
        chain(stage(agent(mcp_servers=("f",))), mcp_servers={"f": server}, scoring=None),
        [says(TRACK, 0, calls("a", "f.echo", text="hello")), says(TRACK, 1, "It is the disk."), says(f"1.{SUMMARY}", 0, "Disk.")],
    )


@pytest.mark.parametrize(("shared", "connections"), [(True, 1), (False, 2)])
async def test_two_sessions_have_as_many_connections_as_the_configuration_says(
    database_url: str,
    shared: bool,  # noqa: FBT001 - a parameter of the test
    connections: int,
) -> None:
    async with http_fault_server() as remote:
        story = scenario(remote, shared=shared)
        recording = story.recording
        llm = in_process_client(env={}, recordings=lambda _: recording, replay_speed=0)
        async with application(Settings(env={}, database_url=database_url), overrides=Overrides(llm=llm)) as running:
            for _ in range(2):
                await running.services.repositories.sessions.insert(replace(story.session(), id=str(uuid4())))
            await running.pool.run_waiting(INVESTIGATION)
        assert remote.calls == ["echo", "echo"]
        opened = [headers for method, _, headers in remote.requests if method == "POST" and "mcp-session-id" not in headers]
        ended = [method for method, _, _ in remote.requests if method == "DELETE"]
        assert (len(opened), len(ended)) == (connections, connections)
