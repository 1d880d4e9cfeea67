"""By which words a person recognises an alert."""

import json

import pytest

from tarsy.demo.samples import list_samples, load_sample
from tarsy.domain.alert import TITLE_SEARCH_CHARACTERS, alert_title

SAMPLES = {
    "crashloop": "KubePodCrashLooping",
    "crypto-miner": "Outbound Connection to Mining Pool",
    "disk-full": "Node root disk almost full",
    "dns-outage": (
        "Checkout: 38 % of payments fail since 16:24 UTC (POST /checkout/pay -> 502, threshold 5 %). Suspect: release 9.4.0 of 16:21, rollback in pr…"
    ),
    "flapping": "[FLAPPING] shop.larkspur.example - 4 state changes in 10 minutes",
    "hourly-timeouts": "CheckoutErrorsHigh",
    "image-pull": "payments-api has had a container in waiting state for 15 minutes. Owner: team-payments.",
    "stale-certificate": "KubeDeploymentReplicasMismatch",
    "oom-leak": "[Triggered on {kube_namespace:shop,kube_deployment:recommender}] Container OOM kills above 2 in 24h",
}


def test_every_sample_is_in_the_table() -> None:
    assert {sample.name for sample in list_samples()} == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_recognised(name: str) -> None:
    assert alert_title(load_sample(name).alert_data, "type") == SAMPLES[name]


@pytest.mark.parametrize(
    ("alert", "title"),
    [
        ("Disk almost full on worker-b1\nmore", "Disk almost full on worker-b1"),
        ("\n\n  ## Disk   almost\tfull  \n", "Disk almost full"),
        ("---\n", "type"),
        ("", "type"),
        ("alertname: DiskFull\nseverity: page", "DiskFull"),
        ("alerts:\n  - title: 'Disk full'\n    host: b1", "Disk full"),
        ("kind: Alert\nsummary: >-\n  The disk\n  is full", "The disk"),
        ("summary: |\n  Disk full", "Disk full"),
        ('Alert: {"severity": "page", "title": "Disk \\u00fcber 90 %"}', "Disk über 90 %"),
        ('alert: {"severity": "page"}\nhost: b1', 'alert: {"severity": "page"}'),
        ('{"alert": {"rule": "r"}, "title": ""}', "r"),
        ('{"TITLE": "loud"}', "loud"),
        ('{"title": "a \\"quoted\\" one\\nand more"}', 'a "quoted" one and more'),
        ('{"severity": "page"}', "type"),
        ("[]", "type"),
        ("[FLAPPING] the shop", "[FLAPPING] the shop"),
        ('{"AlarmName": "api-waiting", "AlarmDescription": "x"}', "api-waiting"),
        ('{"summary": "cut off here', "cut off here"),
        ('{"title": "half a \\ud83d character"}', "half a \ufffd character"),
    ],
)
def test_other_alerts(alert: str, title: str) -> None:
    assert alert_title(alert, "type") == title


def test_a_huge_alert_on_one_line_is_recognised_as_fast_as_a_small_one() -> None:
    alert = json.dumps({"title": "Ingest lags", "points": ["\\" * 40] * 25_000})
    assert len(alert) > 1_000_000
    # A page of the list, many times over; reading a megabyte each time would take longer than a test may.
    for _ in range(20_000):
        assert alert_title(alert, "type") == "Ingest lags"


# Text that takes time with its square, or worse, does not end within the test's own limit.
@pytest.mark.parametrize("filling", ["x", "{", '"', "\\", '"title":', "title: ", " "])
def test_an_alert_of_nothing_but_noise_ends_soon_and_short(filling: str) -> None:
    assert len(alert_title(filling * TITLE_SEARCH_CHARACTERS, "type")) <= 140


def test_what_turns_hides_or_commands_is_made_visible() -> None:
    assert alert_title("disk \u202ellufton\u202c is full", "x") == "disk <U+202E>llufton<U+202C> is full"
    assert alert_title("\x1b[31mred\x1b[0m \x07", "x") == "<U+001B>[31mred<U+001B>[0m <U+0007>"
    assert alert_title('{"title": "a\\u2066b\\u001b]0;owned\\u0007"}', "x") == "a<U+2066>b<U+001B>]0;owned<U+0007>"
    assert alert_title("zero\u200bwidth\ufeff", "x") == "zero<U+200B>width<U+FEFF>"
    assert alert_title("👩\u200d👧 ünïcödé", "x") == "👩\u200d👧 ünïcödé"
