"""A table for spreadsheets. Pure module."""

import csv
import io
from collections.abc import Iterable, Sequence

# A cell that begins with one of these is a formula to a spreadsheet; the name of an alert type can.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """RFC 4180, with a line of names."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_harmless(cell) for cell in row] for row in rows)
    return text.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
