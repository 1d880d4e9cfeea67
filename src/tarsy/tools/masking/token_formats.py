"""Tokens of known format, which are tokens wherever they occur.

Each format is that of the vendor's documentation. Formats without a distinctive part (a digest would match as well) are missing here: their
names tell them apart, see `assignments`.
"""

import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from tarsy.tools.masking.text_views import Alphabet, TaggedText


@dataclass(frozen=True, slots=True)
class TokenFormat:
    """A token format, and a literal that every token of it contains; without the literal, the format is not tried."""

    literal: str
    pattern: str
    # Of the replacement.
    name: str

    def masked(self, run: str, label: Callable[[str, str], str]) -> str:
        # Compiled when the literal first occurs: compiling all at once would block the event loop for a tenth of a second.
        return re.sub(self.pattern, lambda found: label(self.name, found.group()), run) if self.literal in run else run


_TOKEN, _API_KEY = "token", "api_key"

# A token does not begin in the middle of a word; an escape before it, as in JSON or a URL, is not part of a word.
_BEGINS = (r"(?<![A-Za-z0-9]{})", r"(?<=\\[nrtbf]{})", r"(?<=\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f]{})", r"(?<=%[0-9A-Fa-f][0-9A-Fa-f]{})")


def _beginning(literal: str = "") -> str:
    """Return an expression for a literal where a token may begin. The literal comes first, so that the matcher can skip to it."""
    return literal + f"(?:{'|'.join(begin.replace('{}', literal) for begin in _BEGINS)})"


