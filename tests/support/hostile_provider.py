"""An OpenID Connect provider that lies in one chosen way."""

import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import anyio
from fastapi import FastAPI, Form
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey
from uvicorn.config import Config
from uvicorn.server import Server

CLIENT_ID = "tarsy"


def new_key(kid: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig", "alg": "RS256"})


@dataclass
class HostileProvider:
    """Honest, until a test changes a field."""

    issuer: str
    key: RSAKey
    # What the keys' address shows; the key that signs may be another.
    shown: list[RSAKey]
    # Replaces claims of the ID token; None leaves one out.
    claims: dict[str, Any] = field(default_factory=dict[str, Any])
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    unsigned: bool = False
    symmetric: bool = False
    key_requests: int = 0
    nonce: str = ""

    def reset(self, key: RSAKey) -> None:
        """Become honest again."""
        self.key, self.shown, self.claims, self.unsigned, self.symmetric = key, [key], {}, False, False

    def id_token(self) -> str:
        now = int(time.time())
        honest = {"iss": self.issuer, "sub": "1", "aud": CLIENT_ID, "exp": now + 300, "iat": now, "nonce": self.nonce, "groups": ["sre"]}
        claims = {name: value for name, value in {**honest, **self.claims}.items() if value is not None}
        if self.unsigned:
            parts = ({"alg": "none", "typ": "JWT"}, claims)
            return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."
        if self.symmetric:
            # The classic confusion: the public key, which everybody knows, as the secret of an HMAC.
            header = {"alg": "HS256", "typ": "JWT", "kid": self.key.kid}
            signed = ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims))
            mac = hmac.new(self.key.as_pem(private=False), signed.encode(), hashlib.sha256).digest()
            return f"{signed}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"
        return jwt.encode({"alg": "RS256", "kid": self.key.kid}, claims, self.key)

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.get("/.well-known/openid-configuration")
        async def configuration() -> dict[str, Any]:
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                # Offers everything: the client has to know what is safe.
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                **self.metadata,
            }

        @app.get("/keys")
        async def keys() -> Any:
            self.key_requests += 1
            return KeySet([*self.shown]).as_dict(private=False) if self.shown else {}

        @app.post("/token")
        async def token(code: Annotated[str, Form()]) -> dict[str, str]:
            return {"access_token": f"access-{code}", "token_type": "Bearer", "id_token": self.id_token()}

        return app


@asynccontextmanager
async def hostile_provider(key: RSAKey) -> AsyncGenerator[HostileProvider]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        provider = HostileProvider(f"http://127.0.0.1:{listening.getsockname()[1]}", key, [key])
        server = Server(Config(provider.app(), log_config=None, lifespan="off"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listening])
            yield provider
            server.should_exit = True
