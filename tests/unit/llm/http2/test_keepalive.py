from tarsy.llm.http2.keepalive import LONG_SILENCE, PATIENCE, PINGS_IN_A_ROW, SILENCE, Keepalive, Look


def test_a_peer_that_talks_is_not_pinged() -> None:
    keepalive = Keepalive(0)
    keepalive.heard(20, says_something=True)
    assert keepalive.look(SILENCE) == Look(again=20)


def test_a_silent_peer_is_pinged_and_given_up_when_it_does_not_answer() -> None:
    keepalive = Keepalive(0)
    assert keepalive.look(SILENCE) == Look(ping=True, again=PATIENCE)
    assert keepalive.look(SILENCE + 4) == Look(again=PATIENCE - 4)
    assert keepalive.look(SILENCE + PATIENCE) == Look(is_gone=True)


def test_a_peer_that_answers_pings_and_says_nothing_else_is_pinged_rarely() -> None:
    keepalive = Keepalive(0)
    now = 0.0
    for _ in range(PINGS_IN_A_ROW):
        now += SILENCE
        assert keepalive.look(now).ping
        keepalive.heard(now, says_something=False)
    assert keepalive.look(now + SILENCE) == Look(again=LONG_SILENCE - SILENCE)
    assert keepalive.look(now + LONG_SILENCE).ping

    keepalive.heard(now + LONG_SILENCE, says_something=True)
    assert keepalive.look(now + LONG_SILENCE + SILENCE).ping