# The prefix of a token (several with the same body are separated by spaces), its body, and its replacement.
_PREFIXED = (
    ("AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", "aws_access_key"),
    ("A3T", r"[A-Z0-9]{17}(?![A-Za-z0-9])", "aws_access_key"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9_]{36,255}", "github_token"),
    ("github_pat_", r"[A-Za-z0-9_]{22,255}", "github_token"),
    (
        "glpat- gldt- glft- glsoat- glrt- glcbt- glimt- glptt- glagent- gloas- glffct- glrtr-",
        r"[A-Za-z0-9_-]{20,}(?:\.[a-z0-9.]{7,12})?",
        _TOKEN,
    ),
    ("GR1348941", r"[A-Za-z0-9_-]{20,50}", _TOKEN),
    ("xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxb- xoxe.xoxp-", r"[A-Za-z0-9%-]{12,}", "slack_token"),
    ("xapp-", r"\d-[A-Za-z0-9-]{20,}", "slack_token"),
    ("AIza", r"[A-Za-z0-9_-]{35}", _API_KEY),
    ("ya29.", r"[A-Za-z0-9_-]{20,}", _TOKEN),
    ("GOCSPX-", r"[A-Za-z0-9_-]{20,}", _TOKEN),
    ("sk-ant- sk-proj- sk-or-v1- sk-svcacct- sk-admin- sk-lf-", r"[A-Za-z0-9_-]{20,}", _API_KEY),
    # Without a vendor's name: one word with a digit, or the name of a library would be one.
    ("sk-", r"(?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{20,}(?![\w-])", _API_KEY),
    ("xai- pplx-", r"[A-Za-z0-9]{40,}", _API_KEY),
    ("gsk_", r"[A-Za-z0-9]{40,}", _API_KEY),
    ("hf_ api_org_", r"[A-Za-z0-9]{30,}", _TOKEN),
    ("r8_", r"[A-Za-z0-9]{37}", _TOKEN),
    ("npm_ pnu_", r"[A-Za-z0-9]{36}", _TOKEN),
    ("pypi-AgEIcHlwaS5vcmc pypi-AgENdGVzdC5weXBpLm9yZw", r"[A-Za-z0-9_-]{50,}", _TOKEN),
    ("rubygems_", r"[a-f0-9]{48}", _API_KEY),
    ("CLOJARS_", r"[A-Za-z0-9]{60}", _TOKEN),
    ("dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}", _TOKEN),
    ("shpat_ shpca_ shppa_ shpss_", r"[a-fA-F0-9]{32}", _TOKEN),
    ("sq0atp- sq0csp- sq0idp-", r"[A-Za-z0-9_-]{22,60}", _TOKEN),
    ("glsa_", r"[A-Za-z0-9]{32}_[a-fA-F0-9]{8}", _TOKEN),
    ("glc_", r"[A-Za-z0-9+/]{32,400}={0,3}", _TOKEN),
    ("hvs. hvb.", r"[A-Za-z0-9_-]{24,}", _TOKEN),
    ("dckr_pat_ dckr_oat_", r"[A-Za-z0-9_-]{20,}", _TOKEN),
    ("sha256~", r"[A-Za-z0-9_-]{43}", _TOKEN),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{58}", "private_key"),
    ("SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}", _TOKEN),
    ("sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_", r"[A-Za-z0-9]{20,}", _TOKEN),
    ("whsec_", r"[A-Za-z0-9+/=]{24,}", _TOKEN),
    ("sntrys_ sntryu_", r"[A-Za-z0-9+/=_-]{40,}", _TOKEN),
    ("lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,}", _TOKEN),
    ("ntn_", r"[A-Za-z0-9]{40,}", _TOKEN),
    ("NRAK- NRJS- NRII- NRAA-", r"[A-Za-z0-9_-]{19,40}", _API_KEY),
    ("ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_=-]{20,}", _TOKEN),
    ("PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}", _API_KEY),
    ("xkeysib- xsmtpsib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}", _API_KEY),
    ("key-", r"[a-f0-9]{32}(?![\w-])", _API_KEY),
    ("dapi", r"[a-f0-9]{32}(?:-\d)?(?!\w)", _TOKEN),
    ("dt0c01. dt0s01. dt0s16.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}", _TOKEN),
    ("pul-", r"[a-f0-9]{40}(?!\w)", _TOKEN),
    ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", _TOKEN),
    ("HRKU-", r"[A-Za-z0-9_-]{36,}", _API_KEY),
    ("fo1_ fm1r_ fm1a_ fm2_", r"[A-Za-z0-9_+/-]{40,}={0,3}", _TOKEN),
    ("pscale_tkn_ pscale_oauth_ pscale_pw_", r"[A-Za-z0-9_=.-]{32,64}", _TOKEN),
    ("sbp_", r"[a-f0-9]{40}(?!\w)", _TOKEN),
    ("sgp_", r"(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}(?!\w)", _TOKEN),
    ("AKCp", r"[A-Za-z0-9]{69}(?!\w)", _API_KEY),
    ("cmVmd", r"[A-Za-z0-9]{59}(?!\w)", _TOKEN),
    ("LTAI", r"[A-Za-z0-9]{16,20}(?!\w)", "api_key"),
    ("A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?!\w)", "secret_key"),
    ("ops_eyJ", r"[A-Za-z0-9+/]{100,}={0,3}", _TOKEN),
    ("EZAK EZTK", r"[A-Za-z0-9]{54}(?!\w)", _API_KEY),
    ("p8e-", r"[A-Za-z0-9]{32}(?!\w)", _TOKEN),
    ("duffel_live_ duffel_test_ shippo_live_ shippo_test_", r"[A-Za-z0-9_=-]{40,43}", _TOKEN),
    ("ico-", r"[A-Za-z0-9]{32}(?![\w-])", _API_KEY),
    ("rdme_", r"[a-z0-9]{70}", _API_KEY),
    ("tk-us-", r"[A-Za-z0-9_-]{48}", _TOKEN),
    ("tfp_", r"[A-Za-z0-9_.=-]{40,}", _TOKEN),
    ("fio-u-", r"[A-Za-z0-9_=-]{64}", _TOKEN),
    ("dnkey-", r"[A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}", _API_KEY),
    ("phc_ phx_", r"[A-Za-z0-9]{40,}", _API_KEY),
    ("FLWSECK_TEST- FLWSECK-", r"[A-Za-z0-9]{12,32}(?:-X)?", _TOKEN),
    ("sm_aat_ sm_pat_ sm_sat_", r"[A-Za-z0-9]{16,}", _TOKEN),
    ("access-production- access-development- access-sandbox-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", _TOKEN),
    ("v1.0-", r"[a-f0-9]{24}-[a-f0-9]{146}", _API_KEY),
    ("EAAA EAAM EAAC", r"[A-Za-z0-9_-]{60,}", _TOKEN),
)

