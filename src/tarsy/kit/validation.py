"""What pydantic found wrong with a value, in words for people who do not know pydantic."""

from pydantic_core import ErrorDetails

_OPENINGS = ("Input should ", "String should ", "List should ", "Value should ", "Dictionary should ", "Tuple should ", "Data should ")


def reason(details: ErrorDetails) -> str:
    """Return what is wrong, to be read after the name of the field."""
    message = details["msg"].removeprefix("Value error, ")
    match details["type"]:
        case "missing":
            message = "is missing"
        case "extra_forbidden":
            message = "is not a known field"
        case "string_too_short" | "too_short":
            message = "must not be empty"
        case "string_pattern_mismatch":
            message = "has characters that are not allowed" if str(details["input"]).strip() else "must not be empty"
        case "string_too_long":
            message = f"is too long; at most {details.get('ctx', {})['max_length']:,} characters are allowed"
        case _:
            opening = next((one for one in _OPENINGS if message.startswith(one)), "")
            message = f"must {message.removeprefix(opening)}" if opening else message
    return message
