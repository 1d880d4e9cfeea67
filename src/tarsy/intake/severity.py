"""Pure module: the words by which senders say how bad it is."""

from collections.abc import Mapping

from tarsy.domain.alert import Severity

_WORDS: Mapping[Severity, str] = {
    Severity.CRITICAL: "critical crit fatal emergency emerg disaster page paging p0 p1 sev0 blocker",
    Severity.HIGH: "high error err major p2 sev1 severe urgent alert availability",
    Severity.WARNING: "warning warn medium moderate minor average p3 sev2 degraded performance no_data",
    Severity.INFO: "info information informational low notice debug ok none p4 p5 sev3 sev4 verbose success not_classified",
}
_SEVERITIES = {word: severity for severity, words in _WORDS.items() for word in words.split()}


def severity_of(*words: str) -> Severity:
    """The severity that the first known word stands for."""
    known = (_SEVERITIES.get("_".join(word.lower().split())) for word in words)
    return next((severity for severity in known if severity), Severity.UNKNOWN)
