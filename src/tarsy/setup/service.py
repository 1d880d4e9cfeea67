"""The steps of the setup page: each is checked first, then written, then applied.

The files stay as they were if they cannot be written or the new configuration does not load. Other errors while it is applied, such as
those of the database, leave them changed.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio import to_thread

from tarsy.config.load.loader import LoadedConfig
from tarsy.config.problems import ConfigError
from tarsy.config.resolve.resolved import ResolvedProvider, fitting_backend, resolved_provider
from tarsy.config.schema import documents
from tarsy.config.schema.providers import USUAL_KEYS, LLMProviderConfig
from tarsy.domain.llm import LLMBackend
from tarsy.llm.in_process import in_process_client
from tarsy.settings import Settings
from tarsy.setup.access import SetupAccess
from tarsy.setup.checks import check_model, check_server, find_models
from tarsy.setup.files import LOCAL_KEY, CannotWriteError, Drafts, restore, write_all
from tarsy.setup.recipes import StepRefusedError, checked_fields, recipes, server_of
from tarsy.setup.template_files import FileChange

# As in the template: a model that has to be loaded first takes its time.
_TIMEOUTS = {"first_chunk_timeout": "5m"}


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor whose key can be pasted."""

    name: str
    variable: str
    model: str


@dataclass(frozen=True, slots=True)
class StepOutcome:
    ok: bool
    message: str
    remedy: str = ""
    # The tools of a tool server, by name.
    tools: tuple[str, ...] = ()
    # Files, and what in them is new, by name; already applied in all processes.
    written: tuple[str, ...] = ()

    def without(self, secret: str) -> "StepOutcome":
        """Return the outcome with a secret removed from its message: vendors quote a key that they refuse."""
        return StepOutcome(self.ok, self.message.replace(secret, "[what you typed]"), self.remedy, self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupService:
    settings: Settings
    # The current configuration.
    loaded: Callable[[], LoadedConfig]
    # Loads the files again, in this process and in all others.
    apply: Callable[[], Awaitable[object]]
    access: SetupAccess
    # Two people who write the same file at once would lose one of the changes.
    _lock: anyio.Lock = field(default_factory=anyio.Lock)

    def model(self) -> str | None:
        """Return the model that alerts are investigated with, as people read it; None if there is none."""
        config = self.loaded().config
        name = config.defaults.llm_provider or config.default_provider
        return f"{name} ({config.llm_providers[name].model or 'recording'})" if name else None

    def address(self) -> str | None:
        """Return the address of this installation for people and senders, if it is configured."""
        configured = self.loaded().config.system.dashboard_url
        return configured.rstrip("/") if configured else None

    def vendors(self) -> Sequence[Vendor]:
        """Return the vendors of the built-in providers that need nothing but a key, in the order of preference."""
        providers = self._providers_by_vendor().items()
        return tuple(Vendor(vendor, provider.needed_variables()[0], provider.model or name) for vendor, (name, provider) in providers)

    def has_variable(self, variable: str) -> bool:
        return bool(self.loaded().env.get(variable, "").strip())

    async def use_key(self, vendor: str, key: str) -> StepOutcome:
        """Try a vendor's key with one small call, and write it to `.env`.

        Raises:
            StepRefusedError: there is no such vendor, or the key cannot be stored where it would take effect.
        """
        providers = self._providers_by_vendor()
        if vendor not in providers:
            raise StepRefusedError(f"There is no vendor {vendor!r} that takes a key; there are {', '.join(sorted(providers))}.")
        name, provider = providers[vendor]
        config, key = self.loaded().config, key.strip()
        variable = provider.needed_variables()[0]
        if service := self.settings.llm_service_addr:
            raise StepRefusedError(f"The LLM service at {service} calls the models and has the keys. Set {variable} there and restart it.")
        backend = fitting_backend(config.defaults.llm_backend or LLMBackend.LANGCHAIN, provider)
        async with self._lock:
            changes = Drafts(self.settings, self.loaded()).changes_for_key(variable, key, name)
            checked = await self._check_model(resolved_provider(name, provider), backend, {variable: key})
            return await self._write(changes, checked) if checked.ok else checked.without(key)

    async def use_local(self, url: str, model: str, key: str = "") -> StepOutcome:
        """Try a model at an OpenAI-compatible address with one small call, and write it to the configuration, and its key to `.env`.

        Raises:
            StepRefusedError: the address or the files cannot be used.
        """
        key = key.strip()
        server = await find_models(url, key)
        if model not in server.models:
            raise StepRefusedError(f"The server at {server.base_url} has no model of this name; it has {', '.join(server.models[:10])}.")
        needed = {"api_key_env": LOCAL_KEY} if key else {}
        provider = LLMProviderConfig.model_validate({"type": "openai", "model": model, "base_url": server.base_url, **_TIMEOUTS, **needed})
        async with self._lock:
            changes = Drafts(self.settings, self.loaded()).changes_for_local_model(server.base_url, model, key)
            checked = await self._check_model(resolved_provider("local", provider), LLMBackend.LANGCHAIN, {LOCAL_KEY: key} if key else {})
            checked = checked.without(key) if key else checked
            return await self._write(changes, checked) if checked.ok else checked

    async def connect(self, name: str, values: Mapping[str, str]) -> StepOutcome:
        """Try the tool server of a built-in recipe by listing its tools, and write it to the configuration.

        Raises:
            StepRefusedError: there is no such recipe, or a field is invalid.
        """
        recipe = recipes().get(name)
        if recipe is None:
            raise StepRefusedError(f"There is no recipe {name!r}; there are {', '.join(recipes())}.")
        fields = await to_thread.run_sync(checked_fields, recipe, values)
        async with self._lock:
            loaded = self.loaded()
            changes = Drafts(self.settings, loaded).changes_for_tool_server(recipe, fields)
            found = await check_server(server_of(recipe, loaded.config), {**loaded.env, **fields})
            checked = StepOutcome(bool(found.tools), found.finding.text, found.finding.remedy, found.tools)
            for value in fields.values():
                checked = checked.without(value)
            return await self._write(changes, checked) if checked.ok else checked

    def _providers_by_vendor(self) -> Mapping[str, tuple[str, LLMProviderConfig]]:
        """Return the first built-in provider of each vendor, with its name. The operator may have given it another type."""
        configured = self.loaded().config.llm_providers
        found: dict[str, tuple[str, LLMProviderConfig]] = {}
        for name in documents.LLM_PROVIDERS:
            if configured[name].type in USUAL_KEYS:
                found.setdefault(configured[name].type.value, (name, configured[name]))
        return found

    async def _check_model(self, provider: ResolvedProvider, backend: LLMBackend, extra_env: Mapping[str, str]) -> StepOutcome:
        client = in_process_client(env={**self.loaded().env, **extra_env})
        try:
            found = await check_model(provider.model, provider, backend, client)
        finally:
            await client.aclose()
        return StepOutcome(not found.remedy, found.text, found.remedy)

    async def _write(self, changes: Sequence[FileChange], checked: StepOutcome) -> StepOutcome:
        """Write and apply a step that was checked; if the configuration does not load then, restore the files."""
        try:
            before = await to_thread.run_sync(write_all, changes)
        except CannotWriteError as error:
            remedy = f"give TARSy's account the right to write there, or do it by hand: {'; '.join(change.summary for change in changes)}"
            return StepOutcome(ok=False, message=f"{checked.message}, but {error}", remedy=remedy)
        try:
            await self.apply()
        except ConfigError as error:
            await to_thread.run_sync(restore, before)
            with suppress(ConfigError):
                # The refused change is gone: the warning about it must not stay.
                await self.apply()
            return StepOutcome(
                ok=False, message=f"The configuration would not load: {error}", remedy="fix it by hand; the files are unchanged"
            )
        return StepOutcome(ok=True, message=checked.message, tools=checked.tools, written=tuple(change.summary for change in changes))
