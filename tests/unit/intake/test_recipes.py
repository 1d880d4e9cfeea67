"""The recipes of the manual: a sender that is set up as they say is recognised, and every sender has one."""

import json
import re
from pathlib import Path

import pytest

from support.document_blocks import blocks_of
from tarsy.intake.adapters.registry import ADAPTERS, matching_adapter, parse_delivery
from tarsy.intake.delivery import parse_request

PAGE = Path(__file__).parents[3] / "docs" / "sender-recipes.md"
HEADINGS = {line: text.removeprefix("### ") for line, text in enumerate(PAGE.read_text().splitlines(), 1) if text.startswith("### ")}
# What is pasted into PagerDuty is not what PagerDuty sends.
SENT = [
    (HEADINGS[max(line for line in HEADINGS if line < block.line)], block.text)
    for block in blocks_of(PAGE)
    if block.language == "json" and "webhook_subscription" not in block.text
]


def test_every_sender_has_a_recipe() -> None:
    assert sorted(HEADINGS.values()) == sorted(ADAPTERS)


@pytest.mark.parametrize(("sender", "body"), SENT, ids=[sender for sender, _ in SENT])
def test_what_a_recipe_sends_is_recognised_and_has_a_title(sender: str, body: str) -> None:
    # Every placeholder stands for some words.
    filled = re.sub(r"\{\{[.\w]+\}\}|\{[$\w.]+\}|\$[A-Z_]+", "some words", body)
    adapter = matching_adapter(parse_request(filled))
    assert adapter
    assert adapter.source == sender
    delivery = parse_delivery(parse_request(filled))
    [answered] = [*delivery.alerts, *delivery.changes]
    assert len(answered.title.split()) > 1
    assert answered.source == sender


def test_the_manual_has_recipes_to_be_filled_in() -> None:
    assert {sender for sender, _ in SENT} >= {"datadog", "zabbix", "elastic", "dynatrace", "cloudevents", "argocd", "change"}
    assert all(json.loads(body) for _, body in SENT)
