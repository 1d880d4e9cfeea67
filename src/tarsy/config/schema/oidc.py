"""The `system.oidc` section: sign-in with an OpenID Connect provider, and the roles of the people who sign in."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from tarsy.config.schema.values import Duration, Name, Section, WebAddress, refuse
from tarsy.domain.access_role import AccessRole, highest

EMAIL = "email"


class RoleRule(Section):
    claim: Name = Field(description="Name of a claim, such as `groups`; dots lead into objects: `realm_access.roles`.")
    value: Name = Field(description="The value of the claim, or one of its values.")
    role: AccessRole = Field(description="The role of people with this value.")

    def matches(self, claims: Mapping[str, Any]) -> bool:
        # Anybody can enter any address at some providers: only a verified one identifies its owner.
        if self.claim == EMAIL and claims.get("email_verified") is not True:
            return False
        found: Any = claims.get(self.claim)
        if found is None:
            found = claims
            for part in self.claim.split("."):
                found = cast("dict[str, Any]", found).get(part) if isinstance(found, dict) else None
        values = cast("list[Any]", found) if isinstance(found, list) else [found]
        return self.value in values


class OidcConfig(Section):
    issuer: WebAddress = Field(description="The provider's issuer address; TARSy reads its configuration from there.")
    client_id: Name = Field(description="The client id that the provider gave to TARSy.")
    client_secret_env: Name = Field(default="TARSY_OIDC_CLIENT_SECRET", description="Variable that holds the client secret.")
    label: Name = Field(default="single sign-on", description="What the sign-in button calls the provider.")
    scopes: tuple[Name, ...] = Field(default=("openid", "profile", "email"), description="The requested scopes.")
    name_claims: tuple[Name, ...] = Field(
        default=("preferred_username", "email", "name", "sub"), description="The first of these claims is shown as the person's name."
    )
    roles: tuple[RoleRule, ...] = Field(
        min_length=1, description="Which claims give which role. The highest role that matches counts; without a match there is no access."
    )
    idle_timeout: Duration = Field(
        default=8 * 3600.0, description="TARSy ends a sign-in that was not used for this long; an open page of the dashboard uses it."
    )
    max_duration: Duration = Field(default=24 * 3600.0, description="TARSy ends every sign-in after this time.")

    @field_validator("issuer")
    @classmethod
    def _encrypted(cls, issuer: str) -> str:
        parts = urlsplit(issuer)
        try:
            is_local = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
        except ValueError:
            is_local = False
        if parts.scheme != "https" and not is_local and "{{" not in issuer:
            raise refuse("anybody on the network could pretend to be this provider", "write https://…")
        return issuer

    @field_validator("scopes")
    @classmethod
    def _with_openid(cls, scopes: tuple[str, ...]) -> tuple[str, ...]:
        if "openid" not in scopes:
            raise refuse("without the scope openid the provider does not say who signed in", "add openid")
        return scopes

    def name_of(self, claims: Mapping[str, Any]) -> str:
        """Return the name of the person; at the least the `sub` claim, which every ID token has."""
        names = (claims.get(claim) for claim in (*self.name_claims, "sub"))
        return next(name for name in names if isinstance(name, str) and name.strip() and name.isprintable())

    def role_of(self, claims: Mapping[str, Any]) -> AccessRole | None:
        """Return the highest role that the claims give; None if they give no access."""
        return highest(*(rule.role for rule in self.roles if rule.matches(claims)))