# Tokens with a distinctive part in the middle: that part, the whole expression, and the replacement.
_MARKED = (
    ("hooks.slack.com/", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/+-]{20,}", "slack_token"),
    ("/services/T", r"(?<=/services/)T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}", "slack_token"),
    ("AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/=]{60,}", _TOKEN),
    ("_authToken=", r"(?<=_authToken=)[^\s\"'\[]{8,}", _TOKEN),
    ("/api/webhooks/", r"(?<=/api/webhooks/)\d{15,20}/[A-Za-z0-9_-]{50,}", _TOKEN),
    ("%2Fapi%2Fwebhooks%2F", r"(?<=%2Fapi%2Fwebhooks%2F)\d{15,20}%2F[A-Za-z0-9_-]{50,}", _TOKEN),
    ("%2Fservices%2F", r"(?<=%2Fservices%2F)T[A-Z0-9]{8,}%2FB[A-Z0-9]{8,}%2F[A-Za-z0-9]{20,}", "slack_token"),
    ("/IncomingWebhook/", r"(?<=/IncomingWebhook/)[a-f0-9]{32}/[a-f0-9-]{36}(?:/[\w-]{20,})?", _TOKEN),
    ("%2FIncomingWebhook%2F", r"(?<=%2FIncomingWebhook%2F)[a-f0-9]{32}%2F[a-f0-9-]{36}", _TOKEN),
    (".atlasv1.", rf"{_beginning()}[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,70}}", _TOKEN),
    ("Q~", rf"{_beginning()}[A-Za-z0-9_~.]{{3}}\dQ~[A-Za-z0-9_~.-]{{31,34}}(?![\w~-])", "secret_key"),
    ("_mmk", rf"{_beginning()}[A-Za-z0-9]{{6}}_[A-Za-z0-9]{{29}}_mmk", _API_KEY),
    ("T3BlbkFJ", rf"{_beginning('sk-')}[A-Za-z0-9_-]{{20,200}}T3BlbkFJ[A-Za-z0-9_-]{{20,}}", _API_KEY),
)

# Formats with little that is distinctive count only as a run of their own: inside a longer run they are a coincidence.
_ALONE = r"(?:(?<![\w./+-])|(?<=\\[nrtbf]))"
_BARE = (
    ("-us", r"[0-9a-f]{32}-us\d{1,2}", _API_KEY),
    (":AA", r"\d{8,10}:AA[\w-]{33}", _TOKEN),
    ("AC", r"AC[a-f0-9]{32}", _TOKEN),
    ("SK", r"SK[a-f0-9]{32}", _API_KEY),
)

# Every token is a long run of such characters, and only these runs are searched. Escapes belong to their run.
_TOKEN_CHARACTERS = Alphabet(string.ascii_letters + string.digits + "_.:~+/=%\\-")
_SHORTEST = 20
# In a longer run, searching each literal is faster than one expression for all of them.
_LONG = 1024
_RUN = re.compile(rf"[A-Za-z0-9_.:~+/=%\\-]{{{_SHORTEST},}}+")


KNOWN_FORMATS = (
    *(TokenFormat(literal, pattern, name) for literal, pattern, name in _MARKED),
    *(TokenFormat(prefix, _beginning(re.escape(prefix)) + body, name) for prefixes, body, name in _PREFIXED for prefix in prefixes.split()),
    *(TokenFormat(literal, rf"{_ALONE}(?:{pattern})(?![\w/+-])", name) for literal, pattern, name in _BARE),
)
# Grouped by their first letter, so that the matcher tries one branch per letter instead of one per format.
_LITERALS = groupby(sorted({known.literal for known in KNOWN_FORMATS}), key=lambda literal: literal[0])
_ANY_LITERAL = re.compile("|".join(f"(?:{'|'.join(map(re.escape, group))})" for _, group in _LITERALS))


def mask_known_formats(tagged: TaggedText) -> str:
    runs = _TOKEN_CHARACTERS.runs(tagged.text, at_least=_SHORTEST)
    suspects = [run for run in runs if len(run) > _LONG or _ANY_LITERAL.search(run)]
    masked: dict[str, str] = {}
    for run in suspects:
        shown = run
        for format_ in KNOWN_FORMATS:
            shown = format_.masked(shown, tagged.label)
        if shown != run:
            masked[run] = shown
    return _RUN.sub(lambda found: masked.get(found.group(), found.group()), tagged.text) if masked else tagged.text
