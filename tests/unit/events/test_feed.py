"""The feed puts events in order, whatever the order, number and way of their arrival."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.live_events import StoredLiveEvent
from tarsy.events.feed import CATCHUP_LIMIT, Behind, Feed

CHANNEL = "sessions"


def event(identity: int) -> StoredLiveEvent:
    return StoredLiveEvent(CHANNEL, identity, {"type": "session.status", "id": identity})


def started(last_id: int = 0) -> Feed:
    feed = Feed(CHANNEL)
    feed.refresh(last_id)
    return feed


def read(feed: Feed, cursor: int) -> list[int]:
    entries = feed.after(cursor)
    assert not isinstance(entries, Behind)
    return [entry.id for entry in entries]


def add(feed: Feed, identity: int) -> bool:
    return feed.add(identity, event(identity).payload)


@given(arrivals=st.permutations(range(1, 40)), repeated=st.lists(st.integers(1, 39), max_size=20), data=st.data())
def test_any_order_with_any_repetition_is_read_once_and_in_order(arrivals: list[int], repeated: list[int], data: st.DataObject) -> None:
    feed, cursor, seen = started(), 0, list[int]()
    for identity in [*arrivals, *repeated]:
        add(feed, identity)
        if data.draw(st.booleans()):
            fresh = read(feed, cursor)
            seen += fresh
            cursor = fresh[-1] if fresh else cursor
    seen += read(feed, cursor)
    assert seen == list(range(1, 40))


@given(lost=st.sets(st.integers(1, 30)), bare=st.sets(st.integers(1, 30)))
def test_what_never_arrives_or_arrives_as_a_number_is_completed_from_the_store(lost: set[int], bare: set[int]) -> None:
    feed = started()
    for identity in range(1, 31):
        if identity in bare:
            feed.add(identity, None)
        elif identity not in lost:
            add(feed, identity)
    while not feed.is_complete:
        feed.extend([event(identity) for identity in range(feed.last + 1, 31)])
    assert read(feed, 0) == list(range(1, feed.last + 1))
    assert feed.last >= max({*range(1, 31)} - (lost - bare), default=0)


def test_events_that_come_before_the_position_is_known_are_not_missed() -> None:
    feed = Feed(CHANNEL)
    add(feed, 8)
    feed.refresh(6)
    assert feed.last == 6
    assert not feed.is_complete
    feed.extend([event(7), event(8)])
    assert read(feed, 6) == [7, 8]


def test_a_reader_further_back_than_the_feed_reads_the_store() -> None:
    feed = started(50)
    add(feed, 51)
    assert feed.after(40) is Behind.READ_STORE
    assert read(feed, 50) == [51]


def test_a_reader_more_than_the_limit_behind_cannot_continue() -> None:
    feed = started(CATCHUP_LIMIT + 10)
    assert feed.after(9) is Behind.RELOAD
    assert feed.after(10) is Behind.READ_STORE


def test_a_reader_ahead_waits_for_what_is_known_to_exist_and_cannot_continue_from_what_is_not() -> None:
    feed = started(5)
    feed.add(7, None)
    assert feed.after(7) == ()
    assert feed.after(8) is Behind.RELOAD


def test_events_taken_by_retention_are_skipped_so_that_readers_notice() -> None:
    feed = started(5)
    feed.add(9, None)
    feed.extend([event(8), event(9)])
    assert feed.is_complete
    assert feed.after(5) is Behind.READ_STORE


def test_a_rewound_database_is_followed_back() -> None:
    feed = started(100)
    feed.mark_stale()
    feed.add(52, None)
    feed.refresh(51)
    assert feed.last == 51
    assert feed.target == 52
    assert feed.after(100) is Behind.RELOAD


def test_as_many_events_as_may_be_caught_up_with_are_always_at_hand() -> None:
    feed = started()
    for identity in range(1, 5 * CATCHUP_LIMIT):
        add(feed, identity)
    assert read(feed, feed.last - CATCHUP_LIMIT) == list(range(feed.last - CATCHUP_LIMIT + 1, feed.last + 1))
