"""Certificates for tests: a root nobody trusts, a server on this machine, and a client."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM


def make_certificates(folder: Path) -> None:
    """``ca.pem``, and ``server`` and ``client``, each ``.pem`` and ``.key``; ``locked.key`` is the client's."""
    root = ec.generate_private_key(ec.SECP256R1())
    (folder / "ca.pem").write_bytes(_made("root", root, "root", root, True).public_bytes(_PEM))
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        made = _made(name, key, "root", root, False)
        (folder / f"{name}.pem").write_bytes(made.public_bytes(_PEM))
        (folder / f"{name}.key").write_bytes(_text(key, serialization.NoEncryption()))
    locked = serialization.BestAvailableEncryption(b"secret")
    (folder / "locked.key").write_bytes(_text(key, locked))


def _text(key: ec.EllipticCurvePrivateKey, how: serialization.KeySerializationEncryption) -> bytes:
    return key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, how)


def _made(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    by: str,
    signer: ec.EllipticCurvePrivateKey,
    is_root: bool,
) -> x509.Certificate:
    """From Python 3.13 on, chains are checked strictly: that needs the last three extensions."""
    now = datetime.now(UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    signer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(by))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(is_root, None), True)
        .add_extension(x509.SubjectAlternativeName([address]), False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        .add_extension(signer_id, False)
        .add_extension(_usage(is_root), True)
        .sign(signer, hashes.SHA256())
    )


def _usage(is_root: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_root, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=is_root, crl_sign=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
