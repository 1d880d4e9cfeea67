"""What follows from a failed model call, and the error that a person sees in the end."""

from hypothesis import given
from hypothesis import strategies as st

from tarsy.agent.answer_text import joined
from tarsy.agent.failures import (
    MAX_CONSECUTIVE_FAILURES,
    OUTAGE_MINUTES,
    Fail,
    FallBack,
    Outage,
    Retry,
    after_failure,
    failure_message,
    outage_message,
)
from tarsy.domain.llm import ErrorChunk, ErrorCode, ProviderType, ResolvedProvider

CODES = st.sampled_from(ErrorCode)


@given(CODES, st.integers(1, 30), st.booleans())
def test_what_will_not_pass_is_not_tried_again(code: ErrorCode, failures: int, has_fallback: bool) -> None:  # noqa: FBT001 - drawn
    decision = after_failure(ErrorChunk("no", code), [code] * failures, has_fallback=has_fallback)
    assert decision == (FallBack() if has_fallback else Fail())


@given(CODES, st.booleans())
def test_no_model_is_asked_more_than_three_times_in_a_row(code: ErrorCode, has_fallback: bool) -> None:  # noqa: FBT001 - drawn
    error = ErrorChunk("not now", code, retryable=True)
    decisions = [after_failure(error, [code] * failures, has_fallback=has_fallback) for failures in range(1, MAX_CONSECUTIVE_FAILURES + 1)]
    assert isinstance(decisions[-1], FallBack if has_fallback else Outage if code.is_outage else Fail)
    assert all(isinstance(decision, Retry | FallBack | Outage) for decision in decisions[:-1])


OUTAGES = st.sampled_from([code for code in ErrorCode if code.is_outage])


@given(st.lists(OUTAGES, min_size=13, max_size=30))
def test_an_outage_is_waited_out_for_half_an_hour_and_reported_once(codes: list[ErrorCode]) -> None:
    errors = [ErrorChunk("not now", code, retryable=True) for code in codes]
    decisions = [after_failure(error, codes[:failures], has_fallback=False) for failures, error in enumerate(errors, 1)]
    waits = [decision for decision in decisions if isinstance(decision, Outage)]
    assert sum(wait.seconds for wait in waits) == OUTAGE_MINUTES * 60
    assert [wait.begins for wait in waits] == [True] + [False] * (len(waits) - 1)
    assert [wait.seconds for wait in waits] == sorted(wait.seconds for wait in waits)
    assert decisions[-1] == Fail(outlasted=True)


@given(OUTAGES, st.integers(1, 30))
def test_an_error_that_is_final_is_not_waited_out_however_long_it_was_out_before(code: ErrorCode, failures: int) -> None:
    assert after_failure(ErrorChunk("closed", code), [code] * failures, has_fallback=False) == Fail()


def test_what_is_waited_for_is_reported_in_one_sentence_and_so_is_the_end_of_patience() -> None:
    provider = ResolvedProvider(name="mine", type=ProviderType.OPENAI, model="m-1", base_url="http://gpu.example:8000/v1")
    error = ErrorChunk("HTTP 503: overloaded.", ErrorCode.PROVIDER_UNAVAILABLE, retryable=True)
    who = "mine (m-1 at http://gpu.example:8000/v1)"
    assert outage_message(provider, error) == f"no model is available: {who}: HTTP 503: overloaded; TARSy retries for up to 30 minutes."
    end = failure_message(provider, error, 12, outlasted=True)
    assert end.startswith(
        f"{who}: 3 calls in a row failed, and so did 9 retries within 30 minutes: HTTP 503: overloaded; check that it is up"
    )


def test_one_broken_answer_does_not_change_the_model() -> None:
    for code in (ErrorCode.PARTIAL_STREAM, ErrorCode.TIMEOUT, ErrorCode.STALLED, ErrorCode.EMPTY_RESPONSE):
        assert after_failure(ErrorChunk("cut", code, retryable=True), [code], has_fallback=True) == Retry()


@given(CODES, st.integers(1, 3))
def test_the_end_names_the_model_its_address_the_cause_and_a_cure_in_one_sentence(code: ErrorCode, failures: int) -> None:
    provider = ResolvedProvider(name="mine", type=ProviderType.OPENAI, model="m-1", base_url="http://gpu.example:8000/v1")
    reported = failure_message(provider, ErrorChunk("HTTP 503: overloaded.", code), failures)
    assert reported.startswith("mine (m-1 at http://gpu.example:8000/v1): ")
    assert "HTTP 503: overloaded; " in reported
    assert reported.endswith(".")
    assert ". " not in reported


@given(st.lists(st.text(max_size=40), max_size=4))
def test_joining_pieces_loses_nothing_but_what_was_written_twice(pieces: list[str]) -> None:
    whole = joined(pieces)
    assert len(whole) <= sum(map(len, pieces))
    assert whole.endswith(pieces[-1][-11:]) if pieces else whole == ""


def test_what_is_repeated_at_a_seam_is_kept_once() -> None:
    assert joined(["The disk of web-1 is fu", "The disk of web-1 is full."]) == "The disk of web-1 is full."
    assert joined(["one two", " three"]) == "one two three"
