"""State calls of the Python client.

Lives here: four calls over a client that somebody else made. Must not: making that client (base URL, tokens, time-outs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import quote

import httpx


class StateClient:
    """``/v1/state`` over an `httpx.Client` whose base URL is the proxy's root (without ``/v1``).

    Every call raises `httpx.HTTPStatusError` for an error answer; its body names the field.
    """

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def get(self, conversation: str) -> dict[str, Any]:
        """State, checkpoint, pending prompt and block of a conversation."""
        return self._call("GET", conversation)

    def put(self, conversation: str, state_or_checkpoint: Mapping[str, Any]) -> dict[str, Any]:
        """Set a conversation's state; it holds for all messages to come."""
        return self._call("PUT", conversation, dict(state_or_checkpoint))

    def delete(self, conversation: str) -> dict[str, Any]:
        """Forget what is kept; the state follows from the messages again."""
        return self._call("DELETE", conversation)

    def preview(
        self,
        user_input: str,
        *,
        conversation: str | None = None,
        state: Mapping[str, Any] | None = None,
        checkpoint: Mapping[str, Any] | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
        with_preprocessor: bool = False,
    ) -> dict[str, Any]:
        """What a message would do, on top of at most one of the four; nothing changes."""
        return self._call(
            "POST",
            "preview",
            {
                "input": user_input,
                "conversation": conversation,
                "state": state,
                "checkpoint": checkpoint,
                "messages": None if messages is None else list(messages),
                "with_preprocessor": with_preprocessor,
            },
        )

    def _call(self, method: str, name: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        response = self._http.request(method, f"/v1/state/{quote(name, safe='')}", json=body)
        return cast(dict[str, Any], response.raise_for_status().json())
