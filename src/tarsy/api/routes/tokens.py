"""API tokens in the database: created, listed and revoked by administrators."""

from typing import Annotated

from fastapi import Path

from tarsy.api.problems import ProblemKind, RequestRefusedError
from tarsy.api.router import api_router
from tarsy.api.schemas.system import CreatedToken, TokenList, TokenRequest
from tarsy.api.schemas.view import Name
from tarsy.api.services import AuthorDep, ServicesDep
from tarsy.kit.clock import SystemClock

router = api_router("/tokens", tag="tokens")


@router.get("", operation_id="listTokens")
async def list_tokens(services: ServicesDep) -> TokenList:
    """The tokens that were not revoked, without their secrets. Those of `TARSY_API_TOKENS` are not among them."""
    return TokenList.build(tokens=await services.tokens.list())


@router.post("", status_code=201, operation_id="createToken")
async def create_token(wanted: TokenRequest, services: ServicesDep, author: AuthorDep) -> CreatedToken:
    """Create a token for a person or a program. This response is the only one that contains it."""
    if wanted.expires_at and wanted.expires_at <= SystemClock().now():
        raise RequestRefusedError(ProblemKind.BAD_REQUEST, "A token must expire in the future.")
    stored, secret = await services.tokens.create(wanted.name, wanted.role, expires_at=wanted.expires_at, actor=author)
    return CreatedToken.build(stored, token=secret)


@router.delete("/{name}", status_code=204, operation_id="revokeToken")
async def revoke_token(name: Annotated[Name, Path(description="The token's name.")], services: ServicesDep, author: AuthorDep) -> None:
    """Revoke a token: it is refused at once, and live connections that use it end within a minute."""
    await services.tokens.revoke(name, actor=author)
