"""What ships with the program about its configuration is true: reference page, schemas, examples."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from support.config_directory import EVERY_KEY, ConfigDirectory
from tarsy.config import reference
from tarsy.config.load.loader import load_config
from tarsy.config.resolve.resolver import resolve_chain
from tarsy.config.schema.documents import FILES, json_schema, schema_file_name

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "config" / "examples"


def variables_of(example: Path) -> dict[str, str]:
    names = (example / ".env.example").read_text().splitlines() if (example / ".env.example").exists() else []
    return EVERY_KEY | {name.rstrip("="): "http://filled.in" for name in names if name.endswith("=")}


def test_the_reference_page_is_what_the_models_say() -> None:
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == reference.render(), (
        "run: python -m tarsy.config.reference > docs/configuration.md"
    )


@pytest.mark.parametrize("name", ["quickstart", "full"])
def test_an_example_loads_without_a_warning(directory: ConfigDirectory, name: str) -> None:
    loaded = load_config(EXAMPLES / name, variables_of(EXAMPLES / name))
    assert loaded.warnings == ()
    for chain_id in loaded.config.chains:
        assert resolve_chain(loaded.config, chain_id).stages


def test_the_quickstart_has_five_lines() -> None:
    lines = (EXAMPLES / "quickstart" / "tarsy.yaml").read_text().splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == 5


def test_the_variables_of_the_full_example_are_all_it_needs(directory: ConfigDirectory) -> None:
    example = EXAMPLES / "full"
    only = {name: "http://filled.in" for name in variables_of(example) if f"{name}=" in (example / ".env.example").read_text()}
    assert load_config(example, only).warnings == ()


def test_the_directory_of_the_examples_is_not_taken_for_a_configuration(
    directory: ConfigDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert load_config(None, {}).directory is None


@pytest.mark.parametrize("file", FILES)
def test_a_schema_is_valid_and_accepts_the_examples(file: str) -> None:
    schema = json_schema(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    for example in EXAMPLES.iterdir():
        if (example / file).exists():
            jsonschema.validate(yaml.safe_load((example / file).read_text()), schema)


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("tarsy.yaml", {"queues": {}}),
        ("tarsy.yaml", {"queue": {"worker_count": 99}}),
        ("tarsy.yaml", {"queue": {"poll_interval": "soon"}}),
        ("tarsy.yaml", {"defaults": {"llm_backend": "gemini"}}),
        ("llm-providers.yaml", {"llm_providers": {"m": {"type": "opnai", "model": "m"}}}),
    ],
)
def test_a_schema_refuses_what_the_loader_refuses(file: str, data: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, json_schema(file))


def test_the_examples_name_the_schemas_as_they_are_written() -> None:
    for file in FILES:
        assert schema_file_name(file) in (EXAMPLES / "full" / file).read_text().splitlines()[0]
