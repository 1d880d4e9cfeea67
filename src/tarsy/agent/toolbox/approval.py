"""Tools whose calls wait for a person's approval."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tarsy.agent.ports import ApprovalStore, Mask, ToolExecutor
from tarsy.agent.prompt.nudges import decision_result, masked_arguments_result
from tarsy.agent.toolbox.wrapper import ToolWrapper
from tarsy.config.resolve.resolved import ResolvedMcpServer
from tarsy.domain.approval import Approval, ApprovalRequest, ApprovalState, CallDecided, CallDecision, call_hash, decision_of
from tarsy.domain.claim import Claim
from tarsy.domain.conversation import ToolCall
from tarsy.domain.execution import ExecutionPlace, Wait
from tarsy.domain.run_input import AnyInput
from tarsy.domain.tool import OnOutput, ToolCatalog, ToolDefinition, ToolName, ToolResult, is_masked
from tarsy.domain.tool_arguments import ArgumentProblem, parse_arguments
from tarsy.kit.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """What an execution asks for approvals with. Without a store no person can be asked: tools that need an approval are withheld."""

    store: ApprovalStore | None
    place: ExecutionPlace
    servers: Mapping[str, ResolvedMcpServer]
    # By the ids of tool calls.
    evidence_ids: Mapping[str, str]
    mask: Mask
    clock: Clock


class ApprovedTools(ToolWrapper):
    """Lets calls that need an approval wait until a person has decided, and runs each approved call at most once."""

    def __init__(self, inner: ToolExecutor, approvals: Approvals) -> None:
        super().__init__(inner)
        self._approvals = approvals
        self._tools: Mapping[str, ToolDefinition] = {}
        # Set once a call waits: later calls then wait too, even approved ones, so that their order is kept.
        self._is_waiting = False

    async def list_tools(self) -> ToolCatalog:
        catalog = await super().list_tools()
        if self._approvals.store is None:
            catalog = replace(catalog, tools=tuple(tool for tool in catalog.tools if not tool.needs_approval))
        self._tools = {tool.name: tool for tool in catalog.tools if tool.needs_approval}
        return catalog

    async def execute(self, call: ToolCall, on_output: OnOutput) -> ToolResult:
        tool, store, claim = self._tools.get(call.name), self._approvals.store, self._approvals.place.claim
        if tool is None or store is None:
            return await super().execute(call, on_output)
        result = ToolResult.refusal(call, "", self._approvals.clock.now())
        request = self._request(call, tool)
        if isinstance(request, ArgumentProblem):
            return replace(result, content=request.message)
        if is_masked(self._approvals.mask(call.arguments)):
            return replace(result, content=masked_arguments_result(call.name))
        approval, seconds = await store.request(request, claim)
        # The tool may have changed while the call waited.
        await self.list_tools()
        current = self._tools.get(call.name)
        current_request = self._request(call, current) if current else None
        decision = decision_of(approval, current_request.call_hash if isinstance(current_request, ApprovalRequest) else None)
        if decision is None or (decision is CallDecision.APPROVED and self._is_waiting):
            self._is_waiting = True
            reason = f"Waiting for the approval of {call.name}."
            # An approved call waits for those before it, without a limit of its own.
            left = math.inf if decision else max(seconds, 0.0)
            return replace(result, content=reason, waits=Wait(reason, left, for_approval=True))
        if decision in {CallDecision.APPROVED, CallDecision.UNKNOWN} and not await store.start(approval, claim):
            decision = CallDecision.UNKNOWN
        decided = CallDecided(request.evidence_id, decision, approval.decided_by or "", approval.reason)
        if decision is not CallDecision.APPROVED:
            return replace(result, content=decision_result(call.name, decided), decision=decided)
        return replace(await super().execute(call, on_output), decision=decided)

    def _request(self, call: ToolCall, tool: ToolDefinition) -> ApprovalRequest | ArgumentProblem:
        """Return the call as it would be sent to its server, or what is wrong with its arguments."""
        parsed, name = parse_arguments(call.arguments, tool.parameters_schema), ToolName.parse(tool.name)
        if isinstance(parsed, ArgumentProblem) or name is None:
            return parsed if isinstance(parsed, ArgumentProblem) else ArgumentProblem(f"{tool.name} is not the name of a tool.")
        arguments, place = json.dumps(parsed, ensure_ascii=False), self._approvals.place
        return ApprovalRequest(
            session_id=place.session_id,
            execution_id=place.execution_id,
            call_id=call.id,
            evidence_id=self._approvals.evidence_ids[call.id],
            server=name.server,
            tool=name.tool,
            arguments=arguments,
            call_hash=call_hash(name.server, name.tool, tool.parameters_schema, arguments),
            expiry=self._approvals.servers[name.server].approval_expiry,
        )


_NEVER = datetime.min.replace(tzinfo=UTC)
_STATES = {
    CallDecision.APPROVED: ApprovalState.APPROVED,
    CallDecision.REJECTED: ApprovalState.REJECTED,
    CallDecision.EXPIRED: ApprovalState.EXPIRED,
    CallDecision.OUTDATED: ApprovalState.APPROVED,
    CallDecision.UNKNOWN: ApprovalState.APPROVED,
}


class RecordedApprovals:
    """The decisions of a recording: a replay asks no person. A call without a recorded decision was never decided about."""

    def __init__(self, inputs: Sequence[AnyInput]) -> None:
        self._decided = {one.value.evidence_id: one.value for one in inputs if isinstance(one.value, CallDecided)}

    async def request(self, request: ApprovalRequest, claim: Claim) -> tuple[Approval, float]:
        del claim
        decided = self._decided.get(request.evidence_id, CallDecided(request.evidence_id, CallDecision.EXPIRED))
        approval = Approval(
            id=request.call_id,
            session_id=request.session_id,
            execution_id=request.execution_id,
            call_id=request.call_id,
            evidence_id=request.evidence_id,
            server=request.server,
            tool=request.tool,
            arguments=request.arguments,
            call_hash="" if decided.decision is CallDecision.OUTDATED else request.call_hash,
            state=_STATES[decided.decision],
            requested_at=_NEVER,
            expires_at=_NEVER,
            decided_by=decided.actor,
            reason=decided.reason,
            started_at=_NEVER if decided.decision is CallDecision.UNKNOWN else None,
        )
        return approval, 0.0

    async def start(self, approval: Approval, claim: Claim) -> bool:
        del claim
        return approval.started_at is None
