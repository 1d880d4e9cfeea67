"""Tokens of known format: formats that mean a token wherever they stand. Pure module.

detect-secrets knows most of them; newer ones are written down here. Its entropy and keyword detectors are not used: they take every digest and
every object name for a secret.
"""

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from tarsy.tools.masking.runs import Alphabet
from tarsy.tools.masking.values import label

if TYPE_CHECKING:
    from detect_secrets.plugins.base import RegexBasedDetector


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """A token format, and what to probe a text for before the format is tried: expressions that begin with a literal."""

    probes: tuple[str, ...]
    pattern: re.Pattern[str]
    mark: str


_NEWER = (
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}", label("github_token")),
    ("xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}", label("slack_token")),
    ("AIza", r"AIza[A-Za-z0-9_-]{35}", label("api_key")),
    ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}", label("token")),
    ("GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}", label("token")),
    ("sk-", r"(?<![\w-])sk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{24,}", label("api_key")),
    ("xai-", r"(?<![\w-])xai-[A-Za-z0-9]{40,}", label("api_key")),
    ("gsk_", r"(?<!\w)gsk_[A-Za-z0-9]{40,}", label("api_key")),
    ("hf_", r"(?<!\w)hf_[A-Za-z0-9]{30,}", label("token")),
    ("npm_", r"(?<!\w)npm_[A-Za-z0-9]{36}", label("token")),
    ("_authToken=", r"(?<=_authToken=)[^\s\"'\[]{8,}", label("token")),
    ("dop_v1_", r"dop_v1_[a-f0-9]{64}", label("token")),
    ("shpat_", r"shpat_[a-fA-F0-9]{32}", label("token")),
    ("glsa_", r"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}", label("token")),
    ("hvs.", r"(?<!\w)hvs\.[A-Za-z0-9_-]{24,}", label("token")),
    ("dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,}", label("token")),
    ("sha256~", r"sha256~[A-Za-z0-9_-]{43}", label("token")),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}", label("private_key")),
    ("sk_test_", r"(?<!\w)[sr]k_test_[A-Za-z0-9]{20,}", label("token")),
    ("whsec_", r"(?<!\w)whsec_[A-Za-z0-9+/=]{24,}", label("token")),
    ("sntrys_", r"sntrys_[A-Za-z0-9+/=_-]{40,}", label("token")),
    ("lin_api_", r"lin_api_[A-Za-z0-9]{32,}", label("token")),
    ("/api/webhooks/", r"(?<=/api/webhooks/)\d{15,20}/[A-Za-z0-9_-]{50,}", label("token")),
    ("NRAK-", r"NRAK-[A-Z0-9]{27}", label("api_key")),
    ("ATATT3", r"ATATT3[A-Za-z0-9_=-]{20,}", label("token")),
    ("PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", label("api_key")),
)


_GITLAB = ("glpat-", "gldt-", "glft-", "glsoat-", "glrt-", "GR1348941", "glcbt-", "glimt-", "glptt-", "glagent-", "gloas-")


# Every token is a long run of such characters; only in those runs its literal is looked for.
_TOKEN_CHARACTERS = Alphabet(string.ascii_letters + string.digits + "_.:~+/=-")
_SHORTEST = 20
_RUN = re.compile(rf"[A-Za-z0-9_.:~+/=-]{{{_SHORTEST},}}+")


def mask_known_formats(text: str) -> str:
    probe = _probe()
    masked = {run: _masked(run) for run in _TOKEN_CHARACTERS.runs(text, at_least=_SHORTEST) if probe.search(run) is not None}
    if all(run == shown for run, shown in masked.items()):
        return text
    return _RUN.sub(lambda found: masked.get(found.group(), found.group()), text)


def _masked(run: str) -> str:
    for format_ in known_formats():
        run = format_.pattern.sub(format_.mark, run)
    return run


@cache
def _probe() -> re.Pattern[str]:
    # Every branch begins with a literal: only then the matcher skips ahead. Formats share literals; each is tried once.
    return re.compile("|".join(sorted({probe for format_ in known_formats() for probe in format_.probes})))


@cache
def known_formats() -> tuple[TokenFormat, ...]:
    return (*_detectors(), *(TokenFormat((re.escape(literal),), re.compile(pattern), mark) for literal, pattern, mark in _NEWER))


def _detectors() -> Iterator[TokenFormat]:
    """What detect-secrets knows, as far as it is unmistakable."""
    from detect_secrets.plugins import (  # noqa: PLC0415 - heavy, imported on first use
        aws,
        azure_storage_key,
        github_token,
        gitlab_token,
        mailchimp,
        pypi_token,
        sendgrid,
        slack,
        square_oauth,
        stripe,
        telegram_token,
        twilio,
    )

    token, slack_token = label("token"), label("slack_token")
    # Only the first format: the other one is a keyword search.
    access_key = _formats(aws.AWSKeyDetector())[0]
    yield TokenFormat(("AKIA", "ASIA", "ABIA", "ACCA", "A3T"), access_key, label("aws_access_key"))
    yield from _token_formats(github_token.GitHubTokenDetector(), ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), label("github_token"))
    yield from _token_formats(slack.SlackDetector(), ("xox", "XOX", "hooks.slack.com"), slack_token)
    yield from _token_formats(azure_storage_key.AzureStorageKeyDetector(), ("AccountKey=",), token)
    yield from _token_formats(gitlab_token.GitLabTokenDetector(), _GITLAB, token)
    yield from _token_formats(pypi_token.PypiTokenDetector(), ("pypi-AgE",), token)
    yield from _token_formats(sendgrid.SendGridDetector(), ("SG.",), token)
    yield from _token_formats(square_oauth.SquareOAuthDetector(), ("sq0csp-",), token)
    yield from _token_formats(stripe.StripeDetector(), ("k_live_",), token)
    yield from _alone(mailchimp.MailchimpDetector(), (r"-us\d",), token)
    yield from _alone(telegram_token.TelegramBotTokenDetector(), (r":AA[\w-]{33}",), token)
    yield from _alone(twilio.TwilioKeyDetector(), ("AC[a-z0-9]{32}", "SK[a-z0-9]{32}"), token)


def _token_formats(detector: "RegexBasedDetector", literals: tuple[str, ...], mark: str) -> Iterator[TokenFormat]:
    probes = tuple(re.escape(literal) for literal in literals)
    return (TokenFormat(probes, pattern, mark) for pattern in _formats(detector))


def _alone(detector: "RegexBasedDetector", probes: tuple[str, ...], mark: str) -> Iterator[TokenFormat]:
    """Formats with hardly a literal count only where they stand alone: inside a longer run they are a coincidence."""
    for pattern in _formats(detector):
        yield TokenFormat(probes, re.compile(rf"(?<![\w./+-])(?:{pattern.pattern})(?![\w/+-])"), mark)


def _formats(detector: Any) -> tuple[re.Pattern[str], ...]:
    # Any: the library's own annotation leaves the patterns' type open.
    return tuple(detector.denylist)
