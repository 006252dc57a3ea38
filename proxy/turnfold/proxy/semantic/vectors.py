"""Vectors of the messages of conversations, made in the background.

This module decides which vectors to make, in which order and at which pace, and remembers them in front of the store that
replicas share. It knows the encoder only by its protocol; ``likenesses`` uses the vectors.

No request waits for vectors. Tenants take turns, a few messages at a time, with a pause after each piece of work, so that all of
it takes no more than its share of one core. If a client's own key pays, its vectors are made while its request is served;
whatever is not finished then is dropped, and the key with it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from turnfold.compression.fold.likeness import language_of, passage_texts, private_parts
from turnfold.compression.memo import Memo
from turnfold.compression.text.private import Range
from turnfold.compression.wire.message import Message
from turnfold.config.settings import Settings
from turnfold.proxy.chat.own_models import end_nothing
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.semantic.encoder import Encoder, EncoderFailed, VectorRequest
from turnfold.proxy.semantic.vector_records import VectorRecords
from turnfold.proxy.store.base import Store, StoreError

_MEMORY: Final = 64 * 2**20  # bytes of vectors
_MOST_WAITING: Final = 16 * 2**20  # characters of messages
_LOOKED_UP: Final = 64  # messages per read of the store
_USUAL: Final = 110  # characters of a passage, about
_USUAL_DIMENSION: Final = 1536  # until the dimension is known
_ENTRY: Final = 200  # bytes that a remembered value takes beside its own

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _WaitingText:
    """A message whose vectors are to be made."""

    key: bytes
    text: str = field(repr=False)
    private: tuple[Range, ...]
    errand: VectorRequest


class PassageVectors:
    """Vectors by tenant and message.

    Args:
        store: shares them between replicas.
    """

    def __init__(self, encoder: Encoder, store: Store, settings: Settings, incidents: Incidents) -> None:
        self.encoder = encoder
        self._records = VectorRecords(store, float(settings.store.ttl), encoder)
        self._settings = settings.semantic
        self._quotes_results = settings.folding.recall_tool_text
        self._incidents = incidents
        self._kept = Memo(_MEMORY)
        self._waiting: OrderedDict[str, OrderedDict[bytes, _WaitingText]] = OrderedDict()
        self._under_way: set[tuple[str, bytes]] = set()
        self._size = 0
        self._forgotten = 0
        self._work: set[asyncio.Task[None]] = set()  # on what waits
        self._served: set[asyncio.Task[None]] = set()  # each for one request

    def forget_in_memory(self) -> None:
        """Forget all vectors and waiting texts."""
        self._kept.clear()
        self._waiting.clear()
        self._size = 0
        self._forgotten += 1

    async def close(self) -> None:
        """Stop."""
        tasks = [*self._served, *self._work]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def begin(self, errand: VectorRequest, messages: Sequence[Message]) -> Callable[[], None]:
        """Have the vectors made that are missing, the oldest message's first; those beyond the bytes of a conversation are not.

        Returns:
            What is to be called when the request was served: it ends what may not go on without it.
        """
        if not self.encoder.is_ready(errand):
            return end_nothing
        texts = self._readable(errand, messages, list(self._missing(errand.payer.tenant, messages)))
        if self.encoder.only_while_served:
            return self._serve(errand.payer.tenant, texts)
        self._queue(errand.payer.tenant, texts)
        return end_nothing

    def _readable(self, errand: VectorRequest, messages: Sequence[Message], missing: Sequence[Message]) -> list[_WaitingText]:
        """Those that are not inside a private part; of the others it is remembered that they have no vectors."""
        private, found = private_parts(messages) if missing else {}, list[_WaitingText]()
        for message in missing:
            parts = private.get(message.key, ())
            if parts is None:
                self._remember(errand.payer.tenant, message.key, b"")
            else:
                found.append(_WaitingText(message.key, message.text, parts, errand))
        return found

    def _serve(self, tenant: str, texts: Sequence[_WaitingText]) -> Callable[[], None]:
        """Make vectors for as long as a request is served."""
        texts = [one for one in texts if (tenant, one.key) not in self._under_way]
        if not texts or self._size + (size := sum(len(one.text) for one in texts)) > _MOST_WAITING:
            return end_nothing
        self._size += size
        forgotten = self._forgotten
        task = asyncio.get_running_loop().create_task(self._make_all(tenant, texts, forgotten), name="vectors")
        self._served.add(task)
        self._under_way.update((tenant, one.key) for one in texts)  # before another request asks for them too

        def ended(done: asyncio.Task[None]) -> None:
            self._served.discard(done)
            self._under_way.difference_update((tenant, one.key) for one in texts)
            if forgotten == self._forgotten:
                self._size -= size

        task.add_done_callback(ended)
        self._incidents.watch(task, "vectors")
        return partial(_cancel, task)

    def _queue(self, tenant: str, texts: Sequence[_WaitingText]) -> None:
        queue = self._waiting.setdefault(tenant, OrderedDict())
        for one in texts:
            is_known = one.key in queue or (tenant, one.key) in self._under_way
            if not is_known and self._size + len(one.text) <= _MOST_WAITING:
                queue[one.key] = one
                self._size += len(one.text)
        if not queue:
            self._waiting.pop(tenant, None)
        if self._waiting and len(self._work) < self.encoder.most_calls:
            task = asyncio.get_running_loop().create_task(self._run(), name="vectors")
            self._work.add(task)
            task.add_done_callback(self._work.discard)
            self._incidents.watch(task, "vectors")

    def _missing(self, tenant: str, messages: Sequence[Message]) -> Iterator[Message]:
        """Messages without vectors that recall may quote, as many as the conversation has room for."""
        room = self._settings.bytes_per_conversation
        for message in messages:
            if message.pinned or message.role in ("system", "developer") or (message.is_output and not self._quotes_results):
                continue
            held: bytes | None = self._kept.find((tenant, message.key))
            room -= self._estimate(message) if held is None else len(held)
            if room < 0:
                return
            if held is None:
                yield message

    def _estimate(self, message: Message) -> int:
        return (self.encoder.dimension or _USUAL_DIMENSION) * (1 + len(message.text) // _USUAL)

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
            held = await self._records.find(tenant, part)
            for key, value in held.items():  # even if the caller does not want the next part
                self._remember(tenant, key, value)
            found |= held
        return found

    def _remember(self, tenant: str, key: bytes, value: bytes) -> None:
        self._kept.get((tenant, key), lambda: value, lambda kept: _ENTRY + len(kept))

    async def _run(self) -> None:
        """Work until no text is waiting."""
        while self._waiting:
            tenant, queue = next(iter(self._waiting.items()))
            part = [queue.popitem(last=False)[1] for _ in range(min(len(queue), self.encoder.most_texts))]
            self._size -= sum(len(one.text) for one in part)
            self._waiting.move_to_end(tenant)
            if not queue:
                del self._waiting[tenant]
            await self._make_all(tenant, part, self._forgotten)

    async def _make_all(self, tenant: str, part: Sequence[_WaitingText], forgotten: int) -> None:
        """Make what the store does not have, unless more than so much is `forgotten`; each call is for one conversation."""
        keys = {(tenant, one.key) for one in part}
        self._under_way |= keys
        try:
            known = await self._look_up(tenant, [one.key for one in part])
            by_errand: dict[str | None, list[_WaitingText]] = {}
            for one in part:
                if one.key not in known:
                    by_errand.setdefault(one.errand.payer.conversation, []).append(one)
            for texts in by_errand.values():
                await self._make(tenant, texts, forgotten)
        except (StoreError, EncoderFailed) as exc:  # they are missing again at the next request
            _log.info("no vectors: %s", exc if isinstance(exc, EncoderFailed) else type(exc).__name__)
        finally:
            self._under_way -= keys

    async def _make(self, tenant: str, texts: Sequence[_WaitingText], forgotten: int) -> None:
        """Make the vectors of a conversation's messages; each message is kept as soon as all of its vectors are made."""
        passages = await asyncio.to_thread(lambda: [self._passages(one) for one in texts])
        waiting = deque(zip(texts, map(len, passages), strict=True))
        every = [passage for found in passages for passage in found]
        at_once, made = self.encoder.most_texts, list[bytes]()
        for i in range(0, max(len(every), 1), at_once):
            if forgotten != self._forgotten:  # data that is deleted in the meantime must not come back
                return
            if part := every[i : i + at_once]:
                encoded = await self.encoder.encode(part, texts[0].errand)
                made += encoded.vectors
                await asyncio.sleep(encoded.seconds * (1 / self._settings.cpu_share - 1))
            while waiting and waiting[0][1] <= len(made) and forgotten == self._forgotten:
                one, number = waiting.popleft()
                await self._keep(tenant, one, b"".join(made[:number]), forgotten)
                del made[:number]

    async def _keep(self, tenant: str, one: _WaitingText, value: bytes, forgotten: int) -> None:
        if value:
            conversation = one.errand.payer.conversation or ""
            value = (await self._records.keep_first(tenant, {one.key: value}, conversation)).get(one.key, value)
            if forgotten != self._forgotten:  # it was deleted while it was written
                await self._records.discard(tenant, one.key)
                return
        self._remember(tenant, one.key, value)

    def _passages(self, one: _WaitingText) -> list[str]:
        """The passages to encode: none of a text in a language that the encoder does not know."""
        return passage_texts(one.text, one.private) if self.reads(one.text) else []

    def reads(self, text: str) -> bool:
        """Whether the encoder knows the language of a text."""
        return self.encoder.knows is None or language_of(text) in self.encoder.knows


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
