"""`tarsy.recent_changes`: what was changed: the arguments of a model and the result it gets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tarsy.agent.toolbox.recent_changes import MAX_SHOWN, RecentChanges
from tarsy.agent.toolbox.toolbox import CallRefusedError
from tarsy.domain.alert import ChangeOutcome, StoredChange
from tarsy.domain.tool import ToolCatalog
from tarsy.kit.clock import FixedClock
from tarsy.tools.masking import Masker

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


CART = StoredChange(
    id="1",
    source="argocd",
    title="cart 2.1",
    outcome=ChangeOutcome.SUCCEEDED,
    labels={"app": "cart", "namespace": "shop"},
    link="https://ci/7",
    at=NOW - timedelta(hours=1),
    body="{}",
)


def change(title: str = "cart 2.1", at: datetime = CART.at) -> StoredChange:
    return replace(CART, title=title, at=at)


@dataclass(slots=True)
class Changes:
    found: Sequence[StoredChange] = ()
    asked: list[tuple[datetime, datetime, Mapping[str, str] | None, str]] = field(
        default_factory=list[tuple[datetime, datetime, Mapping[str, str] | None, str]]
    )

    async def exist_since(self, since: datetime) -> bool:
        return any(one.at >= since for one in self.found)

    async def between(
        self, since: datetime, until: datetime, *, labels: Mapping[str, str] | None, search: str, limit: int
    ) -> Sequence[StoredChange]:
        self.asked.append((since, until, labels, search))
        return self.found[:limit]


async def tool(changes: Changes) -> RecentChanges:
    return await RecentChanges.on(changes, mask=Masker((), custom=[("hunter2", "[MASKED]")]), clock=FixedClock(NOW))


async def test_changes_are_shown_with_time_outcome_labels_and_link_and_without_secrets() -> None:
    shown_texts = await (await tool(Changes([change("cart hunter2")]))).run("{}")
    assert shown_texts.splitlines() == [
        "Changes reported from 2026-02-28 12:00:00Z to 2026-03-01 12:00:00Z, the latest first:",
        "- 2026-03-01 11:00:00Z succeeded argocd: cart [MASKED] | app=cart, namespace=shop | https://ci/7",
    ]


@pytest.mark.parametrize(
    ("arguments", "since", "until"),
    [
        ("", NOW - timedelta(hours=24), NOW),
        ({"since": "90m"}, NOW - timedelta(minutes=90), NOW),
        ({"since": "3D", "until": "2h"}, NOW - timedelta(days=3), NOW - timedelta(hours=2)),
        ({"since": "2026-02-01T10:00:00Z"}, datetime(2026, 2, 1, 10, tzinfo=UTC), NOW),
        ({"since": "2026-02-01T10:00"}, datetime(2026, 2, 1, 10, tzinfo=UTC), NOW),
    ],
)
async def test_a_time_may_be_written_as_people_and_as_programs_write_it(arguments: Any, since: datetime, until: datetime) -> None:
    changes = Changes()
    await (await tool(changes)).run(json.dumps(arguments) if arguments else "")
    assert changes.asked == [(since, until, None, "")]


async def test_labels_and_a_text_narrow_it_down() -> None:
    changes = Changes()
    await (await tool(changes)).run(json.dumps({"labels": {"app": "cart"}, "search": "2.1"}))
    assert changes.asked[0][2:] == ({"app": "cart"}, "2.1")


@pytest.mark.parametrize(
    "arguments", ['{"since": "lately"}', '{"labels": {"app": {"a": 1}}}', '{"since": "99999d 3"}', '{"since": "0001-01-01T00:00:00+14:00"}']
)
async def test_what_cannot_be_understood_is_refused_with_words_for_the_model(arguments: str) -> None:
    with pytest.raises(CallRefusedError):
        await (await tool(Changes())).run(arguments)


async def test_silence_is_reported_as_silence_of_those_who_report() -> None:
    shown_texts = await (await tool(Changes())).run("{}")
    assert shown_texts.startswith("No change that fits was reported from")
    assert shown_texts.endswith("Changes that are not reported to TARSy are not known here.")


async def test_more_than_can_be_read_is_cut_and_reported() -> None:
    shown_texts = await (await tool(Changes([change(f"number {number}") for number in range(60)]))).run("{}")
    assert shown_texts.count("number ") == MAX_SHOWN
    assert shown_texts.endswith("There are more: ask for a shorter time, a label or a text.")


async def test_it_is_offered_only_where_changes_are_reported() -> None:
    assert not (await tool(Changes())).is_offered(ToolCatalog())
    assert not (await tool(Changes([change(at=NOW - timedelta(days=8))]))).is_offered(ToolCatalog())
    assert (await tool(Changes([change()]))).is_offered(ToolCatalog())
