"""`tarsy sessions`: what its help says."""

from tarsy.cli.sessions import SORT_HELP
from tarsy.domain.session_sort import SessionSort


def test_the_help_names_every_order_of_the_list() -> None:
    named = SORT_HELP.partition(": ")[2].rstrip(".").replace(" or ", ", ").split(", ")
    assert set(named) == set(SessionSort)
    assert len(named) == len(SessionSort)
