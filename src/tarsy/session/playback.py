"""Replaying a recording: the session and the chain that run it again through the real pipeline."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast
from uuid import uuid4

from tarsy.config.resolve.resolved import ResolvedChain
from tarsy.domain.llm import ProviderType, ResolvedProvider
from tarsy.domain.recording import Recording
from tarsy.domain.session import NewSession
from tarsy.domain.stage import StageType

ChangeProvider = Callable[[ResolvedProvider], ResolvedProvider]


class NotReplayableError(Exception):
    """A recording lacks something that a replay needs; its author can act."""


def session_from(recording: Recording, chain: ResolvedChain, *, now: datetime) -> NewSession:
    """Return a new session with the recorded alert, the same fences and the same time of arrival."""
    if recording.alert is None:
        raise NotReplayableError("the recording holds no alert: it can drive a model, but it cannot be replayed as a session")
    alert = recording.alert
    return NewSession(
        id=str(uuid4()),
        alert_data=alert.data,
        alert_type=alert.alert_type,
        chain_id=chain.chain_id,
        chain_snapshot=chain.model_dump(mode="json"),
        author=alert.author,
        nonce=alert.nonce or uuid4().hex,
        runbook_url=alert.runbook_url,
        runbook=alert.runbook,
        created_at=datetime.fromisoformat(alert.created_at) if alert.created_at else now,
    )


def recorded_chain(recording: Recording, change: ChangeProvider) -> ResolvedChain:
    """Return the recorded chain, with `change` applied to each of its models."""
    if recording.chain is None:
        raise NotReplayableError("the recording holds no chain: it can drive a model, but it cannot be replayed as a session")
    return ResolvedChain.model_validate(_changed(dict(recording.chain), change))


def follow_ups(recording: Recording) -> list[StageType]:
    """Return the follow-ups of the investigation, questions and scores, in the order of their stages."""
    names = {StageType.CHAT.value: StageType.CHAT, StageType.SCORING.value: StageType.SCORING}
    chain: Mapping[str, Any] = recording.chain or {}
    planned = {str(stage["name"]) for stage in chain.get("stages", ())}
    tracks = list(recording.outcome.conversations) if recording.outcome else []
    stages = {(int(index), name) for index, _, name in (track.partition("/")[0].partition(".") for track in tracks)}
    found = [names[name] for _, name in sorted(stages) if name in names and name not in planned]
    # A question without an answer has no conversation.
    return found + [StageType.CHAT] * (len(recording.questions) - found.count(StageType.CHAT))


def played_from(source: str) -> ChangeProvider:
    """Replay every model from the recording at `source`, without pauses. Names and window sizes stay, so that the requests are the same."""

    def change(provider: ResolvedProvider) -> ResolvedProvider:
        return provider.model_copy(update={"type": ProviderType.REPLAY, "recording": source, "replay_speed": 0.0})

    return change


def _changed(value: Any, change: ChangeProvider) -> Any:
    if isinstance(value, list):
        return [_changed(item, change) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    return {
        key: change(ResolvedProvider.model_validate(item)).model_dump(mode="json") if key == "provider" and item else _changed(item, change)
        for key, item in fields.items()
    }
