"""Interest lasts as long as it is announced."""

from tarsy.events.relay import EXPIRY_SECONDS, REPEAT_SECONDS, Interest


def test_a_channel_is_wanted_until_its_announcement_expires() -> None:
    interest = Interest()
    assert interest.note(["a"], now=0) == ["a"]
    assert interest.note(["a", "b"], now=REPEAT_SECONDS) == ["b"]
    assert interest.wanted("a", REPEAT_SECONDS + EXPIRY_SECONDS)
    assert not interest.wanted("a", REPEAT_SECONDS + EXPIRY_SECONDS + 0.1)
    assert not interest.wanted("c", 0)


def test_two_announcements_may_be_lost() -> None:
    interest = Interest()
    interest.note(["a"], now=0)
    assert interest.wanted("a", 3 * REPEAT_SECONDS)
