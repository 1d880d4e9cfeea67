"""The recipes of the manual, tried as a person would paste them."""

from collections.abc import Iterator
from typing import Any

import yaml

from support.paths import ROOT

OWN = {"receiver": "pager", "routes": [{"receiver": "dba", "matchers": ["database"]}]}


def test_the_alertmanager_recipe_adds_tarsy_to_a_configuration_that_pages_and_redirects_nothing() -> None:
    text = (ROOT / "docs" / "sender-recipes.md").read_text()
    recipe = text.split("### alertmanager\n\n```\n")[1].split("```")[0].replace("YOUR_DEFAULT_RECEIVER", "pager")
    route = yaml.safe_load(recipe)["route"]
    first, last = route["routes"]
    merged = {**OWN, "routes": [first, *OWN["routes"], last]}
    assert [list(notified(merged, alert)) for alert in ("database", "disk")] == [["tarsy", "dba"], ["tarsy", "pager"]]
    assert "receiver" not in route, "pasted over the root route, Alertmanager refuses it"


def notified(route: dict[str, Any], alert: str) -> Iterator[str]:
    """Yield the receivers of an alert, as Alertmanager finds them."""
    taken = False
    for child in route.get("routes", ()):
        if alert in child.get("matchers", [alert]):
            taken = True
            yield from notified(child, alert)
            if not child.get("continue"):
                break
    if not taken:
        yield route["receiver"]
