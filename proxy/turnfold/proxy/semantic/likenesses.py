"""Similarities by sentence vectors: decided once per user message, stored, repeated.

This module asks for a question's vector within a time limit, decides, and remembers the decision in front of the store that
replicas share. Vectors of passages are made in ``vectors``; what a likeness is worth is up to ``compression.fold``.

A decision is made only for a user message that ends a request and for which something is recalled. It is stored before the
request goes out; the first writer wins, and every replica and the whole tool loop under that message follow it. A message that
has already been answered gets no new decision: if none was stored, its recall continues to go by words.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from yarl import URL

from turnfold.compression.fold.decisions import prefixes
from turnfold.compression.fold.likeness import likeness, nothing_known, private_parts, question_messages, question_text
from turnfold.compression.memo import Memo
from turnfold.compression.options import Likeness
from turnfold.compression.text.private import is_private
from turnfold.compression.wire.message import Message
from turnfold.config.settings import Settings
from turnfold.proxy.asking.own_upstream import Caller, host_of
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.own_models import end_nothing
from turnfold.proxy.chat.receipts import Recorder
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.semantic.encoder import Encoder, EncoderFailed, VectorRequest
from turnfold.proxy.semantic.local_encoder import open_local
from turnfold.proxy.semantic.upstream_encoder import UpstreamEncoder
from turnfold.proxy.semantic.vector_records import LikenessRecords
from turnfold.proxy.semantic.vectors import PassageVectors
from turnfold.proxy.store.base import Store, StoreError

_MEMORY: Final = 32 * 2**20  # bytes of decisions in memory
_ENTRY: Final = 300
_LEAST: Final = 2000  # tokens below which a conversation is far from its first fold and gets no vectors

_log = logging.getLogger(__name__)


class Likenesses:
    """Implements ``chat.own_models.OwnVectors``. Until the model is loaded, recall uses only words.

    Args:
        store: shares what was decided and the vectors themselves. Where it may keep no text, nothing is made of any either.
        patient: the same for work in the background.

    Attributes:
        late: questions whose vector was not there in time.

    Raises:
        InvalidInput: the upstream's model has no known price.
    """

    def __init__(self, settings: Settings, store: Store, patient: Store, incidents: Incidents, recorder: Recorder) -> None:
        self._settings = settings
        self._patient = patient
        self._incidents = incidents
        self._records = LikenessRecords(store, float(settings.store.ttl))
        self._kept = Memo(_MEMORY)
        self._vectors: PassageVectors | None = None
        asks = self.is_on and settings.semantic.embedding_model
        self._remote = UpstreamEncoder(settings, patient, recorder) if asks else None
        self._questions: set[asyncio.Task[bytes | None]] = set()
        self.late = 0

    @property
    def is_on(self) -> bool:
        """See the protocol."""
        settings = self._settings
        return settings.semantic.is_on and settings.folding.recall and settings.store.keeps_originals

    @property
    def failures(self) -> Counter[str]:
        """How often there was no vector, by reason."""
        made = Counter({"late": self.late}) if self.late else Counter[str]()
        return made + self._vectors.encoder.failures if self._vectors is not None else made

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Load the model in a separate thread, or connect to the upstream's; stop the work at the end."""
        if not self.is_on:
            yield
            return
        if self._remote is not None:
            async with self._remote.running():
                self._use(self._remote)
                try:
                    yield
                finally:
                    await self._close()
            return
        loading = asyncio.get_running_loop().create_task(self.load(), name="vectors")
        self._incidents.watch(loading, "vectors")
        try:
            yield
        finally:
            loading.cancel()
            await asyncio.gather(loading, return_exceptions=True)
            await self._close()

    async def _close(self) -> None:
        for task in self._questions:
            task.cancel()
        await asyncio.gather(*self._questions, return_exceptions=True)
        if self._vectors is not None:
            await self._vectors.close()

    async def load(self) -> None:
        """Load the model; if that fails, recall uses only words, and the log says why."""
        try:
            self._use(await asyncio.to_thread(open_local, self._settings.semantic))
        except EncoderFailed as exc:
            _log.warning("recall uses only words (TURNFOLD_SEMANTIC_MODEL): %s", exc)

    def _use(self, encoder: Encoder) -> None:
        self._vectors = PassageVectors(encoder, self._patient, self._settings, self._incidents)

    def forget_in_memory(self) -> None:
        """Forget vectors and decisions; the store has what is still to be known of them."""
        if self._vectors is not None:
            self._vectors.forget_in_memory()
        self._kept.clear()

    def begin(self, exchange: Exchange, place: Place) -> Callable[[], None]:
        """See the protocol."""
        conversation, before = exchange.conversation, (exchange.tokens or (0, 0))[0]
        if self._vectors is None or conversation is None or exchange.request.mode != "on":
            return end_nothing
        if (before < _LEAST and not exchange.folded) or exchange.status == "bypassed":  # held out: it will not be folded
            return end_nothing
        return self._vectors.begin(self._errand(exchange, place), conversation.messages)

    def _errand(self, exchange: Exchange, place: Place) -> VectorRequest:
        """A client's credential never outlives its request: it is used only if that request's end also ends the errand."""
        request, vectors = exchange.request, self._vectors
        headers = request.headers if vectors is not None and vectors.encoder.only_while_served else ()
        caller = Caller(host_of(request.to.url), headers)
        return VectorRequest(Payer(request.tenant, place.label), place.spot.model, caller, _without_secrets(request.to.url))

    def known(self, messages: Sequence[Message], place: Place) -> tuple[Likeness, ...]:
        """See the protocol."""
        users = [i + 1 for i, m in enumerate(messages) if m.role == "user"]
        named = prefixes([m.key for m in messages], users)
        found = (self._kept.find((place.spot, at, prefix)) for at, prefix in named.items())
        return tuple(one for one in found if one is not None)

    async def decide(self, exchange: Exchange, questions: Sequence[int], place: Place) -> tuple[Likeness, ...]:
        """See the protocol."""
        messages = exchange.conversation.messages if exchange.conversation is not None else ()
        wanted = [nothing_known(messages, user) for user in questions]
        try:
            held = await self._records.find(place.spot, wanted)
        except StoreError as exc:
            _log.info("recall is decided in this process only, without the store: %s", exc)
            return tuple(wanted)  # not remembered: the store is asked again
        errand = self._errand(exchange, place)
        made = [found or await self._first(messages, one, place, errand) for one, found in zip(wanted, held, strict=True)]
        return tuple(self._remember(place, one) for one in made)

    async def _first(self, messages: Sequence[Message], unknown: Likeness, place: Place, errand: VectorRequest) -> Likeness:
        """The decision about a user message of which the store has nothing."""
        made = unknown
        if not any(m.role in ("assistant", "tool") for m in messages[unknown.at :]):
            made = await self._measure(messages, unknown.at - 1, errand) or unknown
            try:
                made = await self._records.keep_first(place.spot, made, place.label)
            except StoreError as exc:
                _log.info("recall is decided in this process only, without the store: %s", exc)
                made = unknown  # derived only from the messages, so that replicas agree
        return made

    def _remember(self, place: Place, made: Likeness) -> Likeness:
        key = (place.spot, made.at, made.prefix)
        kept: Likeness = self._kept.get(key, lambda: made, lambda one: _ENTRY + sum(34 + len(part) for part in one.by_message))
        return kept

    async def _measure(self, messages: Sequence[Message], user: int, errand: VectorRequest) -> Likeness | None:
        """The likeness by the available vectors; None if there are none, or the question's own vector is late."""
        vectors, text = self._vectors, question_text(messages, user)
        if vectors is None or not text.strip() or _is_private(messages, user, text) or not vectors.reads(text):
            return None
        if not vectors.encoder.is_ready(errand):
            return None
        try:
            async with asyncio.timeout(self._settings.semantic.patience):
                known = await vectors.find(errand.payer.tenant, messages[:user])
                if not any(known.values()):
                    return None
                asked = await self._question(text, errand, vectors.encoder)
                return None if asked is None else await asyncio.to_thread(likeness, messages, user, asked, known)
        except TimeoutError:
            self.late += 1
        except StoreError as exc:
            _log.info("recall uses only words: %s", type(exc).__name__)
        return None

    async def _question(self, text: str, errand: VectorRequest, encoder: Encoder) -> bytes | None:
        """A question's vector. Where nobody waits for it any more a call that is under way goes on, since it has to be paid, and
        its price to be known; but none with a client's own key."""
        task = asyncio.get_running_loop().create_task(_encode(text, errand, encoder), name="vectors")
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)
        self._incidents.watch(task, "vectors")
        try:
            await asyncio.wait({task})
        finally:
            if encoder.only_while_served:
                task.cancel()
        return task.result()


async def _encode(text: str, errand: VectorRequest, encoder: Encoder) -> bytes | None:
    try:
        return (await encoder.encode([text], errand)).vectors[0]
    except EncoderFailed:
        return None


def _without_secrets(url: URL) -> URL:
    """A URL with no more of its query than the version that Azure wants: some clients send their key there."""
    kept = "&".join(part for part in url.raw_query_string.split("&") if part.startswith("api-version="))
    return URL(f"{url.origin()}{url.raw_path}{'?' + kept if kept else ''}", encoded=True)


def _is_private(messages: Sequence[Message], user: int, text: str) -> bool:
    """Whether a question's text, or that of a message which it is made of, has private parts."""
    private = private_parts(messages[: user + 1])
    return is_private(text) or any(m.key in private for m in question_messages(messages, user))
