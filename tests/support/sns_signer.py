"""Messages signed as SNS signs them, with a key and a certificate of our own."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from tarsy.intake.fields import Fields
from tarsy.intake.sns import string_to_sign


@dataclass(frozen=True)
class Signer:
    key: rsa.RSAPrivateKey
    certificate: bytes

    def sign(self, body: Mapping[str, str], version: str) -> Fields:
        signed = string_to_sign(Fields(body))
        assert signed
        algorithm = hashes.SHA1() if version == "1" else hashes.SHA256()  # noqa: S303 - SNS's choice
        signature = self.key.sign(signed, padding.PKCS1v15(), algorithm)
        return Fields({**body, "SignatureVersion": version, "Signature": base64.b64encode(signature).decode()})


def new_signer(now: datetime) -> Signer:
    """A signer whose certificate is valid for a day."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return Signer(key, certificate.public_bytes(serialization.Encoding.PEM))
