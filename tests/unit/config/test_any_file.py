"""Whatever stands in the files, the answer is a configuration or a list of problems."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from support.config_directory import EVERY_KEY
from tarsy.config.load.loader import load_config
from tarsy.config.problems import ConfigError
from tarsy.config.resolve.redaction import redacted
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.configuration import Config
from tarsy.config.schema.documents import ProvidersDocument, TarsyDocument


def _keys() -> SearchStrategy[str]:
    found = {
        key
        for model in (TarsyDocument, ProvidersDocument)
        for definition in model.model_json_schema()["$defs"].values()
        for key in definition.get("properties", {})
    }
    return st.sampled_from(
        sorted(found | {"iteration_strategy", "kubernetes", "kubernetes-server", "KubernetesAgent", "google-default", "odd"})
    )


# Deferred: making the schemas takes longer than to collect a hundred tests.
KEYS = st.deferred(_keys)
WORDS = [
    "google-default",
    "KubernetesAgent",
    "kubernetes-server",
    "kubernetes",
    "stdio",
    "http",
    "openai",
    "react",
    "1m",
    "{{.NOWHERE}}",
    "{{.KUBECONFIG}}",
    "",
]
LEAVES = st.none() | st.booleans() | st.integers(-3, 60) | st.floats(allow_nan=False) | st.sampled_from(WORDS) | st.text(max_size=5)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12)
ENTRIES = TREES | st.dictionaries(
    st.sampled_from(["kubernetes", "kubernetes-server", "KubernetesAgent", "google-default", "mine"]), TREES, max_size=3
)
FILES = st.fixed_dictionaries({}, optional=dict.fromkeys((*TarsyDocument.model_fields, "odd"), ENTRIES))
PROVIDERS = st.fixed_dictionaries({}, optional={"llm_providers": ENTRIES, "odd": LEAVES})


def load(tarsy: dict[str, Any], providers: dict[str, Any]) -> Config | ConfigError:
    with TemporaryDirectory() as name:
        (Path(name) / "tarsy.yaml").write_text(yaml.safe_dump(tarsy))
        (Path(name) / "llm-providers.yaml").write_text(yaml.safe_dump(providers))
        try:
            return load_config(Path(name), EVERY_KEY).config
        except ConfigError as error:
            return error


@given(FILES, PROVIDERS)
def test_any_tree_is_loaded_or_refused(tarsy: dict[str, Any], providers: dict[str, Any]) -> None:
    match load(tarsy, providers):
        case ConfigError() as error:
            assert error.problems
        case Config() as config:
            assert redacted(config)
            assert all(resolve_chain(config, chain_id).stages for chain_id in config.chains)
