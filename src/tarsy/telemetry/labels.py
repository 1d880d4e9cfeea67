"""Label values from a bounded set: every value of a label is a series that Prometheus keeps for weeks."""

OTHER = "other"
# Far more alert types, models or tools than an installation has, far fewer series than Prometheus minds.
MOST_VALUES = 200


class BoundedLabel:
    """Lets the first so many different values through; later ones are `other`."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._seen: set[str] = set()

    def __call__(self, value: str) -> str:
        if value in self._seen:
            return value
        if len(self._seen) >= self._most:
            return OTHER
        self._seen.add(value)
        return value
