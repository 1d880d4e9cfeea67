"""Setup from the dashboard, for a person who has the code from the terminal."""

from collections.abc import Awaitable
from typing import Annotated

import structlog
from fastapi import Cookie, Depends, Request, Response

from tarsy.api.auth import IdentityKind, is_page_secure
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
from tarsy.api.services import AuthorDep, IdentityDep, ServicesDep, SystemServices
from tarsy.db.audit import AuditAction, request_origin
from tarsy.setup import checks
from tarsy.setup.access import TICKET_LIFE, AccessDeniedError
from tarsy.setup.recipes import recipes
from tarsy.setup.service import SetupService, StepOutcome

log = structlog.get_logger(__name__)

TICKET_COOKIE = "tarsy_setup"

router = api_router("/setup", tag="setup")

Ticket = Annotated[str, Cookie(alias=TICKET_COOKIE, include_in_schema=False)]


async def setup_of(services: ServicesDep) -> SetupService:
    if services.setup is None:
        raise RequestRefusedError(ProblemKind.NOT_FOUND, "This server cannot be set up from its dashboard.")
    return services.setup


SetupDep = Annotated[SetupService, Depends(setup_of)]


async def opened_setup(setup: SetupDep, ticket: Ticket = "") -> SetupService:
    if not setup.access.admits(ticket):
        raise RequestRefusedError(ProblemKind.FORBIDDEN, "Enter the setup code first: `tarsy serve` prints it in the terminal.")
    return setup


OpenSetupDep = Annotated[SetupService, Depends(opened_setup)]


@router.get("", operation_id="getSetup")
async def get_setup(services: ServicesDep, setup: SetupDep, ticket: Ticket = "") -> SetupState:
    """What is set up and what can be set up, without secrets."""
    model = setup.model()
    return SetupState(
        needed=model is None and not await services.repositories.sessions.any(),
        open=setup.access.admits(ticket),
        has_code=setup.access.has_code,
        model=model,
        vendors=[VendorItem.build(vendor, has_key=setup.has_variable(vendor.variable)) for vendor in setup.vendors()],
        recipes=[
            RecipeItem.build(
                recipe,
                name=name,
                fields=[RecipeFieldItem.build(field, is_set=setup.has_variable(field.variable)) for field in recipe.fields],
            )
            for name, recipe in recipes().items()
        ],
    )


@router.post("/open", status_code=204, operation_id="openSetup")
async def open_setup(
    typed: SetupCode, request: Request, response: Response, setup: SetupDep, services: ServicesDep, author: AuthorDep
) -> None:
    """Exchange the code from the terminal for a cookie that opens the steps below for an hour. A code works once."""
    try:
        ticket = setup.access.exchange(typed.code)
    except AccessDeniedError as error:
        log.warning("setup.refused", peer=request_origin.get())
        raise RequestRefusedError(ProblemKind.FORBIDDEN, str(error)) from error
    await services.system.audit.append(author, AuditAction.SETUP_OPENED)
    secure = is_page_secure(request)
    seconds = int(TICKET_LIFE.total_seconds())
    response.set_cookie(TICKET_COOKIE, ticket, max_age=seconds, httponly=True, samesite="strict", secure=secure, path="/api/v1/setup")


@router.post("/models", operation_id="findModels", dependencies=[Depends(opened_setup)])
async def find_models(address: ModelAddress) -> ModelsFound:
    """The models of an OpenAI-compatible server: Ollama, llama.cpp, vLLM, LM Studio. Nothing else of the server's response is returned."""
    return ModelsFound.build(await checks.find_models(address.url, address.key.strip()))


@router.post("/key", operation_id="setUpKey")
async def set_up_key(wanted: VendorKey, setup: OpenSetupDep, services: ServicesDep, author: AuthorDep) -> SetupOutcome:
    """Test a vendor's key with one small call; if the model answers, write the key to `.env` and activate it."""
    return await _done(setup.use_key(wanted.vendor, wanted.key), services.system, author)


@router.post("/local-model", operation_id="setUpLocalModel")
async def set_up_local_model(wanted: LocalModel, setup: OpenSetupDep, services: ServicesDep, author: AuthorDep) -> SetupOutcome:
    """Test a model at your own address with one small call; if it answers, write it to the configuration and activate it."""
    return await _done(setup.use_local(wanted.url, wanted.model, wanted.key), services.system, author)


@router.post("/tool-server", operation_id="setUpToolServer")
async def set_up_tool_server(wanted: ToolServerChoice, setup: OpenSetupDep, services: ServicesDep, author: AuthorDep) -> SetupOutcome:
    """Ask the tool server of a built-in recipe for its tools; if it answers, write it to the configuration and activate it."""
    return await _done(setup.connect(wanted.recipe, wanted.values), services.system, author)


@router.get("/first-alert", operation_id="getFirstAlert", dependencies=[Depends(opened_setup)])
async def get_first_alert(setup: SetupDep, services: ServicesDep, identity: IdentityDep) -> FirstAlert:
    """The address for senders, and the caller's own token if one is needed and the server knows it."""
    known = identity is not None and identity.kind in {IdentityKind.BEARER, IdentityKind.COOKIE} and identity.token_id is None
    token = services.auth.tokens.by_name.get(identity.author) if identity and known and services.auth.login_required else None
    return FirstAlert(url=setup.address(), token=token)


async def _done(step: Awaitable[StepOutcome], system: SystemServices, author: str) -> SetupOutcome:
    outcome = await step
    if outcome.written:
        await system.audit.append(author, AuditAction.SETUP_CHANGED, details={"written": list(outcome.written)})
    return SetupOutcome.build(outcome, cure=outcome.remedy)
