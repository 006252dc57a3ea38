"""Values sealed with AES-256-GCM.

The form of a sealed value, keys and their rotation. ``store.sealed`` decides what is sealed. This module needs the package
cryptography, an extra.

A sealed value is a mark, four bytes that name its key, a random nonce, and what AES-GCM makes of the value (NIST SP 800-38D). The
associated data is the place where it belongs, so that a value that was moved to another one does not open.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from turnfold.proxy.sealing.marks import MARK

_NAME: Final = 4
_NONCE: Final = 12


def _name(key: bytes) -> bytes:
    """What names a key in a value, and tells nothing of it."""
    return sha256(b"turnfold key name" + key).digest()[:_NAME]


class Cipher:
    """Seals with the first key, opens with any.

    Args:
        keys: of 32 bytes each.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._first = _name(keys[0])
        self._keys = {_name(key): AESGCM(key) for key in keys}

    def seal(self, place: bytes, value: bytes) -> bytes:
        """The value in sealed form, different each time."""
        nonce = os.urandom(_NONCE)
        return MARK + self._first + nonce + self._keys[self._first].encrypt(nonce, value, place)

    def open(self, place: bytes, sealed: bytes) -> bytes | None:
        """The value; None where no key opens it, or it belongs to another place."""
        body = sealed[len(MARK) :]
        cipher = self._keys.get(body[:_NAME])
        nonce = body[_NAME : _NAME + _NONCE]
        if cipher is None or len(nonce) < _NONCE:
            return None
        try:
            return cipher.decrypt(nonce, body[_NAME + _NONCE :], place)
        except InvalidTag:
            return None
