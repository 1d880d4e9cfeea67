"""Who may send: tokens, passwords and the signatures of the vendors."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarsy.config.schema.routes import Scheme
from tarsy.intake.authentication import MAX_AGE, Basic, Refusal, SenderCredential, Signature, Token, check_sender
from tarsy.intake.delivery import RequestHead

NOW = datetime(2026, 11, 15, 10, 30, tzinfo=UTC)
BODY = '{"title": "Größe"}'.encode()


def _sign(secret: str, body: bytes = BODY) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _check(required: SenderCredential, body: Any = BODY, query: Any = None, **headers: str) -> Refusal | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return check_sender(required, RequestHead(headers=named, query=query or {}), body, now=NOW)


def test_a_token_is_taken_as_bearer_or_from_the_address() -> None:
    required = Token(("old", "new"))
    assert _check(required, authorization="Bearer new") is None
    assert _check(required, authorization="bearer  old") is None
    assert _check(required, query={"token": "new"}) is None
    assert _check(required, authorization="Bearer other") is Refusal.WRONG
    assert _check(required, authorization="Basic bmV3") is Refusal.MISSING
    assert _check(required) is Refusal.MISSING


def _basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def test_basic_authentication_asks_for_both_name_and_password() -> None:
    required = Basic("grafana", ("s3cret:with colon",))
    assert _check(required, authorization=_basic("grafana:s3cret:with colon")) is None
    assert _check(required, authorization=_basic("grafana:wrong")) is Refusal.WRONG
    assert _check(required, authorization=_basic("other:s3cret:with colon")) is Refusal.WRONG
    assert _check(required, authorization="Basic not base64!") is Refusal.WRONG
    assert _check(required) is Refusal.MISSING


def test_one_right_signature_of_pagerduty_among_several_is_enough() -> None:
    required = Signature(Scheme.PAGERDUTY, ("secret",))
    assert _check(required, x_pagerduty_signature=f"v1={_sign('other')}, v1={_sign('secret')}") is None
    assert _check(required, x_pagerduty_signature=f"v1={_sign('other')}") is Refusal.WRONG
    assert _check(required, x_pagerduty_signature=f"v2={_sign('secret')}") is Refusal.MISSING
    assert _check(required) is Refusal.MISSING


@pytest.mark.parametrize(
    ("scheme", "header", "form"),
    [
        (Scheme.SENTRY, "sentry_hook_signature", "{}"),
        (Scheme.GRAFANA, "x_grafana_alerting_signature", "{}"),
        (Scheme.GITHUB, "x_hub_signature_256", "sha256={}"),
    ],
)
def test_a_signature_is_that_of_the_raw_body(scheme: Scheme, header: str, form: str) -> None:
    required = Signature(scheme, ("new", "old"))
    assert _check(required, **{header: form.format(_sign("old"))}) is None
    assert _check(required, BODY + b" ", **{header: form.format(_sign("old"))}) is Refusal.WRONG
    assert _check(required, **{header: form.format(_sign("third"))}) is Refusal.WRONG
    assert _check(required) is Refusal.MISSING


def test_a_signature_can_stand_in_another_header() -> None:
    required = Signature(Scheme.GITHUB, ("secret",), header="X-Signature")
    assert _check(required, x_signature="sha256=" + _sign("secret")) is None
    assert _check(required, x_hub_signature_256="sha256=" + _sign("secret")) is Refusal.MISSING


@pytest.mark.parametrize(
    ("age", "refused"),
    [
        (timedelta(), None),
        (MAX_AGE, None),
        (MAX_AGE + timedelta(seconds=1), Refusal.TOO_OLD),
        (-MAX_AGE - timedelta(seconds=1), Refusal.TOO_OLD),
    ],
)
def test_a_signed_time_is_refused_when_it_is_too_far_from_now(age: timedelta, refused: Refusal | None) -> None:
    required = Signature(Scheme.GRAFANA, ("secret",), timestamp_header="X-Time")
    stamp = str(int((NOW - age).timestamp()))
    signature = _sign("secret", stamp.encode() + b":" + BODY)
    assert _check(required, x_grafana_alerting_signature=signature, x_time=stamp) is refused


def test_a_time_that_was_not_signed_is_not_believed() -> None:
    required = Signature(Scheme.GRAFANA, ("secret",), timestamp_header="X-Time")
    stamp = str(int(NOW.timestamp()))
    assert _check(required, x_grafana_alerting_signature=_sign("secret"), x_time=stamp) is Refusal.WRONG
    assert _check(required, x_grafana_alerting_signature=_sign("secret", b":" + BODY)) is Refusal.TOO_OLD


@pytest.mark.parametrize("required", [Token(("",)), Token(()), Basic("", ("",)), Signature(Scheme.SENTRY, ("",))])
def test_an_empty_secret_opens_nothing(required: SenderCredential) -> None:
    for headers in ({"authorization": "Bearer "}, {"authorization": _basic(":")}, {"sentry_hook_signature": _sign("")}):
        assert _check(required, **headers) is not None


@given(st.sampled_from(list(Scheme)), st.text(max_size=80), st.text(max_size=20))
def test_no_header_fails_or_opens(scheme: Scheme, header: str, stamp: str) -> None:
    head = RequestHead(headers={"x-s": header, "x-t": stamp, "authorization": header})
    for required in (Signature(scheme, ("k",), "X-S"), Signature(scheme, ("k",), "X-S", "X-T"), Token(("k" * 30,)), Basic("u", ("k",))):
        assert check_sender(required, head, BODY, now=NOW) is not None


def test_a_secret_is_never_shown() -> None:
    assert "hidden" not in repr([Token(("hidden",)), Basic("u", ("hidden",)), Signature(Scheme.SENTRY, ("hidden",))])
