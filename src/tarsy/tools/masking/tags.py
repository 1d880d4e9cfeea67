"""Tags of masked values: within a session, the same secret has the same tag.

The key of a session is derived from that of the installation and stored nowhere, so that another process which resumes the session gives the
same tags. A reader of the session, who has no key, cannot test guesses of a secret against its tag.
"""

import base64
import hmac

from tarsy.domain.tool import Tag

# 32,768 tags: two of twenty secrets of a session share one with a probability of 0.6 %, and a tag reveals 15 bits at most.
_LENGTH = 3


def session_tag(installation_key: bytes, nonce: str) -> Tag:
    """Return the function that gives the secrets of a session their tags; its forks have the same nonce, and so the same tags."""
    key = hmac.digest(installation_key, f"masking/{nonce}".encode(), "sha256")

    def tag(secret: str) -> str:
        digest = hmac.digest(key, secret.encode(errors="surrogatepass"), "sha256")
        return base64.b32encode(digest)[:_LENGTH].decode().lower()

    return tag
