"""Which alerts lead to a stage that acts: those that a route or a person gives its chain, whatever their sender writes."""

from dataclasses import replace

from support.agent_scenario import agent, chain, stage
from support.api_world import FixedChains
from support.intake_world import ROUTE, IntakeWorld, alert, delivery, intake_world
from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.config.schema.selection import McpSelection
from tarsy.domain.execution import AgentType


class ActingChains(FixedChains):
    def resolve(self, alert_type: str, selection: McpSelection | None) -> ResolvedChain:
        super().resolve(alert_type, selection)
        return chain(stage(agent("A"), name="look"), stage(agent("B", type=AgentType.ACTION), name="act"))


async def stages_of_last_session(ground: IntakeWorld) -> list[str]:
    """The stages, and in parentheses those that were left out."""
    rows = await ground.rows("SELECT chain_snapshot FROM alert_sessions ORDER BY created_at DESC LIMIT 1")
    snapshot = rows[0]["chain_snapshot"]
    return [*(one["name"] for one in snapshot["stages"]), *(f"({name})" for name in snapshot.get("acting_left_out", ()))]


async def test_a_stage_acts_only_if_a_route_or_a_person_chose_its_chain(database_url: str) -> None:
    routed = replace(ROUTE, name="routed", match=(), alert_type="kubernetes")
    async with intake_world(database_url, chains=ActingChains()) as ground:
        # The type in the address of the webhook is the sender's word; the default is nobody's.
        await ground.acceptance().accept(delivery(alert("f0", problem="named")), author="monitor", alert_type="silent")
        assert await stages_of_last_session(ground) == ["look", "(act)"]
        ground.later(minutes=1)
        answer = await ground.take(alert("f1", problem="unrouted"))
        assert await stages_of_last_session(ground) == ["look", "(act)"]
        assert answer.main
        await ground.finish(await ground.begin())
        await ground.finish(await ground.begin())
        ground.later(minutes=1)
        await ground.commands().investigate(answer.main.incident_id or "", actor="ada")
        assert await stages_of_last_session(ground) == ["look", "act"]
    async with intake_world(database_url, chains=ActingChains(), routes=(routed,)) as ground:
        ground.later(minutes=5)
        await ground.acceptance().accept(delivery(alert("f2", problem="overruled")), author="monitor", alert_type="silent")
        assert await stages_of_last_session(ground) == ["look", "(act)"]
        ground.later(minutes=1)
        await ground.take(alert("f3", problem="routed"))
        assert await stages_of_last_session(ground) == ["look", "act"]
