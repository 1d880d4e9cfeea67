"""Print the OpenAPI document: `python -m tarsy.api.openapi`. Nothing is started."""

import sys

import orjson

from tarsy.api.app import describe_app
from tarsy.api.reference import openapi_document


def main() -> None:
    document = openapi_document(describe_app())
    sys.stdout.buffer.write(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
