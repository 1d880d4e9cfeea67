"""Who can be stopped in this process."""

from tarsy.session.run_scope import Cancellations


def test_what_runs_can_be_stopped_by_its_name_and_nothing_else() -> None:
    stopped: list[str] = []
    cancellations = Cancellations()
    with cancellations.registered("a", lambda: stopped.append("a")):
        assert cancellations.cancel("a")
        assert not cancellations.cancel("b")
    assert not cancellations.cancel("a")
    assert stopped == ["a"]


def test_whoever_has_lost_a_thing_does_not_make_its_new_owner_unknown() -> None:
    stopped: list[str] = []
    cancellations = Cancellations()
    with cancellations.registered("a", lambda: stopped.append("first")):
        newer = cancellations.registered("a", lambda: stopped.append("second"))
        newer.__enter__()
    assert cancellations.cancel("a")
    assert stopped == ["second"]
    newer.__exit__(None, None, None)
    assert not cancellations.cancel("a")
