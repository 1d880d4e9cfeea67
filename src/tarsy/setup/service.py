"""What the setup page does: each step is tried first, then written, then put in force; a step that fails leaves everything as it was."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
from anyio import to_thread

from tarsy.config.load.loader import LoadedConfig
from tarsy.config.problems import ConfigError
from tarsy.config.resolve.resolved import ResolvedProvider, fitting_backend, resolved_provider
from tarsy.config.schema import documents
from tarsy.config.schema.configuration import Config
from tarsy.config.schema.providers import USUAL_KEYS, LLMProviderConfig
from tarsy.domain.llm import LLMBackend, ProviderType
from tarsy.llm.in_process import in_process_client
from tarsy.settings import Settings
from tarsy.setup.access import Door
from tarsy.setup.files import CannotWriteError, Drafts, FileChange, StepRefusedError, restore, write_all
from tarsy.setup.recipes import FieldRefusedError, Recipe, checked_fields, recipes, server_of
from tarsy.setup.trials import ModelServer, NoModelsError, probe, try_model, try_server

# As the template has it: a model that has to be loaded first takes its time.
_PATIENCE = {"first_chunk_timeout": "5m"}


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor whose key can be pasted."""

    name: str
    variable: str
    model: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a step."""

    ok: bool
    message: str
    cure: str = ""
    # Of a tool server, by their names.
    tools: tuple[str, ...] = ()
    # Files, and what in them is new, by name; in force by now, here and in the other processes.
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupDesk:
    settings: Settings
    # The configuration in force.
    loaded: Callable[[], LoadedConfig]
    # Puts in force what the files say, here and elsewhere.
    apply: Callable[[], Awaitable[object]]
    door: Door
    # Two people who write the same file at once would lose one of the two.
    _turn: anyio.Lock = field(default_factory=anyio.Lock)

    def model(self) -> str | None:
        """The model that alerts are investigated with, for people; None: there is none."""
        config = self.loaded().config
        name = config.defaults.llm_provider or config.default_provider
        return f"{name} ({config.llm_providers[name].model or 'recording'})" if name else None

    def address(self) -> str | None:
        """Where people and senders reach this installation, if the configuration says so."""
        configured = self.loaded().config.system.dashboard_url
        return configured.rstrip("/") if configured else None

    def vendors(self) -> Sequence[Vendor]:
        """The vendors of the built-in providers that need nothing but a key, in the order of preference."""
        found: dict[str, Vendor] = {}
        for name, provider in _built_in(self.loaded().config).items():
            if provider.type in USUAL_KEYS:
                variable = provider.needed_variables()[0]
                found.setdefault(provider.type.value, Vendor(provider.type.value, variable, provider.model or name))
        return tuple(found.values())

    def has_variable(self, variable: str) -> bool:
        return bool(self.loaded().env.get(variable, "").strip())

    async def probe(self, address: str) -> ModelServer:
        """The models at an address.

        Raises:
            NoModelsError: there are none.
        """
        return await probe(address)

    async def use_key(self, vendor: str, key: str) -> Outcome:
        """Try a vendor's key with one small call, and keep it in `.env`.

        Raises:
            StepRefusedError: there is no such vendor, or the key cannot be kept where it would count.
        """
        config, key = self.loaded().config, key.strip()
        name, provider = _provider_of(config, vendor)
        variable = provider.needed_variables()[0]
        if elsewhere := self.settings.llm_service_addr:
            raise StepRefusedError(
                f"The LLM service at {elsewhere} asks the models and has the keys. Set {variable} there and start it again."
            )
        async with self._turn:
            changes = self._drafts.key(variable, key, name)
            tried = await self._try_model(resolved_provider(name, provider), _backend(config, provider), {variable: key})
            return await self._write(changes, tried) if tried.ok else _without(tried, key)

    async def use_local(self, url: str, model: str) -> Outcome:
        """Try a model at an OpenAI-compatible address with one small call, and write it to the configuration.

        Raises:
            StepRefusedError: the address or the files cannot be used.
        """
        try:
            server = await self.probe(url)
        except NoModelsError as error:
            raise StepRefusedError(f"{error} To put it right, {error.cure}.") from error
        if model not in server.models:
            raise StepRefusedError(f"The server at {server.base_url} has no model of this name; it has {', '.join(server.models[:10])}.")
        provider = LLMProviderConfig.model_validate({"type": "openai", "model": model, "base_url": server.base_url, **_PATIENCE})
        async with self._turn:
            changes = self._drafts.local_model(server.base_url, model)
            tried = await self._try_model(resolved_provider("local", provider), LLMBackend.LANGCHAIN, {})
            return await self._write(changes, tried) if tried.ok else tried

    async def connect(self, name: str, values: Mapping[str, str]) -> Outcome:
        """Try a tool server of a shipped recipe by having it list its tools, and write it to the configuration.

        Raises:
            StepRefusedError: there is no such recipe, or a field is not what it should be.
        """
        recipe = recipes().get(name)
        if recipe is None:
            raise StepRefusedError(f"There is no recipe {name!r}; there are {', '.join(recipes())}.")
        try:
            fields = await to_thread.run_sync(checked_fields, recipe, values)
        except FieldRefusedError as error:
            raise StepRefusedError(str(error)) from error
        async with self._turn:
            changes = self._drafts.tool_server(recipe, fields)
            tried = await self._try_server(recipe, fields)
            return await self._write(changes, tried) if tried.ok else tried

    @property
    def _drafts(self) -> Drafts:
        return Drafts(self.settings, self.loaded())

    async def _try_model(self, provider: ResolvedProvider, backend: LLMBackend, more: Mapping[str, str]) -> Outcome:
        client = in_process_client(env={**self.loaded().env, **more})
        try:
            found = await try_model(provider.model, provider, backend, client)
        finally:
            await client.aclose()
        return Outcome(not found.cure, found.text, found.cure)

    async def _try_server(self, recipe: Recipe, fields: Mapping[str, str]) -> Outcome:
        loaded = self.loaded()
        trial = await try_server(server_of(recipe, loaded.config), {**loaded.env, **fields})
        tried = Outcome(bool(trial.tools), trial.finding.text, trial.finding.cure, trial.tools)
        for value in fields.values():
            tried = _without(tried, value)
        return tried

    async def _write(self, changes: Sequence[FileChange], tried: Outcome) -> Outcome:
        """Write what was tried and put it in force; what is refused then is taken back."""
        try:
            before = await to_thread.run_sync(write_all, changes)
        except CannotWriteError as error:
            cure = f"give TARSy's account the right to write there, or do it by hand: {'; '.join(change.told for change in changes)}"
            return Outcome(ok=False, message=f"{tried.message}, but {error}", cure=cure)
        try:
            await self.apply()
        except ConfigError as error:
            await to_thread.run_sync(restore, before)
            with suppress(ConfigError):
                # What was refused is not there any more: the warning about it must not stay.
                await self.apply()
            return Outcome(
                ok=False, message=f"The configuration would not load: {error}", cure="mend it by hand; the files are as they were"
            )
        return Outcome(ok=True, message=tried.message, tools=tried.tools, written=tuple(change.told for change in changes))


def _built_in(config: Config) -> Mapping[str, LLMProviderConfig]:
    return {name: config.llm_providers[name] for name in documents.LLM_PROVIDERS if name in config.llm_providers}


def _provider_of(config: Config, vendor: str) -> tuple[str, LLMProviderConfig]:
    named = {kind.value for kind in USUAL_KEYS}
    if vendor not in named:
        raise StepRefusedError(f"There is no vendor {vendor!r} whose key could be pasted; there are {', '.join(sorted(named))}.")
    kind = ProviderType(vendor)
    return next((name, provider) for name, provider in _built_in(config).items() if provider.type is kind)


def _backend(config: Config, provider: LLMProviderConfig) -> LLMBackend:
    return fitting_backend(config.defaults.llm_backend or LLMBackend.LANGCHAIN, provider)


def _without(outcome: Outcome, secret: str) -> Outcome:
    """Vendors quote a key that they refuse."""
    return Outcome(outcome.ok, outcome.message.replace(secret, "[what you typed]"), outcome.cure, outcome.tools)
