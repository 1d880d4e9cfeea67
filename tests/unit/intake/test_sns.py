"""SNS: which addresses are its own, what it signed, and which subscription is confirmed."""

from datetime import UTC, datetime, timedelta

import pytest

from support.sender_examples import load_examples
from support.sns_signer import Signer, new_signer
from tarsy.intake.authentication import Refusal, check_sns
from tarsy.intake.fields import Fields
from tarsy.intake.sns import (
    ConfirmSubscription,
    LeaveUnconfirmed,
    answer_handshake,
    certificate_address,
    is_signed,
    is_sns_address,
)

NOW = datetime(2026, 11, 15, 10, 27, tzinfo=UTC)
TOPIC = "arn:aws:sns:eu-central-1:123456789012:tarsy"
EXAMPLES = {example.name: example.body for example in load_examples() if example.sender == "cloudwatch"}


@pytest.fixture(scope="module")
def signer() -> Signer:
    return new_signer(NOW)


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("name", ["firing", "subscription_confirmation", "words_over_sns"])
def test_a_message_that_sns_signed_is_believed(signer: Signer, name: str, version: str) -> None:
    assert is_signed(signer.sign(EXAMPLES[name], version), signer.certificate, now=NOW)


@pytest.mark.parametrize("field", ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type", "Signature", "SignatureVersion"])
@pytest.mark.parametrize("value", ["changed", None, "", 7])
def test_no_signed_field_can_be_changed(signer: Signer, field: str, value: object) -> None:
    body = signer.sign(EXAMPLES["firing"], "2")
    assert not is_signed(Fields({**body.values, field: value}), signer.certificate, now=NOW)


def test_the_address_to_confirm_at_cannot_be_changed(signer: Signer) -> None:
    body = signer.sign(EXAMPLES["subscription_confirmation"], "2")
    assert not is_signed(
        Fields({**body.values, "SubscribeURL": "https://sns.eu-central-1.amazonaws.com/?other"}), signer.certificate, now=NOW
    )


def test_a_certificate_that_is_not_valid_now_or_is_none_at_all_proves_nothing(signer: Signer) -> None:
    body = signer.sign(EXAMPLES["firing"], "2")
    assert not is_signed(body, signer.certificate, now=NOW + timedelta(days=2))
    assert not is_signed(body, b"-----BEGIN CERTIFICATE-----", now=NOW)


@pytest.mark.parametrize(
    "url",
    [
        "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-x.pem",
        "https://sns.us-gov-west-1.amazonaws.com/x.pem",
        "https://sns.cn-north-1.amazonaws.com.cn/x.pem",
        "https://sns.ap-southeast-2.amazonaws.com/x.pem",
    ],
)
def test_the_addresses_of_sns_are_its_own(url: str) -> None:
    assert is_sns_address(url)
    assert certificate_address(Fields({"SigningCertURL": url})) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://sns.us-east-1.amazonaws.com/x.pem",
        "https://sns.us-east-1.amazonaws.com.evil.example/x.pem",
        "https://evil.example/sns.us-east-1.amazonaws.com/x.pem",
        "https://sns.us-east-1.amazonaws.com@evil.example/x.pem",
        "https://user@sns.us-east-1.amazonaws.com/x.pem",
        "https://sns.us-east-1.amazonaws.com:8443/x.pem",
        # A bucket called "sns".
        "https://sns.s3-us-west-2.amazonaws.com/x.pem",
        "https://sns.s3.amazonaws.com/x.pem",
        "https://sns.evil.us-east-1.amazonaws.com/x.pem",
        "https://sns.us-east-1.amazonaws.com\\@evil.example/x.pem",
        "https://sns.us-east-1.amazonaws.com/x.pem\n",
        "https://sns.us-east-1.amazonaws.com:x/x.pem",
        "https://[sns/x.pem",
        "",
    ],
)
def test_no_other_address_is_asked_for_a_certificate_or_a_confirmation(url: str) -> None:
    assert not is_sns_address(url)
    assert certificate_address(Fields({"SigningCertURL": url})) is None
    body = Fields({**EXAMPLES["subscription_confirmation"], "SubscribeURL": url.replace("/x.pem", "/?Action=ConfirmSubscription")})
    assert isinstance(answer_handshake(body, [TOPIC]), LeaveUnconfirmed)


def test_a_certificate_is_a_file_and_nothing_else() -> None:
    for path in ("/", "/x.pem?a=b", "/x.pem/y"):
        assert certificate_address(Fields({"SigningCertURL": f"https://sns.us-east-1.amazonaws.com{path}"})) is None
    assert certificate_address(Fields({"SigningCertURL": 7})) is None


def test_the_subscription_of_a_configured_topic_is_confirmed() -> None:
    body = Fields(EXAMPLES["subscription_confirmation"])
    assert answer_handshake(body, [TOPIC]) == ConfirmSubscription(EXAMPLES["subscription_confirmation"]["SubscribeURL"], TOPIC)


def test_a_foreign_topic_and_another_action_are_left_alone() -> None:
    body = EXAMPLES["subscription_confirmation"]
    assert isinstance(answer_handshake(Fields(body), []), LeaveUnconfirmed)
    assert isinstance(answer_handshake(Fields(body), ["arn:aws:sns:eu-central-1:999999999999:theirs"]), LeaveUnconfirmed)
    other = {**body, "SubscribeURL": "https://sns.eu-central-1.amazonaws.com/?Action=Publish&TopicArn=x"}
    assert isinstance(answer_handshake(Fields(other), [TOPIC]), LeaveUnconfirmed)
    assert answer_handshake(Fields(EXAMPLES["firing"]), [TOPIC]) is None


def test_a_signed_message_is_taken_only_from_its_topic_and_only_while_it_is_fresh(signer: Signer) -> None:
    body = signer.sign(EXAMPLES["firing"], "2")
    assert check_sns(body, [TOPIC], now=NOW) is None
    assert check_sns(body, ["another"], now=NOW) is Refusal.FOREIGN_TOPIC
    assert check_sns(body, [TOPIC], now=NOW + timedelta(minutes=59)) is None
    assert check_sns(body, [TOPIC], now=NOW + timedelta(minutes=66)) is Refusal.TOO_OLD
    assert check_sns(Fields({**body.values, "SigningCertURL": "https://evil.test/a.pem"}), [TOPIC], now=NOW) is Refusal.WRONG
    assert check_sns(Fields({"Type": "Notification"}), [TOPIC], now=NOW) is Refusal.MISSING
