"""Print the OpenAPI document: `python -m tarsy.api.openapi`. Nothing is started."""

import sys

import orjson

from tarsy.api.app import openapi_document


def main() -> None:
    sys.stdout.buffer.write(orjson.dumps(openapi_document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main()
