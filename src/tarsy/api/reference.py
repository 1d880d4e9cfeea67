"""The description of the API: the OpenAPI document, and a page made from it that loads nothing from other servers."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from tarsy import __version__
from tarsy.api import problems
from tarsy.api.routes.alerts import AlertRequest
from tarsy.api.tokens import COOKIE_NAME

_STYLE = """
:root { color-scheme: light dark; --text: #1b2430; --page: #fff; --side: #f6f7f9; --line: #dfe3e8; --link: #1d5bb8; }
@media (prefers-color-scheme: dark) { :root { --text: #dde4ed; --page: #0f1319; --side: #161b23; --line: #2a323d; --link: #86b7ff; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; color: var(--text); background: var(--page); }
a { color: var(--link); }
header { display: flex; gap: 1.25rem; padding: .7rem 1.25rem; border-bottom: 1px solid var(--line); background: var(--side); }
header a { text-decoration: none; font-weight: 600; }
main { max-width: 60rem; margin: 1rem auto 4rem; padding: 0 1.25rem; }
h2 { border-bottom: 1px solid var(--line); margin-top: 2.5rem; text-transform: capitalize; }
code { background: var(--side); border: 1px solid var(--line); padding: .05rem .3rem; border-radius: .25rem; font-size: .9em; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
table { border-collapse: collapse; margin: .5rem 0; } td, th { text-align: left; padding: .2rem 1rem .2rem 0; vertical-align: top; }
h3 code { line-height: 1.8; } h3 code, td, p { overflow-wrap: anywhere; }
@media (max-width: 40rem) { .method { display: block; } h3 code { font-size: .8em; } tr { display: block; padding: .3rem 0; } td { display: block; padding: 0; } }
"""


_REF = "#/components/schemas/{model}"


def describe_routes(title: str, description: str, routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document, with the parts FastAPI cannot derive: how to log in, and bodies that routes parse themselves."""
    document = get_openapi(title=title, version=__version__, description=description, routes=routes)
    _, extra = models_json_schema([(AlertRequest, "validation"), (problems.Problem, "serialization")], ref_template=_REF)
    components = document["components"]
    components["schemas"].update(extra["$defs"])
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": COOKIE_NAME},
    }
    # The empty alternative: a server on loopback needs no login.
    document["security"] = [{"token": []}, {"cookie": []}, {}]
    return document


def reference_page(document: Mapping[str, Any], nonce: str) -> str:
    info = document["info"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation.get("tags", ["other"])[0], []).append(_operation(method, path, operation))
    sections = "".join(f"<section><h2>{escape(tag)}</h2>{''.join(operations)}</section>" for tag, operations in by_tag.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
        f'<meta name="viewport" content="width=device-width"><style nonce="{nonce}">{_STYLE}</style></head><body>'
        '<header><a href="/">TARSy</a><a href="/help/">Manual</a><a href="/docs" aria-current="page">API</a></header><main>'
        f"<h1>{escape(info['title'])} API {escape(info['version'])}</h1><p>{_prose(info['description'])}</p>"
        '<p>The whole contract, for machines: <a href="/openapi.json">openapi.json</a></p>'
        f"{sections}</main></body></html>"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code></td>"
        f"<td>{escape(_type_name(one['schema']))}, {'required' if one.get('required') else 'optional'}</td>"
        f"<td>{_prose(one.get('description', ''))}</td></tr>"
        for one in operation.get("parameters", ())
    )
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    content = operation.get("requestBody", {}).get("content", {})
    kinds = (f"<code>{escape(media)}</code> {escape(_type_name(sent.get('schema', {})))}" for media, sent in content.items())
    body = f"<p>Body: {', '.join(kinds)}</p>" if content else ""
    answers: list[str] = []
    for status, answer in operation["responses"].items():
        if status != "default":
            # All media types of a response have the same type.
            names = {_type_name(media.get("schema", {})) for media in answer.get("content", {}).values()}
            answers.append(f"{escape(status)} {escape(' '.join(names))}")
    return (
        f'<article><h3 id="{escape(operation["operationId"])}"><span class="method">{escape(method.upper())}</span> <code>{escape(path)}</code></h3>'
        f"<p>{_prose(operation.get('description', operation.get('summary', '')))}</p>{table}"
        f"{body}<p>Answer: {', '.join(answers)}</p></article>"
    )


def _prose(text: str) -> str:
    """Return escaped text, with code in backticks as `<code>`."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _type_name(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(name for option in schema["anyOf"] if (name := _type_name(option)) != "null")
    if schema.get("type") == "array":
        return f"list of {_type_name(schema.get('items', {}))}"
    return schema.get("format") or schema.get("type") or ""
