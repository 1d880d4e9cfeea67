"""`python -m tarsy.api.openapi` prints the OpenAPI document and starts nothing."""

import sys

import orjson

from tarsy.api.app import describe_app, openapi_document


def main() -> None:
    sys.stdout.buffer.write(orjson.dumps(openapi_document(describe_app()), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
