"""Setup from the dashboard."""

from typing import Annotated

from pydantic import Field

from tarsy.api.schemas.view import MAX_NAME, Name, Request, StorableText, View
from tarsy.setup.recipes import FieldKind

# Longer than any setup code.
MAX_CODE = 64
# Longer than any address or key that a person would paste.
MAX_ADDRESS = 2000
MAX_SECRET = 4000


class VendorItem(View):
    name: str
    variable: str
    # The model that its provider uses unless the configuration overrides it.
    model: str
    # There is a key already; it is never shown.
    has_key: bool


class RecipeFieldItem(View):
    variable: str
    label: str
    kind: FieldKind
    suggestion: str
    # There is a value already; it is never shown.
    is_set: bool


class RecipeItem(View):
    name: str
    title: str
    description: str
    fields: list[RecipeFieldItem]


class SetupState(View):
    # There is no model and no session yet.
    needed: bool
    # The caller has exchanged the code, and its hour is not over.
    open: bool
    # A code was printed and not used yet.
    has_code: bool
    # The model that investigates alerts; absent if there is none.
    model: str | None
    vendors: list[VendorItem]
    recipes: list[RecipeItem]


class SetupCode(Request):
    code: Annotated[str, Field(max_length=MAX_CODE)]


OptionalKey = Annotated[StorableText, Field(max_length=MAX_SECRET)]


class ModelAddress(Request):
    url: Annotated[StorableText, Field(max_length=MAX_ADDRESS)]
    key: OptionalKey = Field(default="", description="If the server asks for one.")


class ModelsFound(View):
    # As it is written to the configuration.
    base_url: str
    models: list[str]


class VendorKey(Request):
    vendor: Name
    key: Annotated[StorableText, Field(min_length=1, max_length=MAX_SECRET)]


class LocalModel(Request):
    url: Annotated[StorableText, Field(max_length=MAX_ADDRESS)]
    model: Annotated[StorableText, Field(min_length=1, max_length=MAX_NAME)]
    key: OptionalKey = Field(default="", description="If the server asks for one.")


class ToolServerChoice(Request):
    recipe: Name
    values: dict[Name, Annotated[StorableText, Field(max_length=MAX_SECRET)]] = Field(
        default={}, description="The recipe's fields, by variable.", max_length=20
    )


class SetupOutcome(View):
    """The result of a step: tested and, if it worked, written and active."""

    ok: bool
    message: str
    # What to do if it did not work.
    cure: str
    # The tools of a server, by name.
    tools: list[str]
    # The files, and the names of the new entries in them.
    written: list[str]


class FirstAlert(View):
    """What a sender needs to reach this installation."""

    # From the configuration; absent: the address that the caller uses.
    url: str | None
    # The caller's own; absent if none is needed, or if a proxy identifies the caller.
    token: str | None
