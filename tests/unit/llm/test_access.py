import pytest

from tarsy.config.resolve.resolved import ResolvedProvider
from tarsy.domain.llm import ProviderType
from tarsy.kit.clock import FixedClock
from tarsy.llm.access import CredentialsMissingError, resolve_access
from tarsy.llm.providers.provider import TurnMemory


def provider(kind: ProviderType = ProviderType.OPENAI, **settings: str) -> ResolvedProvider:
    return ResolvedProvider.model_validate({"name": "mine", "type": kind, "model": "m", **settings})


def test_the_key_is_read_under_the_name_that_was_given() -> None:
    assert resolve_access(provider(api_key_env="MY_KEY"), {"MY_KEY": "k"}).api_key == "k"


def test_the_key_is_read_under_the_vendors_name_when_none_was_given() -> None:
    assert resolve_access(provider(), {"OPENAI_API_KEY": "k"}).api_key == "k"


def test_a_missing_key_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(CredentialsMissingError, match="MY_KEY"):
        resolve_access(provider(api_key_env="MY_KEY"), {})


@pytest.mark.parametrize("url", ["http://localhost:11434/v1", "http://127.0.0.1:8080", "http://ollama:11434/v1", "http://192.168.1.9/v1"])
def test_a_local_server_needs_no_key(url: str) -> None:
    access = resolve_access(provider(base_url=url), {})
    assert (access.api_key, access.base_url, access.local) == (None, url, True)


def test_a_proxy_on_the_internet_needs_one() -> None:
    with pytest.raises(CredentialsMissingError):
        resolve_access(provider(base_url="https://proxy.example.com/v1"), {})


def test_the_address_may_come_from_the_environment() -> None:
    access = resolve_access(provider(base_url="{{.LLM_URL}}/v1"), {"LLM_URL": "http://localhost:1"})
    assert access.base_url == "http://localhost:1/v1"


def test_an_empty_address_is_the_vendors_own_which_needs_a_key() -> None:
    empty = provider(base_url="{{.LLM_URL}}")
    with pytest.raises(CredentialsMissingError, match="OPENAI_API_KEY"):
        resolve_access(empty, {"LLM_URL": ""})
    access = resolve_access(empty, {"LLM_URL": "", "OPENAI_API_KEY": "k"})
    assert (access.api_key, access.base_url, access.local) == ("k", None, False)


@pytest.mark.parametrize("url", ["nonsense", "http://[bad", "http://host:99999", "ftp://host", "http://"])
def test_an_address_that_is_none_is_an_error_of_the_setting(url: str) -> None:
    with pytest.raises(CredentialsMissingError, match="base_url"):
        resolve_access(provider(base_url="{{.LLM_URL}}"), {"LLM_URL": url, "OPENAI_API_KEY": "k"})


@pytest.mark.parametrize("key", ["sk-first\nsk-second", "sk-\u2026abc", "sk-\x0babc"])
def test_a_key_that_cannot_be_sent_is_an_error_that_does_not_quote_it(key: str) -> None:
    with pytest.raises(CredentialsMissingError, match="MY_KEY") as refused:
        resolve_access(provider(api_key_env="MY_KEY"), {"MY_KEY": key})
    assert "sk-" not in str(refused.value)


def test_two_projects_are_two_ways_to_reach_a_model() -> None:
    settings = provider(ProviderType.VERTEXAI, project_env="P", location_env="L")
    one = resolve_access(settings, {"P": "one", "L": "europe-west1"})
    two = resolve_access(settings, {"P": "two", "L": "europe-west1"})
    assert one != two
    assert (one.project, one.location) == ("one", "europe-west1")


def test_a_missing_project_is_an_error_that_names_the_variable() -> None:
    with pytest.raises(CredentialsMissingError, match="GOOGLE_CLOUD_PROJECT"):
        resolve_access(provider(ProviderType.VERTEXAI), {})


def test_the_key_is_never_shown() -> None:
    access = resolve_access(provider(), {"OPENAI_API_KEY": "sk-12345"})
    assert "sk-12345" not in repr(access)
    assert access.censor("bad key sk-12345") == "bad key ***"


def test_a_word_in_place_of_a_key_is_left_in_the_texts() -> None:
    access = resolve_access(provider(base_url="http://localhost:11434/v1"), {"OPENAI_API_KEY": "ollama"})
    assert access.censor("try ollama pull qwen3") == "try ollama pull qwen3"


def test_a_turn_is_forgotten_an_hour_after_the_last() -> None:
    clock = FixedClock()
    memory = TurnMemory[str](clock.monotonic)
    memory.keep("old", "turn", "a")
    clock.elapsed = 1800
    memory.keep("new", "turn", "b")
    clock.elapsed = 3601

    assert memory.recall("old", "turn") is None
    assert memory.recall("new", "turn") == "b"


def test_an_execution_that_goes_on_keeps_all_its_turns() -> None:
    clock = FixedClock()
    memory = TurnMemory[str](clock.monotonic)
    memory.keep("e", "first", "a")
    clock.elapsed = 3000
    memory.keep("e", "second", "b")
    clock.elapsed = 6000

    assert (memory.recall("e", "first"), memory.recall("e", "second")) == ("a", "b")
    memory.forget("e")
    assert memory.recall("e", "first") is None
