"""Forks of investigations, and the models that may go on with them."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Name, Request, StorableText, View
from tarsy.domain.llm import ProviderType
from tarsy.domain.note import MAX_HINT_CHARACTERS


class ForkRequest(Request):
    """The step to continue from, and what changes from there."""

    execution_id: UUID = Field(description="The agent's execution, also a sub-agent's, as listed in the session and its trace.")
    turn: int = Field(ge=0, le=2**31 - 1, description="The model call to make again, as numbered in the trace; the first is 0.")
    model: Name | None = Field(default=None, description="The configured provider that continues; absent: the session's own models.")
    hint: Annotated[StorableText, Field(min_length=1, max_length=MAX_HINT_CHARACTERS, pattern=r"\S")] | None = Field(
        default=None, description="A hint that its agents read before the first new call."
    )


class ModelItem(View):
    """A model that TARSy can use now."""

    # The name under which it is configured.
    name: str
    type: ProviderType
    model: str


class ModelList(View):
    models: list[ModelItem]
