"""Trusted authorities and the client certificate for upstream connections.

This module makes the TLS context from the settings, and says in one line what is wrong with their files. It opens no connection.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from turnfold.config.settings import UpstreamSettings
from turnfold.config.sources import SettingsError


def tls_context(settings: UpstreamSettings) -> ssl.SSLContext | None:
    """The context; None if nothing is set and the system's own authorities apply.

    Raises:
        SettingsError: a file is missing or is not what it should be; names the setting and the file.
    """
    if settings.client_key is not None and settings.client_certificate is None:
        raise SettingsError("TURNFOLD_UPSTREAM_CLIENT_KEY: needs TURNFOLD_UPSTREAM_CLIENT_CERTIFICATE too")
    if settings.ca_bundle is None and settings.client_certificate is None:
        return None
    context = ssl.create_default_context()
    if settings.ca_bundle is not None:
        _trust(context, settings.ca_bundle)
    if settings.client_certificate is not None:
        _show(context, settings, settings.client_certificate)
    return context


def _readable(variable: str, file: Path) -> Path:
    try:
        with file.open("rb"):
            return file
    except OSError as exc:
        raise SettingsError(f"{variable}: cannot read {str(file)!r}: {(exc.strerror or str(exc)).lower()}") from exc


def _trust(context: ssl.SSLContext, bundle: Path) -> None:
    variable = "TURNFOLD_UPSTREAM_CA_BUNDLE"
    # OpenSSL takes a directory only with names made by c_rehash; here the files' names do not matter.
    files = sorted(file for file in bundle.iterdir() if file.is_file()) if bundle.is_dir() else [bundle]
    if not files:
        raise SettingsError(f"{variable}: there is no file in {str(bundle)!r}")
    for file in files:
        try:
            context.load_verify_locations(cafile=_readable(variable, file))
        except ssl.SSLError as exc:
            raise SettingsError(f"{variable}: {str(file)!r} holds no certificates in PEM") from exc


def _show(context: ssl.SSLContext, settings: UpstreamSettings, certificate: Path) -> None:
    variable = "TURNFOLD_UPSTREAM_CLIENT_CERTIFICATE"
    password = settings.client_key_password.get_secret_value() if settings.client_key_password else ""
    _readable(variable, certificate)
    key = settings.client_key and _readable("TURNFOLD_UPSTREAM_CLIENT_KEY", settings.client_key)
    try:
        # With a password of its own OpenSSL asks for none on the terminal, where nobody may sit.
        context.load_cert_chain(certificate, key, password=password)
    except ssl.SSLError as exc:
        why = "not valid PEM"  # the only information from OpenSSL
        if "MISMATCH" in str(exc):
            why = "the key does not belong to the certificate"
        elif b"ENCRYPTED" in (key or certificate).read_bytes():
            why = "TURNFOLD_UPSTREAM_CLIENT_KEY_PASSWORD is missing or wrong"
        raise SettingsError(f"{variable}: {str(certificate)!r} and its key cannot be used: {why}") from exc
