"""The `llm_providers` entries: models and the way to reach them."""

import ipaddress
from collections.abc import Mapping
from typing import Any, assert_never
from urllib.parse import urlsplit

from pydantic import Field, ValidationInfo, field_validator

from tarsy.config.schema.values import Backend, Count, Duration, Name, ProviderName, Section, Switch, Text, WebAddress, known_names, refuse
from tarsy.config.templates import expand, names_session, variables
from tarsy.domain.llm import LLMBackend, ProviderType

# The variables in which the vendors' own tools expect a key.
USUAL_KEYS = {
    ProviderType.GOOGLE: "GOOGLE_API_KEY",
    ProviderType.OPENAI: "OPENAI_API_KEY",
    ProviderType.ANTHROPIC: "ANTHROPIC_API_KEY",
    ProviderType.XAI: "XAI_API_KEY",
}
USUAL_PROJECT = "GOOGLE_CLOUD_PROJECT"

# Vendors whose models the native Gemini SDK cannot reach.
NOT_NATIVE = frozenset({ProviderType.OPENAI, ProviderType.ANTHROPIC, ProviderType.XAI})
# Domains of local networks.
_LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc")


class NativeToolsConfig(Section):
    """Tools that the model's vendor runs. Unset: what the level below says, in the end off."""

    google_search: Switch | None = Field(default=None, description="Let the model search the web.")
    code_execution: Switch | None = Field(default=None, description="Let the model run code in the vendor's sandbox.")
    url_context: Switch | None = Field(default=None, description="Let the model read web pages.")

    def as_switches(self) -> Mapping[str, bool]:
        """Return the switches that are set."""
        return self.model_dump(exclude_none=True)


class FallbackConfig(Section):
    """A provider to go on with when the one before has failed for good."""

    provider: ProviderName = Field(description="Name of an entry of `llm_providers`.")
    backend: Backend | None = Field(default=None, description="Unset: the agent's backend if the provider has it, else `langchain`.")

    @field_validator("backend")
    @classmethod
    def _backend_reaches_the_provider(cls, backend: LLMBackend | None, info: ValidationInfo) -> LLMBackend | None:
        names, provider = known_names(info), info.data.get("provider")
        kind = names.providers.get(provider) if names and isinstance(provider, str) else None
        if backend is LLMBackend.NATIVE_GEMINI and kind in NOT_NATIVE:
            raise refuse(f'backend native-gemini cannot reach provider "{provider}" of type {kind}', "write backend: langchain")
        return backend


class LLMProviderConfig(Section):
    type: ProviderType = Field(description="Vendor, or the protocol that the server behind `base_url` speaks.")
    model: Name | None = Field(default=None, validate_default=True, description="The vendor's name of the model.")
    api_key_env: Name | None = Field(
        default=None, description="Variable that holds the API key; unset: the vendor's usual one, such as `OPENAI_API_KEY`."
    )
    credentials_env: Name | None = Field(
        default=None, description="vertexai: variable that holds the path of a credentials file; not set: the machine's own identity."
    )
    project_env: Name | None = Field(
        default=None, description="vertexai: variable that holds the cloud project; unset: `GOOGLE_CLOUD_PROJECT`."
    )
    location_env: Name | None = Field(default=None, description="vertexai: variable that holds the cloud location; not set: `global`.")
    base_url: WebAddress | None = Field(
        default=None,
        description="Address of the API, if not the vendor's own: a proxy, or any compatible server such as Ollama, llama.cpp or vLLM.",
    )
    native_tools: NativeToolsConfig = Field(default=NativeToolsConfig(), description="Tools that the vendor runs.")
    first_chunk_timeout: Duration = Field(default=60.0, description="Longest wait for the first part of an answer.")
    stall_timeout: Duration = Field(default=30.0, description="Longest pause within an answer.")
    max_tool_result_tokens: Count | None = Field(default=None, description="TARSy shortens tool results longer than this for this model.")
    context_window: Count | None = Field(
        default=None, description="Size of the model's context in tokens; unset: built-in for common model families, else 128000."
    )
    free: Switch = Field(
        default=False,
        description="The model costs nothing. Unset: a model in your own network is free unless it has the name of a vendor's model.",
    )
    recording: Text | None = Field(
        default=None, validate_default=True, description="For `type: replay`: the recording to play, a file or `sample:NAME`."
    )

    @field_validator("model")
    @classmethod
    def _model_is_named(cls, model: str | None, info: ValidationInfo) -> str | None:
        if model is None and info.data.get("type") not in {None, ProviderType.REPLAY}:
            raise refuse("model is missing", "name the model as its vendor does")
        return model

    @field_validator("recording")
    @classmethod
    def _recording_belongs_to_replay(cls, recording: str | None, info: ValidationInfo) -> str | None:
        kind: Any = info.data.get("type")
        if kind is ProviderType.REPLAY and recording is None:
            raise refuse("recording is missing", "name the recording file, or sample:NAME")
        if kind not in {None, ProviderType.REPLAY} and recording is not None:
            raise refuse(f"recording has no meaning for type {kind}", "write type: replay, or remove it")
        return recording

    def needed_variables(self) -> tuple[str, ...]:
        """Return the variables that a call needs; the vendor's usual one if the entry names none."""
        match self.type:
            case ProviderType.REPLAY:
                return ()
            case ProviderType.VERTEXAI:
                return (self.project_env or USUAL_PROJECT,)
            case ProviderType.GOOGLE | ProviderType.OPENAI | ProviderType.ANTHROPIC | ProviderType.XAI:
                return (self.api_key_env or USUAL_KEYS[self.type],)
            case _:
                assert_never(self.type)

    def announcing_variables(self) -> tuple[str, ...]:
        """Return the variables whose presence means that the operator wants to use this provider.

        On Vertex AI that includes the credentials: every machine in the cloud has a project.
        """
        return (self.credentials_env, *self.needed_variables()) if self.credentials_env else self.needed_variables()

    def missing_variables(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """Return the needed variables that are not in `env`; a local server needs no key."""
        if self.base_url and is_local(self.base_url, env):
            return ()
        return tuple(name for name in self.needed_variables() if not env.get(name, "").strip())


def is_local(base_url: str, env: Mapping[str, str]) -> bool:
    """Return whether an address is local: this machine, a private network, a name without a domain. Models there rarely cost anything or need a key."""
    if names_session(base_url) or any(name not in env for name in variables(base_url)):
        return False
    try:
        host = urlsplit(expand(base_url, env)).hostname or ""
    except ValueError:
        # A variable holds no address; the first call of the model reports it.
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(_LOCAL_SUFFIXES))
    return address.is_private or address.is_loopback
