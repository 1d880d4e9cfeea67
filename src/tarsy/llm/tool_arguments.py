"""A call's arguments on their way back to a vendor. Pure."""

import json
from typing import Any, cast


def arguments_object(arguments: str) -> dict[str, Any]:
    """Arguments as the object vendors insist on; what is not one is passed on as text, so that the model sees what it wrote."""
    try:
        parsed: Any = json.loads(arguments or "{}")
    except ValueError:
        parsed = None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {"raw_arguments": arguments}
