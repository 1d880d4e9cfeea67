"""What a scrape says, as numbers."""

from prometheus_client.parser import text_string_to_metric_families


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Name and sorted labels of each sample → its value."""
    families = text_string_to_metric_families(text.decode())
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples}


def value(text: bytes, name: str, **labels: str) -> float | None:
    """The one sample of that name with exactly these labels; None when there is none."""
    return samples(text).get((name, tuple(sorted(labels.items()))))


def label_values(text: bytes, label: str) -> set[str]:
    """Every value that any series has for a label."""
    return {value for _, labels in samples(text) for name, value in labels if name == label}
