"""Points in time of a simulated world: written relative to its fixed `now` or absolutely, printed the way kubectl does. Pure."""

import re
from datetime import datetime, timedelta

_OFFSET = re.compile(r"-(?:(?P<days>\d+)d)?(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?(?:(?P<seconds>\d+)s)?")
_CLOCK = re.compile(r"\d{2}:\d{2}(:\d{2})?")


def moment(text: str, now: datetime) -> datetime:
    """Read `-3d4h` (before now), `09:26:00` (on the day of now) or an ISO timestamp.

    Raises:
        ValueError: the text is none of these.
    """
    if text.startswith("-") and (offset := _OFFSET.fullmatch(text)):
        return now - timedelta(**{unit: int(value) for unit, value in offset.groupdict().items() if value})
    if _CLOCK.fullmatch(text):
        return datetime.fromisoformat(f"{now.date().isoformat()}T{text}+00:00")
    return datetime.fromisoformat(text)


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def age(at: datetime, now: datetime) -> str:
    """Print the time since `at` with the units that matter at that distance, as kubectl does."""
    seconds = max(0, int((now - at).total_seconds()))
    # Up to this many seconds an age is written so, the smaller unit left out when it is zero.
    scales = ((120, 1, "s", 0, ""), (600, 60, "m", 1, "s"), (10800, 60, "m", 0, ""), (28800, 3600, "h", 60, "m"))
    scales += ((172800, 3600, "h", 0, ""), (691200, 86400, "d", 3600, "h"))
    for limit, unit, sign, smaller, smaller_sign in scales:
        if seconds < limit:
            rest = seconds % unit // smaller if smaller else 0
            return f"{seconds // unit}{sign}" + (f"{rest}{smaller_sign}" if rest else "")
    return f"{seconds // 86400}d"
