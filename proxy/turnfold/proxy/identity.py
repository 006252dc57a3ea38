"""Whether a Turnfold on this machine is the same user's, with the same settings.

The user's key, and the answer to a challenge. Over HTTP, ``routes.ops`` answers and ``running.sharing`` asks.

The answer is a keyed hash of the challenge, the version and every setting, including the port. The key is a file that only this
user can read, so another program on that port cannot answer, and gets no request with a credential in it. An answer reveals
nothing about the settings.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from importlib.metadata import version
from typing import Final

from pydantic import SecretStr

from turnfold.config.paths import state_directory
from turnfold.config.settings import Settings

_CHALLENGE: Final = re.compile(r"[0-9a-f]{32}")
_KEY_BYTES: Final = 32


def new_challenge() -> str:
    """A challenge that was never used."""
    return secrets.token_hex(16)


def read_key(*, create: bool = False) -> bytes | None:
    """The user's key; None if there is none, or it cannot be read or created."""
    try:
        path = state_directory() / "key"
        if create and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = path.with_name(f"key.{os.getpid()}")
            with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
            try:
                os.link(temporary, path)  # the first of several processes wins, and no process reads half a key
            except FileExistsError:
                pass
            finally:
                temporary.unlink()
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None


def proof(settings: Settings, key: bytes, challenge: str) -> str:
    """The answer of a Turnfold with these settings; how many processes serve, and what they log, makes no difference."""
    values = settings.model_dump()
    del values["server"]["workers"], values["log"]
    said = json.dumps([challenge, version("turnfold"), values], default=_plain, sort_keys=True)
    return hmac.digest(key, said.encode(), "sha256").hex()


def _plain(value: object) -> str:
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def answer(settings: Settings, challenge: str) -> str | None:
    """A server's answer to a challenge; None if it is not a challenge, or if the user has no key."""
    key = read_key() if _CHALLENGE.fullmatch(challenge) else None
    return None if key is None else proof(settings, key, challenge)
