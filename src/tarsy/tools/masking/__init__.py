"""Masks secrets in texts: named patterns, vendor token formats, Kubernetes Secrets. Linear in the size of the text, and idempotent."""

from tarsy.tools.masking.masker import Masker, Unmasked
from tarsy.tools.masking.stream import StreamMasker

__all__ = ["Masker", "StreamMasker", "Unmasked"]
