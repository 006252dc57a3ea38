"""The upstream's ``/v1/embeddings`` as an encoder.

This module decides whether the upstream may be asked now, asks it, counts what that costs, and draws the consequences of a
refusal. The wire is in ``embeddings_wire``; ``asking.own_upstream`` chooses the key.

A failure here is never an error for the caller: there is no vector then, and words decide. A refused credential, a reached limit
and an upstream that fails several times in a row are left alone for a while; the log says so once.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from typing import Final
from urllib.parse import quote, urlsplit

from yarl import URL

from turnfold.compression.errors import InvalidInput
from turnfold.config.prices import PriceOf, TokenUse, price_from
from turnfold.config.settings import Settings
from turnfold.proxy.asking.asker import Bill
from turnfold.proxy.asking.breaker import Breaker
from turnfold.proxy.asking.own_upstream import Caller, Headers, OwnAccess, OwnUpstream, PostedAnswer
from turnfold.proxy.asking.receipt import record_own_calls
from turnfold.proxy.asking.spending import Payer, SpendingCaps
from turnfold.proxy.chat.receipts import OwnCall, Recorder, Usage
from turnfold.proxy.semantic.embeddings_wire import (
    EmbeddingsAnswer,
    batches,
    input_of,
    most_answer_bytes,
    read_answer,
    write_request,
)
from turnfold.proxy.semantic.encoder import Encoded, EncoderFailed, VectorRequest
from turnfold.proxy.store.base import Store

_LONGEST_CALL: Final = 30.0  # seconds
_CALLS: Final = 8  # at once, in the background
_FAILURES: Final = 3  # failures in a row until calls pause
_SHORTEST_PAUSE: Final = 1.0
_FIRST_PAUSE: Final = 15.0
_LONGEST_PAUSE: Final = 1800.0
_AFTER_BUDGET: Final = 60.0
_TENANTS: Final = 2000  # breakers in memory, one per tenant or credential
_ABOUT_TEXTS: Final = (400, 413, 422)  # a refusal concerns one tenant's texts and says nothing about another's
_FEWEST: Final = 8  # a refused call with at most this many texts is not split
_MOST_REFUSED: Final = 16  # calls for one batch
_SPEND: Final = "vectors"

#: Azure's form of a path, whose last part and model are the deployment's; it takes the operator's key in a header of its own.
_DEPLOYMENT: Final = re.compile(r"(/(?:.*/)?openai/deployments/)[^/]+/")
_AZURE_HOST: Final = re.compile(r"\.(?:openai|cognitiveservices|services\.ai)\.azure\.(?:com|us|cn)(?::\d+)?$")

_REASONS: Final = {401: "refused", 403: "refused", 404: "refused", 429: "rate-limited", None: "unreachable", 0: "slow"}
_SAID: Final = {
    "refused": "it refused the call",
    "rate-limited": "it says that there were too many calls",
    "unreachable": "it cannot be reached",
    "slow": "it does not answer in time",
    "failed": "it answered with an error",
    "unreadable": "its answer does not have one vector per text",
    "dimension": "its vectors have a different number of dimensions than before, or than requested",
    "budget": "TURNFOLD_SEMANTIC_DOLLARS_PER_DAY is spent",
}

_FOR_GOOD: Final = frozenset({"refused", "rate-limited", "unreadable", "dimension"})  # trying again at once cannot help

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Progress:
    """What came of a batch so far: seconds of a core, calls that were refused for their texts, and the last such answer."""

    seconds: float = 0.0
    refused: int = 0
    refusal: PostedAnswer | None = None


class UpstreamEncoder:
    """Implements ``Encoder``.

    Args:
        store: shares what was spent; None: this process alone knows.
        recorder: gets a receipt of each call that was paid for; None: nobody does.

    Attributes:
        label: the model and its host, for people.

    Raises:
        InvalidInput: the model's price is unknown: what it may cost could not be held to.
    """

    def __init__(self, settings: Settings, store: Store | None, recorder: Recorder | None = None) -> None:
        semantic = settings.semantic
        self._recorder = recorder
        self._model = semantic.embedding_model or ""
        self._price: PriceOf = price_from(settings)
        if self._dollars(1000) is None:
            raise InvalidInput(
                "TURNFOLD_SEMANTIC_EMBEDDING_MODEL",
                f"{self._model!r} has no known price: give its input in TURNFOLD_MODELS (0 for a model of your own)",
            )
        key = semantic.api_key or (settings.upstream.api_key if semantic.url is None else None)
        url, needs_key = semantic.url or settings.upstream.url, semantic.url is None or semantic.api_key is not None
        access = OwnAccess(url, key, needs_key, semantic.use_client_key, _LONGEST_CALL)
        self._upstream = OwnUpstream(settings, access)
        self._follows = semantic.url is None
        self._asked_dimensions = semantic.dimensions
        self._caps = SpendingCaps(store, semantic.dollars_per_day, None, 0.0, _SPEND)
        self._shared = _new_breaker()
        self._breakers: OrderedDict[str, Breaker] = OrderedDict()
        self._base64: bool | None = None  # whether the upstream accepts base64; None if unknown
        self._told = ""
        self._settling: set[asyncio.Task[None]] = set()
        self.label = f"{self._model} at {urlsplit(url).hostname}"
        self.name = f"upstream-{_digest(url, self._model, str(semantic.dimensions))}"
        self.dimension = semantic.dimensions or 0
        self.knows = semantic.knows
        self.most_texts = semantic.batch
        self.most_calls = _CALLS
        self.failures: Counter[str] = Counter()

    @property
    def only_while_served(self) -> bool:
        """See the protocol."""
        return self._upstream.only_while_served

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Its connections."""
        async with self._upstream.running():
            try:
                yield
            finally:
                await asyncio.gather(*self._settling, return_exceptions=True)

    @property
    def has_key(self) -> bool:
        """Whether the operator has a key for it, or it needs none."""
        return self._upstream.credential(self.trial().caller) is not None

    def trial(self) -> VectorRequest:
        """An errand for a trial."""
        return VectorRequest(Payer(""), "", Caller(self._upstream.host, ()), self._upstream.url("/v1/embeddings"))

    def is_ready(self, errand: VectorRequest) -> bool:
        """See the protocol. Text goes to another host than its conversation only where a setting names that host."""
        if self._follows and errand.caller.host != self._upstream.host:
            return False
        return self._upstream.credential(errand.caller) is not None and not any(one.is_open for one in self._breakers_of(errand))

    async def encode(self, texts: Sequence[str], errand: VectorRequest) -> Encoded:
        """See the protocol."""
        vectors: list[bytes] = []
        progress = _Progress()
        for part in batches([input_of(text) for text in texts], self.most_texts):
            made = await self._encode(part, errand, progress)
            if not any(made):
                raise self._failed("failed", errand, progress.refusal)
            vectors += [one if one is not None else bytes(self.dimension) for one in made]
        return Encoded(vectors, progress.seconds)

    async def _encode(self, inputs: Sequence[str], errand: VectorRequest, progress: _Progress) -> list[bytes | None]:
        """Vectors; None for a text that is refused.

        Of a refused call the halves are tried: it had too many texts, or one that this upstream does not take. In the first case
        calls have no more texts from now on than it took.
        """
        made = await self._call(inputs, errand, progress)
        if made is not None:
            return [*made]
        progress.refused += 1
        if len(inputs) <= _FEWEST or progress.refused > _MOST_REFUSED:
            return [None] * len(inputs)
        middle = len(inputs) // 2
        halves = [await self._encode(half, errand, progress) for half in (inputs[:middle], inputs[middle:])]
        if all(one is not None for half in halves for one in half):
            self.most_texts = min(self.most_texts, len(inputs) - middle)
        return [*halves[0], *halves[1]]

    async def _call(self, inputs: Sequence[str], errand: VectorRequest, progress: _Progress) -> list[bytes] | None:
        """Vectors; None where the call is refused for its texts.

        Raises:
            EncoderFailed: there are none, for another reason.
        """
        if not self.is_ready(errand):
            raise EncoderFailed("no call is made now")
        most = self._dollars(sum(len(one.encode()) + 2 for one in inputs)) or 0.0
        if not await self._caps.reserve(errand.payer, most):
            raise self._failed("budget", errand)
        started = time.monotonic()
        answer = await self._send(inputs, errand)
        said = EmbeddingsAnswer(None, Usage())
        if answer.status == 200:
            said, seconds = await asyncio.to_thread(_read, answer.data, len(inputs))
            progress.seconds += seconds
        self._settle(said.usage, answer, most, errand, time.monotonic() - started)
        if answer.status in _ABOUT_TEXTS:
            progress.refusal = answer
            return None
        if answer.status != 200:
            raise self._failed(_REASONS.get(answer.status, "failed"), errand, answer)
        if said.vectors is None:
            raise self._failed("unreadable", errand)
        if self.dimension not in (0, len(said.vectors[0])):
            raise self._failed("dimension", errand)
        self.dimension = len(said.vectors[0])
        self._succeeded(errand)
        return said.vectors

    def _succeeded(self, errand: VectorRequest) -> None:
        for breaker in self._breakers_of(errand):
            breaker.succeed()
        if self._told:
            _log.log(self._level, "%s returns vectors again", self.label)
            self._told = ""

    async def _send(self, inputs: Sequence[str], errand: VectorRequest) -> PostedAnswer:
        """The answer to one call; status 0 if it is late. If base64 is refused, decimals are requested."""
        in_base64 = self._base64 is not False
        answer = await self._post(inputs, errand, base64_form=in_base64)
        # Another call, begun when nobody knew either, may have learned it meanwhile.
        if answer.status in (400, 422) and in_base64 and self._base64 is not True:
            answer = await self._post(inputs, errand, base64_form=False)
            self._base64 = False if answer.status == 200 else self._base64
        elif answer.status == 200 and self._base64 is None:
            self._base64 = True
        return answer

    async def _post(self, inputs: Sequence[str], errand: VectorRequest, *, base64_form: bool) -> PostedAnswer:
        url, header = self._place(errand)
        credential: Headers | None = self._upstream.credential(errand.caller, header)
        if credential is None:
            raise EncoderFailed("there is no key")
        body = write_request(self._model, inputs, self._asked_dimensions, base64_form=base64_form)
        try:
            async with asyncio.timeout(_LONGEST_CALL):
                return await self._upstream.post(url, credential, body, most_answer_bytes(len(inputs), self.dimension))
        except TimeoutError:
            return PostedAnswer(0)

    def _place(self, errand: VectorRequest) -> tuple[URL, bytes]:
        """The URL of a call, and the header that carries the operator's key there."""
        host = self._upstream.host
        found = _DEPLOYMENT.match(errand.url.raw_path) if self._follows and errand.caller.host == host else None
        if found is not None:
            path = f"{errand.url.origin()}{found[1]}{quote(self._model, safe='')}/embeddings"
            query = f"?{errand.url.raw_query_string}" if errand.url.raw_query_string else ""
            return URL(path + query, encoded=True), b"api-key"
        return self._upstream.url("/v1/embeddings"), b"api-key" if _AZURE_HOST.search(host) else b"authorization"

    def _settle(self, usage: Usage, answer: PostedAnswer, most: float, errand: VectorRequest, seconds: float) -> None:
        """Book a call that went out; a refusal costs nothing, what nobody knows the price of costs the most that it can."""
        told = None if usage.prompt_tokens is None else self._dollars(usage.prompt_tokens)
        refused = answer.status is None or answer.status >= 400
        dollars = told if told is not None else 0.0 if refused else most
        task = asyncio.get_running_loop().create_task(self._caps.settle(errand.payer, most, dollars))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        if self._recorder is not None and not refused:
            bill = Bill([OwnCall("embedding", self._model, usage)])
            record_own_calls(self._recorder, errand.payer, errand.model, "vectors", bill, seconds)

    def _failed(self, reason: str, errand: VectorRequest, answer: PostedAnswer | None = None) -> EncoderFailed:
        """What a failure means for the next calls; told once, until a call succeeds."""
        self.failures[reason] += 1
        own, shared = self._breakers_of(errand)
        breaker = own if answer is not None and answer.status in _ABOUT_TEXTS else shared
        if reason == "budget":
            breaker.rest(_AFTER_BUDGET)
        elif (seconds := _retry_after(answer)) is not None:
            breaker.rest(max(_SHORTEST_PAUSE, seconds))
        else:
            breaker.fail(for_good=reason in _FOR_GOOD or breaker is not shared)
        status = f" ({answer.status})" if answer is not None and answer.status else ""
        said = f"{self.label}: {_SAID[reason]}{status}"
        if self._told != reason:
            _log.log(self._level, "recall uses only words for now: %s", said)
            self._told = reason
        return EncoderFailed(said)

    @property
    def _level(self) -> int:
        """Log level of failures: those of a client's key do not concern the operator."""
        return logging.INFO if self.only_while_served else logging.WARNING

    def _breakers_of(self, errand: VectorRequest) -> tuple[Breaker, Breaker]:
        """The breakers of the tenant's texts and of the credential; the same one if the credential is the client's."""
        own = self._breaker(errand.payer.tenant)
        return own, own if self.only_while_served else self._shared

    def _breaker(self, tenant: str) -> Breaker:
        breaker = self._breakers.setdefault(tenant, _new_breaker())
        self._breakers.move_to_end(tenant)
        while len(self._breakers) > _TENANTS:
            self._breakers.popitem(last=False)
        return breaker

    def _dollars(self, tokens: int) -> float | None:
        return self._price(self._model, TokenUse(tokens), time.time())


def _new_breaker() -> Breaker:
    return Breaker(_FAILURES, _FIRST_PAUSE, _LONGEST_PAUSE)


def _read(data: bytes, inputs: int) -> tuple[EmbeddingsAnswer, float]:
    """What an answer says, and the seconds of a core that reading it took."""
    before = time.thread_time()
    return read_answer(data, inputs), time.thread_time() - before


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()


def _retry_after(answer: PostedAnswer | None) -> float | None:
    """Seconds that an answer asks to wait, as a number or a date; None if it does not say."""
    if answer is None or answer.status not in (429, 503):
        return None
    said = dict(answer.headers).get(b"retry-after", b"").decode("latin-1").strip()
    if said.isdecimal():
        return float(said[:9])
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
