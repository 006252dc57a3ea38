"""Turnfold in process, at a clock that is set: the engine, what it learns, and its books, without HTTP.

It leads from a request to what is forwarded, and from the upstream's usage to what the books say. The caller has the upstream,
the sums and the conversations.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeVar

from turnfold.compression.fit.fit import Fitted, fit
from turnfold.compression.fold import conversation_name
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions, Precedence, Precedent
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.config.fold import fold_options
from turnfold.config.prices import TokenUse, price_from
from turnfold.config.settings import Settings
from turnfold.proxy.books.pricing import RequestPricing
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.books.watchers import WarmthWatcher
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.chat.receipts import Receipt, Status, Usage
from turnfold.proxy.learning.deciding import Decisions, Place
from turnfold.proxy.learning.pauses import Pauses
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.trails.trail import trails_of

WIRES: Final[Mapping[str, Wire]] = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}
_TENANT, _UPSTREAM = "somebody", "https://upstream"
T = TypeVar("T")
_NAMELESS: Final = 4096  # bytes of a body that no cache would take, as of the shell's


class Forwarded(NamedTuple):
    """A request on its way.

    Attributes:
        receipt: without the usage.
        sections: fingerprint of what is folded.
    """

    body: bytes
    receipt: Receipt
    sections: str
    events: int


@dataclass(slots=True)
class Inside:
    """One process of Turnfold, with one tenant."""

    settings: Settings = field(default_factory=Settings)
    memory: WarmthMemory = field(default_factory=WarmthMemory)
    memo: Memo = field(default_factory=Memo)
    now: float = 0.0
    _pasts: dict[str, PastRequest | None] = field(default_factory=dict)
    _decisions: Decisions = field(init=False)
    _pricing: RequestPricing = field(init=False)

    def __post_init__(self) -> None:
        self._decisions = Decisions(None, 3600.0, self.memory, pauses=Pauses(steady=lambda: self.now))
        self._pricing = RequestPricing(price_from(self.settings))

    def forward(self, body: bytes, wire: str, at: float) -> Forwarded:
        """What goes out of a request that comes at a Unix time."""
        self.now = at
        conversation = WIRES[wire].read(body, self.memo)
        name, model = conversation_name(conversation), conversation.model
        place = Place(UpstreamModel(_TENANT, _UPSTREAM, model), name, name)

        async def work(options: FoldOptions) -> _Made:
            return _Made(fit(conversation, options, self.memo))

        fitted = _finish(self._decisions.fold(fold_options(self.settings, model), place, work)).fitted
        folded, sent = fitted.folded, fitted.forwarded
        status: Status = "passthrough" if sent is conversation else "shaped" if folded.only_shaped else "folded"
        last = conversation.messages[-1] if conversation.messages else None
        receipt = Receipt(
            request_id="r",
            at=at,
            tenant=_TENANT,
            model=model,
            conversation=name,
            status=status,
            reason=folded.reason,
            tokens_before=folded.tokens_before,
            tokens_after=fitted.tokens,
            usage=Usage(),
            upstream_status=200,
            overhead_ms=0.0,
            first_byte_ms=None,
            total_ms=400.0,
            streamed=False,
            complete=True,
            wire=wire,
            upstream=_UPSTREAM,
            loop=last is not None and last.is_output,
            trails=trails_of(conversation, sent, self.memo) if len(conversation.text) > _NAMELESS else None,
            schema=conversation.schema,
            foldable=folded.outlook.foldable,
        )
        carried = tuple(section.id for section in fitted.sections)
        return Forwarded(sent.body, receipt, digest(*carried).hex() if carried else "", folded.events)

    def record(self, sent: Forwarded, use: TokenUse | None, status: int = 200) -> RequestCost:
        """What the books say of a request, once the upstream has said what it counted; None: it did not."""
        usage = Usage() if use is None else Usage(use.prompt, use.completion, use.cached, use.written, use.written_hour)
        receipt = replace(sent.receipt, usage=usage, upstream_status=status)
        key = receipt.conversation or ""
        cost, self._pasts[key] = self._pricing.price(receipt, self._pasts.get(key), sent.sections)
        WarmthWatcher(self.memory).observe(receipt, cost)
        return cost


@dataclass(frozen=True, slots=True)
class _Made:
    fitted: Fitted

    @property
    def decided(self) -> tuple[Precedent, ...]:
        """What was decided in it."""
        return self.fitted.folded.decided

    @property
    def precedence(self) -> Precedence:
        """How far its precedents are known."""
        return self.fitted.folded.precedence


def _finish(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that waits for nothing. `asyncio.run` would write a task as text together with its result
    (in `signal.getsignal`), which takes seconds for a long conversation."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise RuntimeError("the coroutine waits for something")
