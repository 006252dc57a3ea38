"""Vectors of the messages of conversations, made in the background.

Lives here: what is to be made, in which order and at which pace, and what is remembered of it, in front of the store that
replicas share. Does not belong here: encoders, what vectors are used for (``likenesses``).

No request waits for any of this. Tenants take turns, one message at a time; after each piece of work there is a pause, so that
all of it takes no more than its share of one core.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from turnfold.compression.fold.likeness import language_of, passage_texts
from turnfold.compression.memo import Memo
from turnfold.compression.text.private import Redactor
from turnfold.compression.wire.conversation import Message
from turnfold.config.semantic import SemanticSettings
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.semantic.encoder import Encoder, EncoderFailed
from turnfold.proxy.semantic.vector_records import VectorRecords
from turnfold.proxy.store.base import Store, StoreError

_MEMORY: Final = 64 * 2**20  # bytes of vectors
_MOST_WAITING: Final = 16 * 2**20  # characters of messages
_AT_ONCE: Final = 8  # passages between two pauses
_LOOKED_UP: Final = 64  # messages that the store is asked for at once
_USUAL: Final = 110  # characters of a passage, about
_ENTRY: Final = 200  # bytes that a remembered value takes beside its own

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _WaitingText:
    """A message whose vectors are to be made."""

    key: bytes
    text: str = field(repr=False)
    conversation: str


class PassageVectors:
    """Vectors by tenant and message.

    Args:
        store: shares them between replicas.
    """

    def __init__(self, encoder: Encoder, store: Store, ttl: float, settings: SemanticSettings, incidents: Incidents) -> None:
        self.encoder = encoder
        self._records = VectorRecords(store, ttl, encoder.name, encoder.dimension)
        self._settings = settings
        self._incidents = incidents
        self._kept = Memo(_MEMORY)
        self._waiting: OrderedDict[str, OrderedDict[bytes, _WaitingText]] = OrderedDict()
        self._size = 0
        self._forgotten = 0
        self._work: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "turnfold-vectors")

    def forget_in_memory(self) -> None:
        """Forget all of them, and what waits."""
        self._kept.clear()
        self._waiting.clear()
        self._size = 0
        self._forgotten += 1

    async def close(self) -> None:
        """Stop."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        self._thread.shutdown(wait=False, cancel_futures=True)

    def begin(self, tenant: str, messages: Sequence[Message], conversation: str) -> None:
        """Have the vectors made that are missing, the oldest message's first; those beyond the bytes of a conversation are not.

        Args:
            conversation: its name, for the store.
        """
        missing = list(self._missing(tenant, messages))
        if not missing:
            return
        queue = self._waiting.setdefault(tenant, OrderedDict())
        redact = Redactor()  # a tag opened in one message may be closed in another
        private = {m.key for m in messages if redact(m.text) != m.text}
        for message in missing:
            size = len(message.text)
            if message.key in private:
                self._remember(tenant, message.key, b"")
            elif message.key not in queue and self._size + size <= _MOST_WAITING:
                queue[message.key] = _WaitingText(message.key, message.text, conversation)
                self._size += size
        if not queue:
            self._waiting.pop(tenant, None)
        if self._waiting and (self._work is None or self._work.done()):
            self._work = asyncio.get_running_loop().create_task(self._run(), name="vectors")
            self._incidents.watch(self._work, "vectors")

    def _missing(self, tenant: str, messages: Sequence[Message]) -> Iterator[Message]:
        """Messages without vectors, as far as there is room for those of the conversation."""
        room = self._settings.bytes_per_conversation
        for message in messages:
            if message.pinned or message.role in ("system", "developer"):
                continue
            held: bytes | None = self._kept.find((tenant, message.key))
            room -= self._estimate(message) if held is None else len(held)
            if room < 0:
                return
            if held is None:
                yield message

    def _estimate(self, message: Message) -> int:
        return self.encoder.dimension * (1 + len(message.text) // _USUAL)

    async def find(self, tenant: str, messages: Sequence[Message]) -> dict[bytes, bytes]:
        """What there is of those messages, by key, in memory or in the store.

        Raises:
            StoreError: the store does not answer.
        """
        found: dict[bytes, bytes] = {}
        missing: list[bytes] = []
        for key in dict.fromkeys(m.key for m in messages):
            held: bytes | None = self._kept.find((tenant, key))
            if held is None:
                missing.append(key)
            else:
                found[key] = held
        return {**found, **await self._look_up(tenant, missing)}

    async def _look_up(self, tenant: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        parts = [keys[i : i + _LOOKED_UP] for i in range(0, len(keys), _LOOKED_UP)]
        found: dict[bytes, bytes] = {}
        for part in parts:
            found |= await self._records.find(tenant, part)
        for key, value in found.items():
            self._remember(tenant, key, value)
        return found

    def _remember(self, tenant: str, key: bytes, value: bytes) -> None:
        self._kept.get((tenant, key), lambda: value, lambda kept: _ENTRY + len(kept))

    async def _run(self) -> None:
        """Work until nothing waits."""
        while self._waiting:
            tenant, queue = next(iter(self._waiting.items()))
            part = [queue.popitem(last=False)[1] for _ in range(min(len(queue), _AT_ONCE))]
            self._size -= sum(len(one.text) for one in part)
            self._waiting.move_to_end(tenant)
            if not queue:
                del self._waiting[tenant]
            try:
                known = await self._look_up(tenant, [one.key for one in part])
                for one in part:
                    if one.key not in known:
                        await self._make(tenant, one)
            except (StoreError, EncoderFailed) as exc:  # they are missing again at the next request
                _log.info("no vectors: %s", exc if isinstance(exc, EncoderFailed) else type(exc).__name__)

    async def _make(self, tenant: str, one: _WaitingText) -> None:
        forgotten = self._forgotten
        loop, texts = asyncio.get_running_loop(), await asyncio.to_thread(self._passages, one.text)
        made: list[bytes] = []
        for i in range(0, len(texts), _AT_ONCE):
            vectors, seconds = await loop.run_in_executor(self._thread, partial(self._encode, texts[i : i + _AT_ONCE]))
            made += vectors
            await asyncio.sleep(seconds * (1 / self._settings.cpu_share - 1))
        if forgotten != self._forgotten:  # what is deleted meanwhile must not come back
            return
        value = b"".join(made)
        if value:
            value = (await self._records.keep_first(tenant, {one.key: value}, one.conversation)).get(one.key, value)
        self._remember(tenant, one.key, value)

    def _passages(self, text: str) -> list[str]:
        """The passages to encode: none of a text in a language that the encoder does not know."""
        return passage_texts(text) if self.reads(text) else []

    def reads(self, text: str) -> bool:
        """Whether the encoder knows the language of a text."""
        return self.encoder.knows is None or language_of(text) in self.encoder.knows

    def _encode(self, texts: Sequence[str]) -> tuple[list[bytes], float]:
        """Vectors, and the seconds of a core that they took: not those in which others had it."""
        before = time.thread_time()
        return self.encoder.encode(texts), time.thread_time() - before
