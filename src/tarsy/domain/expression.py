"""JMESPath expressions, read once and checked before anything depends on them.

https://jmespath.org/specification.html
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult


class ExpressionError(ValueError):
    """An expression of a mapping is not JMESPath; the operator can act."""


@lru_cache(maxsize=256)
def compiled(expression: str) -> "ParsedResult":
    """The expression, to be asked of values.

    Raises:
        ValueError: it is not JMESPath; also what it raises when a value is none that it takes.
    """
    import jmespath  # noqa: PLC0415 - for mappings alone, which few configurations have

    return jmespath.compile(expression)


def check_expression(expression: str) -> None:
    """Refuse what could not be evaluated later.

    Raises:
        ExpressionError: saying where it goes wrong.
    """
    from jmespath.functions import Functions  # noqa: PLC0415 - as above

    try:
        found = compiled(expression)
    except ValueError as error:
        raise ExpressionError(" ".join(str(error).split())) from error
    # JMESPath itself would notice this only when a body leads there.
    if unknown := _functions(found.parsed) - set(Functions.FUNCTION_TABLE):
        raise ExpressionError(f"JMESPath has no function {', '.join(sorted(unknown))}")


def _functions(node: Mapping[str, Any]) -> set[str]:
    own: set[str] = {node["value"]} if node["type"] == "function_expression" else set()
    return own.union(*(_functions(cast("Mapping[str, Any]", child)) for child in node["children"] if isinstance(child, dict)))
