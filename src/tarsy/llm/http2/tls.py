"""How to trust a service over TLS, and how to be trusted by it."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import certifi

ROOTS = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"


@dataclass(frozen=True, slots=True)
class ClientTLS:
    """The authorities that browsers know (GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names others), or the one in `ca`; a certificate to show if
    the service asks for one.
    """

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def context(self, env: Mapping[str, str]) -> ssl.SSLContext:
        """Read the files, each time anew: certificates are replaced while we run.

        Raises:
            OSError: one of them cannot be read.
        """
        context = ssl.create_default_context(cafile=str(self.ca or env.get(ROOTS) or certifi.where()))
        context.set_alpn_protocols(["h2"])
        # As strict as gRPC, no more and no less, whatever the version of Python makes of its defaults: private authorities depend on it.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.certificate is not None:
            context.load_cert_chain(self.certificate, self.key)
        return context
