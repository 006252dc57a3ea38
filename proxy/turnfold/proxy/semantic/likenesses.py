"""What sentence vectors say of user messages: decided once, kept, repeated.

Lives here: asking for a question's vector within its time, deciding, and remembering what was decided, in front of the store that
replicas share. Does not belong here: making vectors of passages (``vectors``), what a likeness is worth (``compression.fold``).

Nothing is decided but for a user message that ends a request, and for which something is recalled. What was decided is kept
before the request goes out, the first writer wins, and every replica and the whole tool loop under that message go by it. Of a
message that was answered already nothing is decided any more: where nothing was kept, its recall goes by words, as it did.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from turnfold.compression.fold.decisions import prefixes
from turnfold.compression.fold.likeness import likeness, nothing_known, question_text
from turnfold.compression.memo import Memo
from turnfold.compression.options import Likeness
from turnfold.compression.text.private import is_private
from turnfold.compression.wire.conversation import Message
from turnfold.config.settings import Settings
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.semantic.encoder import Encoder, EncoderFailed
from turnfold.proxy.semantic.onnx_encoder import OnnxEncoder, find_files
from turnfold.proxy.semantic.vector_records import LikenessRecords
from turnfold.proxy.semantic.vectors import PassageVectors
from turnfold.proxy.store.base import Store, StoreError

_MEMORY: Final = 32 * 2**20  # bytes of what was decided
_ENTRY: Final = 300
_LEAST: Final = 2000  # tokens below which a conversation is far from its first fold, and has no vectors made

_ENGLISH: Final = frozenset({"english"})

_log = logging.getLogger(__name__)


def open_encoder(settings: Settings) -> Encoder:
    """The encoder of the settings; takes about a second.

    Raises:
        EncoderFailed: there is none.
    """
    semantic = settings.semantic
    files = find_files(semantic.model or "", semantic.tokenizer)
    return OnnxEncoder(files, _ENGLISH if semantic.languages == "english" else None)


class Likenesses:
    """Implements ``chat.own_models.OwnVectors``. Until the model is loaded, words alone decide.

    Args:
        store: shares what was decided and the vectors themselves. Where it may keep no text, nothing is made of any either.
        patient: the same for work in the background.
    """

    def __init__(self, settings: Settings, store: Store, patient: Store, incidents: Incidents) -> None:
        self._settings = settings
        self._patient = patient
        self._incidents = incidents
        self._records = LikenessRecords(store, float(settings.store.ttl))
        self._kept = Memo(_MEMORY)
        self._vectors: PassageVectors | None = None

    @property
    def is_on(self) -> bool:
        """As of the protocol."""
        return self._settings.semantic.is_on and self._settings.store.keeps_originals

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load the model in a thread of its own; stop the work at the end."""
        if not self.is_on:
            yield
            return
        loading = asyncio.get_running_loop().create_task(self.load(), name="vectors")
        self._incidents.watch(loading, "vectors")
        try:
            yield
        finally:
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
            if self._vectors is not None:
                await self._vectors.close()

    async def load(self) -> None:
        """Load the model; where that fails, words alone decide, and the log says why."""
        semantic, ttl = self._settings.semantic, float(self._settings.store.ttl)
        try:
            encoder = await asyncio.to_thread(open_encoder, self._settings)
        except EncoderFailed as exc:
            _log.warning("recall goes by words alone: %s", exc)
            return
        self._vectors = PassageVectors(encoder, self._patient, ttl, semantic, self._incidents)

    def forget_in_memory(self) -> None:
        """Forget vectors and decisions; the store has what is still to be known of them."""
        if self._vectors is not None:
            self._vectors.forget_in_memory()
        self._kept.clear()

    def begin(self, exchange: Exchange, place: Place) -> None:
        """As of the protocol."""
        conversation, before = exchange.conversation, (exchange.tokens or (0, 0))[0]
        if self._vectors is None or conversation is None or exchange.request.mode != "on":
            return
        if before >= _LEAST or exchange.folded:
            self._vectors.begin(place.spot.tenant, conversation.messages, place.label)

    def known(self, messages: Sequence[Message], place: Place) -> tuple[Likeness, ...]:
        """As of the protocol."""
        users = [i + 1 for i, m in enumerate(messages) if m.role == "user"]
        named = prefixes([m.key for m in messages], users)
        found = (self._kept.find((place.spot, at, prefix)) for at, prefix in named.items())
        return tuple(one for one in found if one is not None)

    async def decide(self, messages: Sequence[Message], questions: Sequence[int], place: Place) -> tuple[Likeness, ...]:
        """As of the protocol."""
        wanted = [nothing_known(messages, user) for user in questions]
        try:
            held = await self._records.find(place.spot, wanted)
        except StoreError as exc:
            _log.info("recall is decided alone: %s", type(exc).__name__)
            return tuple(wanted)  # not remembered: the store is asked again
        made = [found or await self._first(messages, one, place) for one, found in zip(wanted, held, strict=True)]
        return tuple(self._remember(place, one) for one in made)

    async def _first(self, messages: Sequence[Message], unknown: Likeness, place: Place) -> Likeness:
        """What is decided of a user message of which the store has nothing."""
        made = unknown
        if not any(m.role in ("assistant", "tool") for m in messages[unknown.at :]):
            made = await self._measure(messages, unknown.at - 1, place) or unknown
            try:
                made = await self._records.keep_first(place.spot, made, place.label)
            except StoreError as exc:
                _log.info("recall is decided alone: %s", type(exc).__name__)
                made = unknown  # what follows from the messages alone, so that replicas agree
        return made

    def _remember(self, place: Place, made: Likeness) -> Likeness:
        key = (place.spot, made.at, made.prefix)
        kept: Likeness = self._kept.get(key, lambda: made, lambda one: _ENTRY + sum(34 + len(part) for part in one.by_message))
        return kept

    async def _measure(self, messages: Sequence[Message], user: int, place: Place) -> Likeness | None:
        """The likeness by the vectors that there are; None where the question's own is not there in time."""
        vectors, text = self._vectors, question_text(messages, user)
        if vectors is None or is_private(text) or not vectors.reads(text):
            return None
        with contextlib.suppress(TimeoutError, EncoderFailed, StoreError):
            async with asyncio.timeout(self._settings.semantic.timeout):
                known, asked = await asyncio.gather(
                    vectors.find(place.spot.tenant, messages[:user]), asyncio.to_thread(vectors.encoder.encode, [text])
                )
                return await asyncio.to_thread(likeness, messages, user, asked[0], known)
        return None
