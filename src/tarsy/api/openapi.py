"""The document that describes the API. `python -m tarsy.api.openapi` prints it and starts nothing."""

import sys
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from tarsy.api import problems
from tarsy.api.alert_body import AlertRequest
from tarsy.api.tokens import COOKIE_NAME

_REF = "#/components/schemas/{model}"


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with what FastAPI cannot know: how to log in, and bodies that are read by hand."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        _, extra = models_json_schema([(AlertRequest, "validation"), (problems.Problem, "serialization")], ref_template=_REF)
        components = document["components"]
        components["schemas"].update(extra["$defs"])
        components["securitySchemes"] = {
            "token": {"type": "http", "scheme": "bearer"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE_NAME},
        }
        # The empty alternative: a server on loopback asks for no login.
        document["security"] = [{"token": []}, {"cookie": []}, {}]
        app.openapi_schema = document
    return app.openapi_schema


def main() -> None:
    from tarsy.api.app import describe_app  # noqa: PLC0415 - the application serves this document, and so knows this module

    sys.stdout.buffer.write(orjson.dumps(openapi_document(describe_app()), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
