"""A masker applies the rules of a server's configuration, in an order in which they do not interfere."""

import re
from collections.abc import Callable, Iterable
from copy import copy
from functools import cache

from tarsy.config.resolve.resolved import ResolvedMasking
from tarsy.config.schema.mcp_servers import GROUPS, PATTERNS
from tarsy.domain.tool import Tag
from tarsy.tools.masking import patterns
from tarsy.tools.masking.assignments import AssignmentMasker
from tarsy.tools.masking.kubernetes import mask_kubernetes_secrets
from tarsy.tools.masking.secret_json import MENTIONS
from tarsy.tools.masking.stream import BEFORE_SECRETS, StreamMasker
from tarsy.tools.masking.text_views import Prefilter, Rule, TaggedText
from tarsy.tools.masking.token_formats import mask_known_formats

# Returns secrets that we got from others while the masker is in use, e.g. access tokens.
Obtained = Callable[[], Iterable[str]]

# A rule, and literals of which one is in every text that it changes; a rule without literals masks long words only.
ListedRule = tuple[Rule, tuple[str, ...]]

# Unmistakable secrets, which are masked with every configuration.
ALWAYS_MASKED: tuple[ListedRule, ...] = (
    (mask_kubernetes_secrets, MENTIONS),
    (patterns.mask_private_keys, patterns.PRIVATE_KEYS),
    (mask_known_formats, ()),
    (patterns.mask_connection_strings, patterns.CONNECTION_STRINGS),
    (patterns.mask_password_hashes, patterns.PASSWORD_HASHES),
)

_RULES: dict[str, ListedRule] = {
    "certificate": (patterns.mask_certificates, patterns.CERTIFICATES),
    "token": (patterns.mask_credentials, patterns.CREDENTIALS),
    "ssh_key": (patterns.mask_ssh_keys, patterns.SSH_KEYS),
}


class KnownRules:
    """The rules of some patterns and the floor. They keep no state, so that all maskers with the same patterns share them."""

    def __init__(self, names: frozenset[str]) -> None:
        assignments = AssignmentMasker(names)
        listed = [*ALWAYS_MASKED, *(rule for name, rule in _RULES.items() if name in names), (assignments.mask, assignments.literals)]
        if "email" in names:
            listed.append((patterns.mask_emails, patterns.EMAILS))
        if "base64_secret" in names:
            listed.append((patterns.encoded_secrets(Masker(names - {"base64_secret", "base64_short", "email"}).mask), ()))
        self._rules = tuple(rule for rule, _ in listed)
        literals = frozenset(literal for _, own in listed for literal in own)
        for_long_words = tuple(rule for rule, own in listed if not own)
        # Passes texts that none of the rules changes.
        self._prefilter = Prefilter(literals, for_long_words)
        # Passes texts without a secret that none may follow either.
        self.stream_prefilter = Prefilter(literals.union(BEFORE_SECRETS), for_long_words)

    def mask(self, tagged: TaggedText) -> str:
        return tagged.text if self._prefilter.passes(tagged.text) else _applied(self._rules, tagged)


@cache
def known_rules(names: frozenset[str]) -> KnownRules:
    return KnownRules(names)


class Masker:
    """Masks secrets in texts. Masking a masked text changes nothing."""

    def __init__(
        self,
        pattern_names: Iterable[str],
        *,
        custom: Iterable[tuple[str, str]] = (),
        literals: Iterable[str] = (),
        obtained: Obtained | None = None,
    ) -> None:
        self.tag: Tag | None = None
        names = frozenset(pattern_names)
        if unknown := names - frozenset(PATTERNS):
            # The configuration is checked, but another version of the program may have stored the chain of a session.
            raise ValueError(f"unknown masking pattern: {', '.join(sorted(unknown))}")
        self._rules: list[Rule] = [known_rules(names).mask]
        known = frozenset(literal for literal in literals if literal)
        if known or obtained is not None:
            self._rules.insert(0, _credentials(known, obtained or tuple))
        self._rules += [_substitution(pattern, replacement) for pattern, replacement in custom]

    @classmethod
    def for_server(cls, masking: ResolvedMasking, *, literals: Iterable[str] = (), obtained: Obtained | None = None) -> "Masker":
        """Return the masker of a server's configuration; `literals` are secrets that we know, `obtained` returns those we get later."""
        if not masking.enabled:
            return cls((), literals=literals, obtained=obtained)
        names = {*masking.patterns}
        for group in masking.pattern_groups:
            names.update(GROUPS[group])
        return cls(names, custom=masking.custom_patterns, literals=literals, obtained=obtained)

    @classmethod
    def for_group(cls, group: str) -> "Masker":
        return cls(GROUPS[group])

    def tagged(self, tag: Tag | None) -> "Masker":
        """Return the same masker with tags, by which masks can be compared."""
        masker = copy(self)
        masker.tag = tag
        return masker

    def mask(self, text: str) -> str:
        return _applied(self._rules, TaggedText(text, self.tag))

    __call__ = mask

    def stream(self, *, by_words: bool = True) -> StreamMasker:
        """Return a masker for one text that arrives in pieces."""
        # The prefilter does not know the patterns that a configuration adds.
        only_known = len(self._rules) == 1
        return StreamMasker(
            self.mask, by_words=by_words, prefilter=known_rules(frozenset(PATTERNS)).stream_prefilter if only_known else None
        )


class Unmasked:
    """Masks nothing, for installations that turned masking off."""

    def __call__(self, text: str) -> str:
        return text

    def tagged(self, tag: Tag | None) -> "Unmasked":
        del tag
        return self

    def stream(self) -> "Unmasked":
        return self

    def feed(self, piece: str) -> str:
        return piece

    def finish(self) -> str:
        return ""


def _applied(rules: Iterable[Rule], tagged: TaggedText) -> str:
    for rule in rules:
        tagged = TaggedText(rule(tagged), tagged.tag)
    return tagged.text


def _credentials(known: frozenset[str], obtained: Obtained) -> Rule:
    def mask(tagged: TaggedText) -> str:
        # The longest first: one may begin with another.
        present = sorted((secret for secret in known.union(obtained()) if secret in tagged.text), key=len, reverse=True)
        if not present:
            return tagged.text
        pattern = "|".join(re.escape(secret) for secret in present)
        return re.sub(pattern, lambda found: tagged.label("credential", found.group()), tagged.text)

    return mask


def _substitution(pattern: str, replacement: str) -> Rule:
    compiled = re.compile(pattern)
    return lambda tagged: compiled.sub(replacement, tagged.text)
