"""What clients call their sessions.

This module knows where clients put such names and which of them may be stored. Nothing may depend on them, since a client may
send whatever it likes; the names that Turnfold gives conversations are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from turnfold.compression.wire.conversation import Conversation
from turnfold.proxy.http.shapes import looks_like_a_key
from turnfold.proxy.http.tenancy import CREDENTIALS, GATEWAY_KEYS

#: Headers, the most specific first: Claude Code's, current Codex's, earlier Codex's.
_HEADERS: Final = ("x-claude-code-session-id", "session-id", "session_id", "conversation_id")
_HEADER_BYTES: Final = frozenset(map(str.encode, _HEADERS))
_SETTINGS: Final = ("prompt_cache_key", "metadata")
_CREDENTIALS: Final = frozenset(map(bytes.decode, (*CREDENTIALS, *GATEWAY_KEYS)))
_LONGEST: Final = 200


def session_of(headers: Iterable[tuple[str, str]], conversation: Conversation | None) -> str:
    """The name that a client gave its session, printable and at most 200 characters long; "" if it gave none.

    Args:
        headers: the request's headers, names in lower case.
        conversation: the request as read; None where it was not.
    """
    sent = dict(headers)
    secrets = [value.rpartition(" ")[2] for name, value in sent.items() if name in _CREDENTIALS]
    for name in (*(sent.get(name) for name in _HEADERS), *(_in_body(conversation) if conversation else ())):
        label = _printable(name)
        if label and not looks_like_a_key(label) and not any(secret and secret in label for secret in secrets):
            return label
    return ""


def may_name_a_session(headers: Iterable[tuple[bytes, bytes]], conversation: Conversation | None) -> bool:
    """Whether the request has anything that `session_of` would read; most requests do not."""
    if conversation is not None and any(key in conversation.settings for key in _SETTINGS):
        return True
    return not _HEADER_BYTES.isdisjoint([name for name, _ in headers])


def _in_body(conversation: Conversation) -> Iterator[Any]:
    yield conversation.settings.get("prompt_cache_key")
    metadata = conversation.settings.get("metadata")
    if isinstance(metadata, dict):
        yield metadata.get("user_id")


def _printable(name: Any) -> str:
    return "".join(filter(str.isprintable, name[: 4 * _LONGEST]))[:_LONGEST].strip() if isinstance(name, str) else ""
