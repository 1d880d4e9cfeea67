"""Figures: numbers with a unit, counts and times of day, compared by value.

`90 s` is `1m30s`, `128 MiB` is `128Mi`, `0.25 cores` is `250m`, `13 %` is `0.1321`, and `10:12 CET` is `09:12:00Z`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import cached_property
from itertools import chain, pairwise

_DAY = 86_400.0
# Times of one statement that are compared with each other.
_MOST_CLOCKS = 20


class Dimension(StrEnum):
    TIME = "time"
    BYTES = "bytes"
    CPU = "cpu"
    RATE = "rate"
    SHARE = "share"
    CLOCK = "clock"
    COUNT = "count"


# Base units: second, byte, core, per second, 1.
_UNITS: dict[Dimension, dict[str, float]] = {
    Dimension.TIME: {
        **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
        **dict.fromkeys(("µs", "μs", "us", "microsecond", "microseconds"), 1e-6),
        **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds", "millis"), 1e-3),
        **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
        **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
        **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
        **dict.fromkeys(("d", "day", "days"), 86400.0),
        **dict.fromkeys(("w", "week", "weeks"), 604800.0),
        **dict.fromkeys(("y", "year", "years"), 31536000.0),
    },
    Dimension.BYTES: {
        **dict.fromkeys(("b", "byte", "bytes"), 1.0),
        **{f"{letter}{end}": 1000.0 ** (power + 1) for power, letter in enumerate("kmgtp") for end in ("b", "byte", "bytes")},
        **{f"{letter}i{end}": 1024.0 ** (power + 1) for power, letter in enumerate("kmgtp") for end in ("", "b")},
    },
    Dimension.CPU: {
        **dict.fromkeys(("core", "cores", "cpu", "cpus", "vcpu", "vcpus"), 1.0),
        **dict.fromkeys(("m", "millicore", "millicores", "millicpu"), 1e-3),
    },
    Dimension.RATE: {
        **dict.fromkeys(("/s", "rps", "qps", "req/s", "ops/s", "requests/s", "per second"), 1.0),
        **dict.fromkeys(("/min", "rpm", "req/min", "per minute"), 1 / 60),
    },
    Dimension.SHARE: {**dict.fromkeys(("%", "percent", "per cent"), 0.01), "ratio": 1.0},
}
# Many programs and people write MB for what is exactly a MiB.
_OFTEN_BINARY = {f"{letter}b": 1024.0 ** (power + 1) for power, letter in enumerate("kmgtp")}
# `128Mi` and `1G` of Kubernetes: capital letters without a B.
_KUBERNETES_BYTES = {"K": 1000.0, "M": 1000.0**2, "G": 1000.0**3, "T": 1000.0**4, "P": 1000.0**5}
_SPELLINGS = sorted({spelled for units in _UNITS.values() for spelled in units}, key=len, reverse=True)
_UNIT = "|".join(re.escape(spelled) for spelled in _SPELLINGS)
# Bounded, like the names and labels of metrics below: rows of hundreds of numbers, and long chains of words, would take minutes.
_NUMBER = r"\d{1,3}(?:[,  ]\d{3}){1,6}(?:\.\d+)?(?![\d,])|\d{1,18}(?:\.\d{1,9})?"
# Not one, which is mostly an article.
_WORDS = {
    **{
        word: number
        for number, word in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], start=2)
    },
    **{
        word: 10 * number
        for number, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2)
    },
}

_TIME_UNIT = "|".join(sorted(_UNITS[Dimension.TIME], key=len, reverse=True))
# `2m30s` and `35 min 48 s`.
_COMPOUND = re.compile(rf"(?<![\w.:-])\d+(?:\.\d+)? ?(?:{_TIME_UNIT})(?: ?\d+(?:\.\d+)? ?(?:{_TIME_UNIT})){{1,5}}(?![\w])")
_IN_WORDS = re.compile(
    rf"\b(?P<number>{'|'.join(_WORDS)})[ -](?P<unit>seconds?|minutes?|hours?|days?|weeks?)(?= (?:later|earlier|before|after)\b)",
    re.IGNORECASE,
)
_AGE = re.compile(r"(?<![\w.:-])(?:\d{1,4}[dhms]){1,4}(?![\w])")
_COMPOUND_PART = re.compile(rf"(\d+(?:\.\d+)?) ?({_TIME_UNIT})")
_MINUS = "[-\u2212]"
_WITH_UNIT = re.compile(
    rf"(?:(?<![\w.:/-])|(?<=(?<![\w.:/-]){_MINUS}))(?P<number>{_NUMBER})[  -]?(?P<unit>{_UNIT}|[KMGTP])(?![\w])", re.IGNORECASE
)
# The limit of Java's heap is in MiB, whichever case the letter has.
_JAVA_HEAP = re.compile(r"(?<!\w)-Xmx(?P<number>\d{1,9})(?P<unit>[kmgtKMGT])(?!\w)")
# `duration_ms=29`, `resident_mib: 262`: the unit is part of the key.
_KEYED = re.compile(
    rf"(?<![\w])[A-Za-z][\w.]{{0,100}}?_(?P<unit>{_UNIT})(?:\{{[^}}\n]{{0,1000}}\}})?[\"']?\s*[=:]\s*[\"']?-?(?P<number>{_NUMBER})(?![\w.:])",
    re.IGNORECASE,
)
# `latency_seconds{job="cart"}  min=0.1 max=0.3`: the unit of a metric's name is that of the values after it.
# The unit is searched first and the name before it then: a chain of words would be read again for each of its units.
_METRIC_UNIT = re.compile(
    rf"[_:](?=(?P<end>(?P<unit>{_UNIT})(?:_?(?:total|sum|max|min|avg|rate|p\d+|bucket))?(?:\d+[smhd])?)(?:[{{\s=]|$))", re.IGNORECASE
)
_LONGEST_METRIC = 101
_METRIC_NAME = re.compile(r"(?<![\w])[A-Za-z][\w:]{0,100}\Z", re.IGNORECASE)
_LABELS = re.compile(r"\{[^}\n]{0,1000}\}")
_METRIC_VALUE = re.compile(rf"(?:(?:min|max|last|avg|mean|p\d+|value)\s*[=:]\s*|[ \t]{{1,}})-?(?P<number>{_NUMBER})(?![\w.:%/])")
_BARE = re.compile(
    r"(?<![\w.:,/@#+~-])(?<!\.\d)x?(?P<number>\d{1,3}(?:,\d{3})+|\d{1,18}(?:\.\d{1,9})?)(?![\w:@]|[./,-]\d)(?:\s(?P<scale>thousand|million|billion)\b)?"
)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
# `2.4 to 2.6 s`: the first number has the unit of the second.
_RANGE_WITH_UNIT = re.compile(
    rf"(?<![\w.:/-])\d{{1,18}}(?:\.\d{{1,9}})?(?=\s?(?:and|or|to|[-\u2013\u2014])\s?(?:{_NUMBER})[  -]?(?:{_UNIT})(?!\w))", re.IGNORECASE
)
_FRACTION = re.compile(r"(?<![\w./:-])(\d{1,6})/(\d{1,6})(?![\w/.])")
# `02:00-03:00` is a range; only after seconds, minus and a time are a zone.
_CLOCK = re.compile(
    r"(?<![\w:.])(?:(?P<date>\d{4}-\d\d-\d\d)[T ])?(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?P<fraction>[.,]\d+)?)?"
    r"(?:\s?(?P<half>[apAP])\.?[mM]\b\.?)?"
    r"(?:\s?(?P<zone>Z\b|UTC[+-]\d{1,2}(?::?\d\d)?|GMT[+-]\d{1,2}|[A-Z]{2,4}T\b|UTC\b|GMT\b|MSK\b|\+\d\d:?\d\d\b|(?(second)-\d\d:?\d\d\b|(?!))))?"
    r"(?:,? on (?P<day>\d{4}-\d\d-\d\d))?(?!\w|:\w)"
)
# `between 04:05 and 04:41 CET`: the zone is that of both times.
_RANGE = re.compile(r"\s?(?:and|to|until|till|through|[-\u2013\u2014])\s?")
_ZONES = {
    "Z": 0.0,
    "UTC": 0.0,
    "GMT": 0.0,
    "WET": 0.0,
    "WEST": 1.0,
    "BST": 1.0,
    "CET": 1.0,
    "CEST": 2.0,
    "EET": 2.0,
    "EEST": 3.0,
    "MSK": 3.0,
    "IST": 5.5,
    "SGT": 8.0,
    "JST": 9.0,
    "KST": 9.0,
    "AEST": 10.0,
    "AEDT": 11.0,
    "EST": -5.0,
    "EDT": -4.0,
    "CST": -6.0,
    "CDT": -5.0,
    "MST": -7.0,
    "MDT": -6.0,
    "PST": -8.0,
    "PDT": -7.0,
}
# Significant digits of a number that "about" may round by a tenth.
_ROUNDED_DIGITS = 2
_HEDGE = re.compile(
    r"(?:about|around|approx\.?|approximately|roughly|nearly|almost|some|circa|ca\.?|over|more than|less than|under|at least|up to|~|≈|>|<)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a figure: its value in the base unit, and half of its last digit written.

    A time of day is in seconds since midnight UTC, or since day 1 of the calendar if its date is known.
    """

    dimension: Dimension
    value: float
    tolerance: float
    is_dated: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure at its place of a text; `50m` has two readings, minutes and millicores."""

    text: str
    start: int
    readings: tuple[Reading, ...]

    def agrees(self, seen: "Figure") -> bool:
        """Whether the value seen, rounded to the digits of this figure, gives this figure."""
        return any(_agree(one, other) for one in self.readings for other in seen.readings)

    def has(self, *dimensions: Dimension) -> bool:
        return any(one.dimension in dimensions for one in self.readings)


@dataclass(frozen=True)
class TextNumbers:
    """The figures and numbers of one text, each read once."""

    text: str

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(figures(self.text))

    @cached_property
    def counts(self) -> tuple[Figure, ...]:
        return tuple(counts(self.text))

    @cached_property
    def without_unit(self) -> tuple[Figure, ...]:
        """The numbers that neither have a unit nor follow a key or a metric with one."""
        with_unit = {one.start for one in self.figures}
        return tuple(one for one in self.counts if one.start not in with_unit)

    @property
    def decimals(self) -> tuple[Figure, ...]:
        return tuple(one for one in self.without_unit if "." in one.text)


def _agree(claimed: Reading, seen: Reading) -> bool:
    if claimed.dimension is Dimension.CLOCK and seen.dimension is Dimension.CLOCK:
        # The tolerance of a time is what its last written unit spans: 09:12 is any second of that minute.
        apart = claimed.value - seen.value
        if not (claimed.is_dated and seen.is_dated):
            apart = (apart + _DAY / 2) % _DAY - _DAY / 2
        return abs(apart) < max(claimed.tolerance, seen.tolerance)
    # Metrics have bare numbers for shares and cores.
    is_bare = seen.dimension is Dimension.COUNT and claimed.dimension in {Dimension.SHARE, Dimension.CPU}
    comparable = claimed.dimension is seen.dimension or is_bare
    return comparable and abs(claimed.value - seen.value) <= claimed.tolerance * 1.0001 + 1e-12


def figures(text: str) -> Iterator[Figure]:
    """Yield the figures of a text that have a unit, and the times of day."""
    taken: list[tuple[int, int]] = []
    for one in clocks(text):
        taken.append((one.start, one.start + len(one.text)))
        yield one
    for found in _COMPOUND.finditer(text):
        taken.append(found.span())
        parts = _COMPOUND_PART.findall(found[0])
        value = sum(float(number) * _UNITS[Dimension.TIME][unit] for number, unit in parts)
        yield Figure(found[0], found.start(), (Reading(Dimension.TIME, value, _UNITS[Dimension.TIME][parts[-1][1]] / 2),))
    spans = frozenset(place for start, end in taken for place in range(start, end))
    for pattern in (_KEYED, _WITH_UNIT):
        for found in pattern.finditer(text):
            if found.start("number") not in spans and (readings := tuple(_readings(text, found))):
                yield Figure(found[0], found.start("number"), readings)
    for found in _JAVA_HEAP.finditer(text):
        yield Figure(found[0], found.start("number"), tuple(_read(found["number"], f"{found['unit']}i", 1.0)))
    yield from _metric_values(text)


def in_words(text: str) -> Iterator[Figure]:
    """Yield the times between two events whose number is a word, as in "six minutes later"."""
    for found in _IN_WORDS.finditer(text):
        number, factor = float(_WORDS[found["number"].lower()]), _UNITS[Dimension.TIME][found["unit"].lower()]
        # "Forty minutes" is rounded.
        yield Figure(found[0], found.start(), (Reading(Dimension.TIME, number * factor, max(0.5, number * 0.1) * factor),))


def clocks(text: str) -> Iterator[Figure]:
    """Yield the times of day of a text."""
    for found, following in pairwise(chain(_CLOCK.finditer(text), [None])):
        if found is not None:
            is_range = following is not None and _RANGE.fullmatch(text, found.end(), following.start())
            yield Figure(found[0], found.start(), (_clock(found, found["zone"] or (following["zone"] if following and is_range else "")),))


def ages(text: str) -> Iterator[Figure]:
    """Yield the durations of a text in the short form of Kubernetes, such as `36m` and `3d4h`."""
    for found in _AGE.finditer(text):
        value = sum(float(number) * _UNITS[Dimension.TIME][unit] for number, unit in _COMPOUND_PART.findall(found[0]))
        last = _UNITS[Dimension.TIME][found[0][-1]]
        yield Figure(found[0], found.start(), (Reading(Dimension.TIME, value, last / 2),))


def _metric_values(text: str) -> Iterator[Figure]:
    line_end = -1
    for found in _METRIC_UNIT.finditer(text):
        name_at = max(0, found.start() - _LONGEST_METRIC)
        # The first metric of a line has all values after it.
        if found.start() < line_end or not _METRIC_NAME.search(text, name_at, found.start()):
            continue
        labels = _LABELS.match(text, found.end("end"))
        values_at = labels.end() if labels else found.end("end")
        line_end = text.find("\n", values_at)
        line_end = len(text) if line_end == -1 else line_end
        for value in _METRIC_VALUE.finditer(text, values_at, line_end):
            if readings := tuple(_read(value["number"], found["unit"], 1.0)):
                yield Figure(value["number"], value.start("number"), readings)


def counts(text: str) -> Iterator[Figure]:
    """Yield the bare numbers of a text: neither versions, addresses and times nor numbers with a unit."""
    taken = {
        place
        for pattern in (_CLOCK, _WITH_UNIT, _COMPOUND, _RANGE_WITH_UNIT)
        for found in pattern.finditer(text)
        for place in range(*found.span())
    }
    for found in _FRACTION.finditer(text):
        for group in (1, 2):
            yield Figure(found[group], found.start(group), (Reading(Dimension.COUNT, float(found[group]), 0.5),))
    for found in _BARE.finditer(text):
        if found.start() not in taken:
            number, scale = found["number"].replace(",", ""), _SCALES.get(found["scale"], 1.0)
            reading = Reading(Dimension.COUNT, float(number) * scale, _last_digit(number) / 2 * scale)
            yield Figure(found[0].removeprefix("x"), found.start(), (reading,))


def _readings(text: str, found: re.Match[str]) -> Iterator[Reading]:
    number = re.sub(r"[,  ]", "", found["number"])
    slack = 1.0
    # About 4,000 has one significant digit; about 2.36 was not rounded.
    if len(number.replace(".", "").strip("0")) <= _ROUNDED_DIGITS and _HEDGE.search(text, max(0, found.start() - 16), found.start()):
        whole = number.partition(".")[0]
        slack = max(10.0 ** (len(whole) - len(whole.rstrip("0"))), float(number) * 0.1) / _last_digit(number)
    yield from _read(number, found["unit"], max(slack, 1.0))


def _read(number: str, unit: str, slack: float) -> Iterator[Reading]:
    number = re.sub(r"[,  ]", "", number)
    half = _last_digit(number) / 2 * slack
    if unit in _KUBERNETES_BYTES:
        yield Reading(Dimension.BYTES, float(number) * _KUBERNETES_BYTES[unit], half * _KUBERNETES_BYTES[unit])
        return
    for dimension, units in _UNITS.items():
        # A capital M is neither a minute nor a millicore.
        if (factor := units.get(unit.lower())) is not None and not (unit == "M" and dimension in {Dimension.TIME, Dimension.CPU}):
            yield Reading(dimension, float(number) * factor, half * factor)
    if factor := _OFTEN_BINARY.get(unit.lower()):
        yield Reading(Dimension.BYTES, float(number) * factor, half * factor)


def _last_digit(number: str) -> float:
    return 10.0 ** -len(number.partition(".")[2])


def _clock(found: re.Match[str], zone: str | None) -> Reading:
    # 12 am is midnight.
    hour = int(found["hour"]) % 12 + (12 if found["half"] in "pP" else 0) if found["half"] else int(found["hour"])
    seconds = hour * 3600 + int(found["minute"]) * 60 + int(found["second"] or 0) - _offset(zone or "") * 3600
    seconds += float((found["fraction"] or "0").replace(",", "."))
    written = found["date"] or found["day"]
    try:
        day = date.fromisoformat(written).toordinal() if written else None
    except ValueError:
        day = None
    return Reading(Dimension.CLOCK, (day or 0) * _DAY + seconds, 1.0 if found["second"] else 60.0, is_dated=day is not None)


def is_converted(one: Figure) -> bool:
    """Whether a time of day is written in a zone other than UTC."""
    found = _CLOCK.match(one.text)
    return bool(found and found["zone"] and _offset(found["zone"]))


def clock(at: datetime) -> Figure:
    """Return a time as a figure."""
    at = at.astimezone(UTC)
    seconds = at.hour * 3600 + at.minute * 60 + at.second
    return Figure(at.isoformat(), 0, (Reading(Dimension.CLOCK, at.toordinal() * _DAY + seconds, 1.0, is_dated=True),))


def ago(at: Figure, before: Figure) -> Iterator[Figure]:
    """Yield the time that lies a duration before another, as exact as the duration was written: `36m` is one minute."""
    for one in before.readings:
        if one.dimension is Dimension.TIME:
            yield Figure(
                before.text, 0, (Reading(Dimension.CLOCK, at.readings[0].value - one.value, 2 * one.tolerance + 60, is_dated=True),)
            )


def _offset(zone: str) -> float:
    """Return the hours that a zone is ahead of UTC; times without a zone count as UTC."""
    if zone in _ZONES:
        return _ZONES[zone]
    numeric = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d\d)?", zone)
    return (1 if numeric[1] == "+" else -1) * (int(numeric[2]) + int(numeric[3] or 0) / 60) if numeric else 0.0


_COUNTED = re.compile(rf"\b(?P<number>\d{{1,3}}(?:,\d{{3}})+|\d{{1,9}}|{'|'.join(_WORDS)})\s+(?P<counted>[a-z]{{3,}})", re.IGNORECASE)
_NO_COUNT = re.compile(r"[.:/-]$|\b(?:in|of|per) $")
# A count belongs to a quotation that follows it within a few words.
_NEAR = 80


def counts_before(text: str, place: int) -> Iterator[tuple[Figure, str]]:
    """Yield the counts that stand shortly before a place of a text, each with what is counted."""
    for found in _COUNTED.finditer(text, max(0, place - _NEAR), place):
        word = found["number"].lower()
        number = float(_WORDS[word]) if word in _WORDS else float(word.replace(",", ""))
        counted = found["counted"].lower()
        # Neither part of another number nor the whole of a share, as in "four in ten requests". One with a unit is a figure.
        if counted not in _SPELLINGS and not _NO_COUNT.search(text, max(0, found.start() - 8), found.start()):
            yield Figure(found["number"], found.start(), (Reading(Dimension.COUNT, number, 0.5),)), counted


def between(clocks: Sequence[Figure]) -> Iterator[Figure]:
    """Yield the times that lie between two times of day: what a person computes from two lines of a log."""
    readings = [one.readings[0] for one in clocks[:_MOST_CLOCKS] if one.has(Dimension.CLOCK)]
    for number, one in enumerate(readings):
        for other in readings[:number]:
            apart = abs(one.value - other.value) if one.is_dated and other.is_dated else abs(one.value - other.value) % _DAY
            yield Figure("", 0, (Reading(Dimension.TIME, apart, 0.0),))


def whole_less(figure: Figure) -> Figure:
    """Return what a share leaves of the whole: 0.45 leaves 0.55."""
    return Figure(figure.text, figure.start, tuple(replace(one, dimension=Dimension.SHARE, value=1 - one.value) for one in figure.readings))


def any_agrees(figure: Figure, seen: Iterable[Figure]) -> bool:
    return any(figure.agrees(one) for one in seen)
