"""Which agent sent which."""

from uuid import UUID

from tarsy.api.schemas.view import View


class ExecutionInTreeView(View):
    id: UUID
    agent_name: str
    # For a sub-agent: the execution that sent it, the evidence id of the call that did, and what it was sent to do.
    parent_execution_id: UUID | None
    dispatched_by: str | None
    task: str | None
