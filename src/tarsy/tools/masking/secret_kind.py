"""How a Kubernetes Secret is recognised, in whichever notation. Pure module."""

import re

from tarsy.tools.masking.values import label

MASK = label("kubernetes_secret")

PAYLOADS = ("data", "stringData")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The types a Secret has; an object without a kind but with one of these is a Secret whose kind was left out.
SECRET_TYPE = re.compile(
    r"Opaque|kubernetes\.io/(?:tls|basic-auth|ssh-auth|dockercfg|dockerconfigjson|service-account-token)|helm\.sh/release\.v1|bootstrap\.kubernetes\.io/token"
)

_MENTIONS = (
    "Secret",
    "Opaque",
    "kubernetes.io/tls",
    "kubernetes.io/docker",
    "kubernetes.io/basic-auth",
    "kubernetes.io/ssh-auth",
    "kubernetes.io/service-account-token",
    "helm.sh/release",
)


def mentions_secret(text: str) -> bool:
    """Whether a Secret may be in `text` at all."""
    return any(word in text for word in _MENTIONS)
