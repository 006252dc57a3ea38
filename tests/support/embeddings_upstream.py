"""An upstream with ``/v1/embeddings``, over HTTP.

Its vectors depend on a text alone; around them is OpenAI's wire with its limits. Tests bring the expectations.

A vector counts the text's character trigrams by their hash, as real numbers. Words of one topic are one word to it, so that it
knows that skiing is a hobby, as a model would; it knows nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
import threading
from collections.abc import Callable
from itertools import count
from typing import Any, Final
from zlib import crc32

from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Handler, Seen, UpstreamServer, reply
from tests.support.recall_history import UNCOUNTED

DIMENSION: Final = 96
_TOPIC: Final = re.compile(r"\b(?:hobby|hobbies|skiing|pottery|pastimes|leisure)\b", re.IGNORECASE)
_MOST_INPUTS, _MOST_TOKENS, _MOST_INPUT_TOKENS = 2048, 300_000, 8192


def vector(text: str, dimension: int) -> list[float]:
    """Its trigrams, those of a topic's words counting ten times."""
    found = [0.0] * dimension
    plain = _TOPIC.sub("leisuretime" * 10, text.lower())
    for i in range(len(plain) - 2):
        at = crc32(plain[i : i + 3].encode())
        found[at % dimension] += 1.0 if at & 1024 else -1.0
    size = sum(one * one for one in found) ** 0.5 or 1.0
    return [one / size for one in found]


def tokens(text: str) -> int:
    """What this upstream charges for a text."""
    return max(1, len(text) // 4)


_NUMBERS: Final = count()


class EmbeddingsUpstream:
    """Serves chats and embeddings; a test sets how.

    Attributes:
        status: of embeddings.
        headers: sent with them.
        delay: seconds that they take.
        most_inputs: texts of one call that it takes.
        takes_base64: whether it knows the field ``encoding_format``.
        answers: while it is not set, no call for embeddings is answered.
        refused: a text with these words makes it refuse the whole call.
        spoil: changes the answer's value.
        chat: answers everything else.
        path: of this one's URLs.
    """

    def __init__(self, server: UpstreamServer) -> None:
        self.server = server
        self.path = f"/test-{next(_NUMBERS)}"
        self.status, self.delay, self.takes_base64 = 200, 0.0, True
        self.answers = threading.Event()
        self.answers.set()
        self.refused = "\0"
        self.most_inputs = _MOST_INPUTS
        self.headers: list[tuple[bytes, bytes]] = []
        self.spoil: Callable[[dict[str, Any]], Any] = lambda value: value
        self.chat: Handler = reply(UNCOUNTED)
        server.handler = self.handle

    @property
    def root(self) -> str:
        """A URL of this test alone: a proxy of an earlier one may be cut off in the middle of a call."""
        return self.server.origin + self.path

    @property
    def url(self) -> str:
        """The base URL."""
        return self.root + "/v1"

    @property
    def _seen(self) -> list[Seen]:
        return [seen for seen in self.server.seen if seen.target.startswith(self.path)]

    @property
    def calls(self) -> list[Seen]:
        """Calls for embeddings."""
        return [seen for seen in self._seen if "/embeddings" in seen.target]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """Their bodies."""
        return [json.loads(seen.body) for seen in self.calls]

    @property
    def texts(self) -> list[str]:
        """All that was sent to be embedded."""
        return [text for body in self.bodies for text in body["input"]]

    @property
    def chats(self) -> list[Seen]:
        """Everything else."""
        return [seen for seen in self._seen if "/embeddings" not in seen.target]

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Any request."""
        seen = self.server.seen[-1]
        if "/embeddings" not in seen.target:
            await self.chat(scope, receive, send)
            return
        asked = json.loads(seen.body)
        await asyncio.sleep(self.delay)
        while not self.answers.is_set():  # noqa: ASYNC110 - set in another thread
            await asyncio.sleep(0.005)
        status, value = (self.status, {"error": {"message": "no"}}) if self.status != 200 else self._answer(asked)
        content = (b"content-type", b"application/json")
        await reply(json.dumps(value).encode(), status=status, headers=[content, *self.headers])(scope, receive, send)

    def _answer(self, asked: dict[str, Any]) -> tuple[int, Any]:
        texts, form = asked["input"], asked.get("encoding_format", "float")
        sizes = [len(text.encode()) for text in texts]  # at least as many as tokens, as a proxy that counts none has to count
        too_much = len(texts) > self.most_inputs or sum(sizes) > _MOST_TOKENS or max(sizes) > _MOST_INPUT_TOKENS
        if too_much or "" in texts or any(self.refused in text for text in texts) or (form == "base64" and not self.takes_base64):
            return 400, {"error": {"message": "invalid input", "type": "invalid_request_error"}}
        rows = [vector(text, asked.get("dimensions", DIMENSION)) for text in texts]
        given = [base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode() if form == "base64" else row for row in rows]
        data = [{"object": "embedding", "index": i, "embedding": one} for i, one in enumerate(given)]
        paid = sum(map(tokens, texts))
        usage = {"prompt_tokens": paid, "total_tokens": paid}
        return 200, self.spoil({"object": "list", "data": data, "model": asked["model"], "usage": usage})
