"""The rules of approvals, for every call and every decision."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from tarsy.domain.approval import Approval, ApprovalState, CallDecision, call_hash, decision_of
from tarsy.domain.execution import Wait, combined_wait
from tarsy.domain.tool import ApprovalPolicy, approval_reason

AT = datetime(2026, 1, 1, tzinfo=UTC)
APPROVAL = Approval(
    id="p",
    session_id="s",
    execution_id="x",
    call_id="c",
    evidence_id="A1",
    server="k8s",
    tool="delete_pod",
    arguments="{}",
    call_hash="h",
    state=ApprovalState.PENDING,
    requested_at=AT,
    expires_at=AT,
)
HINTS = st.sampled_from([None, True, False])
CALLS = st.tuples(st.text(), st.text(), st.dictionaries(st.text(), st.text()), st.text())


@given(state=st.sampled_from(ApprovalState), started=st.sampled_from([None, AT]), current=st.sampled_from(["h", "another", None]))
def test_a_call_runs_only_if_it_was_approved_never_started_and_is_still_the_same(
    state: ApprovalState, started: datetime | None, current: str | None
) -> None:
    decision = decision_of(replace(APPROVAL, state=state, started_at=started), current)
    may_run = state is ApprovalState.APPROVED and started is None and current == "h"
    assert (decision is CallDecision.APPROVED) is may_run
    assert (decision is None) is (state is ApprovalState.PENDING)


@given(first=CALLS, second=CALLS)
def test_two_calls_have_the_same_hash_only_if_they_are_the_same(
    first: tuple[str, str, dict[str, str], str], second: tuple[str, str, dict[str, str], str]
) -> None:
    assert (call_hash(*first) == call_hash(*second)) is (first == second)


@given(tool=st.text(), read_only=HINTS, destructive=HINTS, named=st.booleans())
def test_a_stricter_policy_lets_no_call_run_that_a_looser_one_holds(
    tool: str,
    read_only: bool | None,  # noqa: FBT001 - a value of the property
    destructive: bool | None,  # noqa: FBT001
    named: bool,  # noqa: FBT001
) -> None:
    order = (ApprovalPolicy.NEVER, ApprovalPolicy.DESTRUCTIVE, ApprovalPolicy.UNLESS_READ_ONLY, ApprovalPolicy.ALWAYS)
    held = [approval_reason(one, tool, read_only=read_only, destructive=destructive, named=named) is not None for one in order]
    assert held == sorted(held)
    assert (held[0], held[-1]) == (False, True)


def test_a_run_that_waits_for_a_person_and_for_a_model_goes_on_when_the_model_may_be_back() -> None:
    outage, person, other = Wait("outage", 30), Wait("approval", 1800, for_approval=True), Wait("approval", 60, for_approval=True)
    assert combined_wait([outage, Wait("outage", 90), person]).seconds == 90
    assert combined_wait([person, other]) == other
