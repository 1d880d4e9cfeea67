"""JSON Schemas of the two files, so that editors complete and check them. Pure module."""

from typing import Any

from tarsy.config.parsed_data import mapping_at
from tarsy.config.schema.documents import PROVIDERS_FILE, TARSY_FILE, ProvidersDocument, TarsyDocument
from tarsy.config.schema.values import Section

_DOCUMENTS: dict[str, type[Section]] = {TARSY_FILE: TarsyDocument, PROVIDERS_FILE: ProvidersDocument}
# An entry that overrides a built-in one may leave out what that one has; only the loader knows which.
_OVERRIDABLE = ("MCPServerConfig", "TransportConfig", "ChainConfig", "LLMProviderConfig")

FILES = tuple(_DOCUMENTS)


def json_schema(file: str) -> dict[str, Any]:
    """The schema of `tarsy.yaml` or `llm-providers.yaml`."""
    schema = _DOCUMENTS[file].model_json_schema()
    definitions = mapping_at(schema, "$defs")
    for name in _OVERRIDABLE:
        mapping_at(definitions, name).pop("required", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": file}


def schema_file_name(file: str) -> str:
    return file.removesuffix(".yaml") + ".schema.json"
