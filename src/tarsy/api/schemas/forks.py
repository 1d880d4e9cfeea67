"""Forks of investigations, and the models that may go on with them."""

from typing import Annotated
from uuid import UUID

from pydantic import Field

from tarsy.api.schemas.view import Name, Request, StorableText, View
from tarsy.domain.agent import ProviderType
from tarsy.domain.note import MAX_HINT_CHARACTERS


class ForkRequest(Request):
    """From which step to go on, and what is different from there on."""

    execution_id: UUID = Field(description="The agent's execution, as the session and its trace tell it.")
    turn: int = Field(
        ge=0, le=2**31 - 1, description="Which of its calls to the model is made anew, as the trace tells it; the first is 0."
    )
    model: Name | None = Field(default=None, description="The configured provider that goes on; absent: the models that the session had.")
    hint: Annotated[StorableText, Field(min_length=1, max_length=MAX_HINT_CHARACTERS, pattern=r"\S")] | None = Field(
        default=None, description="What its agents are told before the first new call."
    )


class ModelItem(View):
    """A model that can be asked."""

    # The name under which it is configured.
    name: str
    type: ProviderType
    model: str


class ModelList(View):
    models: list[ModelItem]
