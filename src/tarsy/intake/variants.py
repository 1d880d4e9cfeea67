"""Pure module: an investigation's tool servers, where a label of its alert chooses among variants that the operator allows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tarsy.config.resolve.resolved import ResolvedChain, ResolvedMcpServer
from tarsy.config.resolve.variants import with_variants
from tarsy.domain.alert import Alert
from tarsy.intake.routes import Route, UnknownVariant
from tarsy.kit.text import clip

# Names of clusters and regions are shorter.
MAX_SHOWN_VALUE = 60


@dataclass(frozen=True, slots=True)
class LabelledServers:
    routes: Callable[[], Sequence[Route]]
    # Finds a tool server by its name.
    server: Callable[[str], ResolvedMcpServer]

    def chosen_for(self, alert: Alert, route_name: str, chain: ResolvedChain) -> ResolvedChain:
        """`chain` with the tool servers that the alert's labels choose."""
        route = next((route for route in self.routes() if route.name == route_name), None)
        if route is None:
            return chain
        chosen, unknown = route.servers_for(alert)
        return with_variants(chain, chosen, {one.variants.server: why_absent(one) for one in unknown}, self.server)


def why_absent(unknown: UnknownVariant) -> str:
    """For agents, who read it as what a sender may have written, and for people."""
    variants = unknown.variants
    said = f'says "{clip(unknown.value, MAX_SHOWN_VALUE)}"' if unknown.value else "is missing"
    known = ", ".join(f"{value} ({server})" for value, server in variants.by_value.items())
    return (
        f'Tool server "{variants.server}" was left out: the alert\'s label "{variants.label}" {said}, and it has variants only for {known}. '
        "Which place the alert speaks of is not known; what other places show proves nothing about it."
    )
