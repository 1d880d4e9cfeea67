"""A masker is the rules a server's configuration asks for, in the order in which they do not disturb each other. Pure module."""

import re
from collections.abc import Callable, Iterable

from tarsy.config.resolve.resolved import ResolvedMasking
from tarsy.config.schema.masking import GROUPS, PATTERNS
from tarsy.tools.masking.assignments import AssignmentMasker
from tarsy.tools.masking.blocks import (
    encoded_secrets,
    mask_bearer,
    mask_certificates,
    mask_emails,
    mask_password_hashes,
    mask_private_keys,
    mask_ssh_keys,
)
from tarsy.tools.masking.connection_strings import mask_connection_strings
from tarsy.tools.masking.kubernetes import mask_kubernetes_secrets
from tarsy.tools.masking.stream import StreamMasker
from tarsy.tools.masking.text_views import Reading
from tarsy.tools.masking.token_formats import mask_known_formats
from tarsy.tools.masking.values import label

Rule = Callable[[Reading], str]

# Unmistakable, and never wanted: hidden whatever a configuration says.
FLOOR: tuple[Rule, ...] = (mask_private_keys, mask_known_formats, mask_connection_strings, mask_password_hashes)

_RULES: dict[str, Rule] = {
    "certificate": mask_certificates,
    "ssh_key": mask_ssh_keys,
    "token": mask_bearer,
}


class Masker:
    """Hides secrets in texts. Masking a masked text changes nothing."""

    def __init__(self, patterns: Iterable[str], *, custom: Iterable[tuple[str, str]] = (), literals: Iterable[str] = ()) -> None:
        names = frozenset(patterns)
        unknown = names - frozenset(PATTERNS)
        if unknown:
            raise ValueError(f"unknown masking pattern: {', '.join(sorted(unknown))}")
        self._rules = (*_literal_rule(literals), mask_kubernetes_secrets, *FLOOR, *_named_rules(names), *_custom_rules(custom))

    @classmethod
    def for_server(cls, masking: ResolvedMasking, *, literals: Iterable[str] = ()) -> "Masker":
        """The masker a server's configuration asks for; `literals` are secrets we know by heart."""
        if not masking.enabled:
            return cls((), literals=literals)
        names = {*masking.patterns}
        for group in masking.pattern_groups:
            names.update(_group(group))
        return cls(names, custom=masking.custom_patterns, literals=literals)

    @classmethod
    def for_group(cls, group: str) -> "Masker":
        return cls(_group(group))

    def mask(self, text: str) -> str:
        reading = Reading(text)
        for rule in self._rules:
            masked = rule(reading)
            if masked != reading.text:
                reading = Reading(masked)
        return reading.text

    __call__ = mask

    def stream(self, *, by_words: bool = True) -> StreamMasker:
        """Masks a text that comes in pieces."""
        return StreamMasker(self.mask, by_words=by_words)


class Unmasked:
    """Hides nothing, for those who said so."""

    def __call__(self, text: str) -> str:
        return text

    def stream(self) -> "Unmasked":
        return self

    def feed(self, piece: str) -> str:
        return piece

    def finish(self) -> str:
        return ""


def _group(name: str) -> tuple[str, ...]:
    if name not in GROUPS:
        raise ValueError(f"unknown masking group: {name}")
    return GROUPS[name]


def _named_rules(names: frozenset[str]) -> Iterable[Rule]:
    yield from (_RULES[name] for name in PATTERNS if name in names and name in _RULES)
    yield AssignmentMasker(names).mask
    if "email" in names:
        yield mask_emails
    if "base64_secret" in names:
        yield encoded_secrets(Masker(names - {"base64_secret", "base64_short", "email"}).mask)


def _custom_rules(custom: Iterable[tuple[str, str]]) -> Iterable[Rule]:
    for pattern, replacement in custom:
        compiled = re.compile(pattern)

        def rule(reading: Reading, compiled: re.Pattern[str] = compiled, replacement: str = replacement) -> str:
            return compiled.sub(replacement, reading.text)

        yield rule


def _literal_rule(literals: Iterable[str]) -> Iterable[Rule]:
    known = sorted({literal for literal in literals if literal}, key=len, reverse=True)
    if known:
        compiled = re.compile("|".join(re.escape(literal) for literal in known))
        yield lambda reading: compiled.sub(label("credential"), reading.text)
