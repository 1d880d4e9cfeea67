"""How long a large configuration takes to load: 200 agents and 100 chains, all checked, in under a second."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from tarsy.config.load.loader import load_config
from tarsy.config.resolve.resolver import resolve_chain

AGENTS = 200
CHAINS = 100
ROUNDS = 5
LIMIT_MS = 1000


def write(directory: Path) -> None:
    agents = {
        f"Agent{n}": {"mcp_servers": ["kubernetes-server"], "custom_instructions": "look\n" * 20, "max_iterations": 5}
        for n in range(AGENTS)
    }
    stages = [
        {"name": f"s{n}", "agents": [{"name": f"Agent{n}", "llm_provider": "google-default"}, {"name": "KubernetesAgent"}]}
        for n in range(4)
    ]
    chains = {f"chain{n}": {"alert_types": [f"type{n}"], "stages": stages, "chat": {"max_iterations": 3}} for n in range(CHAINS)}
    # As JSON, which is YAML: without the aliases that a dumper would use for what is the same.
    (directory / "tarsy.yaml").write_text(json.dumps({"agents": agents, "agent_chains": chains}, indent=1))


def main(directory: Path) -> int:
    write(directory)
    environment = {**os.environ, "GOOGLE_API_KEY": "none", "KUBECONFIG": "none"}
    taken: list[float] = []
    for _ in range(ROUNDS):
        started = time.monotonic()
        load_config(directory, environment)
        taken.append((time.monotonic() - started) * 1000)
    config = load_config(directory, environment).config
    assert len(config.agents) >= AGENTS
    assert resolve_chain(config, config.chains.id_for(f"type{CHAINS - 1}")).stages[3].name == "s3"
    print(
        f"{AGENTS} agents, {CHAINS} chains: first {taken[0]:.0f} ms, best {min(taken):.0f} ms, worst {max(taken):.0f} ms (limit {LIMIT_MS} ms)"
    )
    return 0 if min(taken) < LIMIT_MS else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tarsy-bench-") as name:
        sys.exit(main(Path(name)))
