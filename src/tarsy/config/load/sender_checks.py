"""Whether every sender that has to prove who it is could. Pure module."""

from collections.abc import Iterator, Mapping

from tarsy.config.load.source import Source
from tarsy.config.problems import Problem
from tarsy.config.schema.senders import SenderConfig


def unproven_senders(senders: Mapping[str, SenderConfig], source: Source, env: Mapping[str, str]) -> Iterator[Problem]:
    """Senders whose secret is in no variable: nothing of theirs would be believed."""
    for name, sender in senders.items():
        for variable in sender.secret_variables():
            if not env.get(variable, "").strip():
                message = f'sender "{name}" proves who it is by the environment variable {variable}, which is not set'
                yield source.problem(("senders", name), message, f"set {variable}")
