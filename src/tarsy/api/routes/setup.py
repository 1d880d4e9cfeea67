"""Setting an installation up from the dashboard, with the code that the terminal showed."""

from collections.abc import Awaitable
from typing import Annotated

import structlog
from fastapi import Cookie, Depends, Request, Response

from tarsy.api.auth import Identity, IdentityKind, peer_of
from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.setup import (
    FirstAlert,
    LocalModel,
    ModelAddress,
    ModelsFound,
    RecipeFieldItem,
    RecipeItem,
    SetupCode,
    SetupOutcome,
    SetupState,
    ToolServerChoice,
    VendorItem,
    VendorKey,
)
from tarsy.api.services import AuthDep, AuthorDep, RepositoriesDep, ServicesDep, SystemDep, SystemServices
from tarsy.db.audit import AuditAction
from tarsy.setup.access import TICKET_LIFE, DoorClosedError
from tarsy.setup.files import StepRefusedError
from tarsy.setup.recipes import recipes
from tarsy.setup.service import Outcome, SetupDesk
from tarsy.setup.trials import NoModelsError

log = structlog.get_logger(__name__)

TICKET_COOKIE = "tarsy_setup"

router = api_router("/setup", tag="setup")

Ticket = Annotated[str, Cookie(alias=TICKET_COOKIE, include_in_schema=False)]


async def desk_of(services: ServicesDep) -> SetupDesk:
    if services.setup is None:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, "This server cannot be set up from its dashboard.")
    return services.setup


DeskOf = Annotated[SetupDesk, Depends(desk_of)]


async def opened_desk(desk: DeskOf, ticket: Ticket = "") -> SetupDesk:
    if not desk.door.admits(ticket):
        raise RequestRefusedError(ProblemKind.FORBIDDEN, "Enter the setup code first: `tarsy serve` prints it in the terminal.")
    return desk


OpenDesk = Annotated[SetupDesk, Depends(opened_desk)]


@router.get("", operation_id="getSetup")
async def get_setup(repositories: RepositoriesDep, desk: DeskOf, ticket: Ticket = "") -> SetupState:
    """What is set up and what can be set up, without secrets."""
    model = desk.model()
    return SetupState(
        needed=model is None and not await repositories.sessions.any(),
        open=desk.door.admits(ticket),
        has_code=desk.door.has_code,
        model=model,
        vendors=[VendorItem.shown(vendor, has_key=desk.has_variable(vendor.variable)) for vendor in desk.vendors()],
        recipes=[_recipe(desk, name) for name in recipes()],
    )


def _recipe(desk: SetupDesk, name: str) -> RecipeItem:
    recipe = recipes()[name]
    fields = [RecipeFieldItem.shown(field, is_set=desk.has_variable(field.variable)) for field in recipe.fields]
    return RecipeItem.shown(recipe, name=name, fields=fields)


@router.post("/open", status_code=204, operation_id="openSetup")
async def open_setup(typed: SetupCode, request: Request, response: Response, desk: DeskOf, system: SystemDep, author: AuthorDep) -> None:
    """Exchange the code from the terminal for a cookie that opens the steps below for an hour. A code works once."""
    try:
        ticket = desk.door.open(typed.code)
    except DoorClosedError as error:
        log.warning("setup.refused", peer=peer_of(request.scope))
        raise RequestRefusedError(ProblemKind.FORBIDDEN, str(error)) from error
    await system.audit.append(author, AuditAction.SETUP_OPENED)
    # TLS ends at a proxy: only the page itself knows how it was reached, and a browser tells with every POST.
    secure = request.headers.get("origin", "").startswith("https:")
    seconds = int(TICKET_LIFE.total_seconds())
    response.set_cookie(TICKET_COOKIE, ticket, max_age=seconds, httponly=True, samesite="strict", secure=secure, path="/api/v1/setup")


@router.post("/models", operation_id="findModels")
async def find_models(address: ModelAddress, desk: OpenDesk) -> ModelsFound:
    """The models of an OpenAI-compatible server: Ollama, llama.cpp, vLLM, LM Studio. Nothing else of the server's response is returned."""
    try:
        return ModelsFound.shown(await desk.probe(address.url))
    except NoModelsError as error:
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, f"{error} To put it right, {error.cure}.") from error


@router.post("/key", operation_id="setUpKey")
async def set_up_key(wanted: VendorKey, desk: OpenDesk, system: SystemDep, author: AuthorDep) -> SetupOutcome:
    """Test a vendor's key with one small call; if the model answers, write the key to `.env` and activate it."""
    return await _done(desk.use_key(wanted.vendor, wanted.key), system, author)


@router.post("/local-model", operation_id="setUpLocalModel")
async def set_up_local_model(wanted: LocalModel, desk: OpenDesk, system: SystemDep, author: AuthorDep) -> SetupOutcome:
    """Test a model at your own address with one small call; if it answers, write it to the configuration and activate it."""
    return await _done(desk.use_local(wanted.url, wanted.model), system, author)


@router.post("/tool-server", operation_id="setUpToolServer")
async def set_up_tool_server(wanted: ToolServerChoice, desk: OpenDesk, system: SystemDep, author: AuthorDep) -> SetupOutcome:
    """Ask the tool server of a built-in recipe for its tools; if it answers, write it to the configuration and activate it."""
    return await _done(desk.connect(wanted.recipe, wanted.values), system, author)


@router.get("/first-alert", operation_id="getFirstAlert", dependencies=[Depends(opened_desk)])
async def get_first_alert(request: Request, desk: DeskOf, auth: AuthDep) -> FirstAlert:
    """The address for senders, and the caller's own token if one is needed."""
    identity: Identity | None = request.state.identity
    known = identity is not None and identity.kind in {IdentityKind.BEARER, IdentityKind.COOKIE}
    token = auth.tokens.by_name.get(identity.author) if identity and known and auth.login_required else None
    return FirstAlert(url=desk.address(), token=token)


async def _done(step: Awaitable[Outcome], system: SystemServices, author: str) -> SetupOutcome:
    try:
        outcome = await step
    except StepRefusedError as error:
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, str(error)) from error
    if outcome.written:
        await system.audit.append(author, AuditAction.SETUP_CHANGED, details={"written": list(outcome.written)})
    return SetupOutcome.shown(outcome)
