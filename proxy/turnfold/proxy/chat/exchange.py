"""The values that pass between the stations of a chat request.

An admitted request, and the frozen exchange of which each station returns a new one. The stations do their work in modules of
their own.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Protocol, Self

from turnfold.compression.calibration import Learned
from turnfold.compression.fit.unpriced import Attached
from turnfold.compression.fold.adoption import WantedSummary
from turnfold.compression.fold.outlook import Outlook
from turnfold.compression.options import KEEP_NOTHING, FoldOptions, Keep, Precedence, Precedent
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation, Wire
from turnfold.compression.wire.message import Messages
from turnfold.config.settings import Mode, StateMode
from turnfold.proxy.chat.receipts import Originals, OwnCall, Receipt, Status
from turnfold.proxy.chat.recovering import PeekedResponse
from turnfold.proxy.chat.usage import UsageReader
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.trails.trail import Trails

_NOTHING_LEARNED: Final = Learned()
_SMALL: Final = 4096  # bytes of a body: other data of the request takes as much


@dataclass(frozen=True, slots=True)
class Moments:
    """When the stations of a request ended, by the monotonic clock.

    Attributes:
        departed: when it was sent; None if it was not.
        first_byte: of the response's body; None if there was none.
    """

    started: float
    received: float
    departed: float | None
    first_byte: float | None
    ended: float


class RequestTrace(Protocol):
    """The trace of a request."""

    def finish(self, receipt: Receipt, moments: Moments) -> None:
        """End the trace."""
        ...


class _Changeable:
    """A frozen value of many attributes that changes often. A small request takes a dozen changes, which ``dataclasses.replace``
    would make in five times the time. It has no slots, so that its attributes are copied all at once."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def but(self, **changes: Any) -> Self:
        """A copy with other values of these attributes.

        Raises:
            TypeError: there is no such attribute.
        """
        if not changes.keys() <= self.__dataclass_fields__.keys():
            raise TypeError(f"{type(self).__name__} has not all of these: {', '.join(changes)}")
        made = object.__new__(type(self))
        vars(made).update(vars(self), **changes)
        return made


@dataclass(frozen=True)
class ChatRequest(_Changeable):
    """One request, read and let in.

    Attributes:
        at: Unix time of arrival.
        started: the monotonic clock at arrival.
        received: the monotonic clock when the body was whole; our own time counts from here.
        wire: the format of its body.
        to: where it goes.
        headers: what the upstream gets, names in lower case, without a length.
        coding: the body's content coding, lower case; "" for none.
        body: as received.
        keep: what of it is never shaped or shortened.
        tags: names under which the client wants it counted.
        label: what the client calls the conversation, if anything.
        trace: who traces it; None where nobody does.
    """

    id: str
    at: float
    started: float
    received: float
    wire: Wire
    to: Destination
    headers: tuple[tuple[bytes, bytes], ...]
    coding: str
    body: bytes
    mode: Mode
    budget: int | None
    label: str | None
    tenant: str
    state: StateMode = "off"
    keep: Keep = KEEP_NOTHING
    trace: RequestTrace | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exchange(_Changeable):
    """A request on its way through the stations; each returns a new one.

    Attributes:
        conversation: the request as read, under its state; None where it was not read, or could not be.
        plain: the body without its coding, where it is large; `conversation` has no more than its model then, if it was read in a
            process of its own.
        settled: whether what goes out is decided, so that no station behind changes it.
        body: what goes out; None: the bytes that came in.
        uncounted: whether it goes out as it came whatever its fold says, which is asked while the upstream works on it.
        sent: what goes out as a conversation, where that is not `conversation` itself.
        folded: whether something is folded in it.
        recoverable: whether we may make it smaller and send it once more, should its context be full.
        status, reason, tokens, sections, trails: for the receipt; tokens before and after, None where nobody counted.
        betas: features of the provider's that what goes out uses, and that are named in a header.
        loop: whether a tool's result ends the request.
        compacted: whether a summary of the provider's own stands for the beginning of the request.
        unpriced: whether it has attachments that Turnfold cannot count; `tokens` does not include them.
        attached: the attachments of what goes out that may weigh more than we count.
        outlook: when the conversation's next fold comes; None where nobody looked.
        events: fold events that the conversation has seen so far, where something is folded.
        name: the client's label of the conversation, else the engine's name for it.
        known: what was learned of the model's window and count before this was sent.
        verdict: what became of it under the state; "" where state is off.
        answer: the upstream's answer, or one of our own.
        departed: the monotonic clock when it was sent; None: it was not.
        upstream_status: None where the upstream never answered.
        calls: what else was asked of the upstream for it.
        decided: what was decided for its fold, and has to be kept before it is sent.
        precedence: as of ``Folded``.
        wanted: blocks of its fold for which a written summary would be used.
        open_questions: indices of user messages of which sentence vectors have not said yet what they recall.
        recall: what chose the passages that are recalled: "words", or "vectors" beside them; "" for none, or without a model.
        options: what it was folded under in a process of its own; None where it was not.
        changes: what was done to its messages, where it was folded here and nothing else made it smaller.
        large_thoughts: `thoughts` of what was read in a process of its own.
    """

    request: ChatRequest
    conversation: Conversation | None = None
    plain: bytes | None = None
    settled: bool = False
    body: bytes | None = None
    uncounted: bool = False
    sent: Conversation | None = None
    folded: bool = False
    recoverable: bool = False
    status: Status = "passthrough"
    reason: str = "client-left"
    tokens: tuple[int, int] | None = None
    sections: Originals = ()
    betas: tuple[str, ...] = ()
    trails: Trails | None = None
    loop: bool = False
    compacted: bool = False
    unpriced: bool = False
    attached: tuple[Attached, ...] = ()
    outlook: Outlook | None = None
    events: int = 0
    name: str | None = None
    known: Learned = _NOTHING_LEARNED
    verdict: str = ""
    answer: PeekedResponse | None = None
    departed: float | None = None
    upstream_status: int | None = None
    calls: tuple[OwnCall, ...] = ()
    decided: tuple[Precedent, ...] = ()
    precedence: Precedence = Precedence()  # noqa: RUF009 - frozen
    wanted: tuple[WantedSummary, ...] = ()
    open_questions: tuple[int, ...] = ()
    recall: str = ""
    options: FoldOptions | None = None
    changes: Changes | None = None
    large_thoughts: tuple[bytes, ...] = ()

    @property
    def thoughts(self) -> tuple[bytes, ...]:
        """Keys of the messages with thinking in what goes out."""
        sent = self.sent or self.conversation
        if sent is None or not sent.messages:
            return self.large_thoughts
        return tuple([sent.messages[index].key for index in sent.messages.reasoning])

    @property
    def model(self) -> str:
        """The model that the client named; "" if none, or if the body could not be read."""
        return self.conversation.model if self.conversation is not None else ""

    @property
    def outgoing(self) -> bytes:
        """The bytes to send."""
        return self.request.body if self.body is None else self.body

    def settle(self, status: Status, reason: str = "") -> Exchange:
        """Mark the outgoing request as final."""
        return self.but(settled=True, status=status, reason=reason)

    def without_bodies(self) -> Exchange:
        """A copy without large bodies, for after the request was sent: streams last minutes and do not need them."""
        if len(self.request.body) <= _SMALL:
            return self
        request = self.request.but(body=b"")
        bare = self.conversation
        if bare is not None:
            bare = replace(bare, text="", encoded=None, messages=Messages(), spans=())
        return self.but(request=request, conversation=bare, plain=None, body=b"", sent=None, changes=None)


@dataclass(slots=True)
class Watch:
    """What is seen of a response as it passes by: the one thing that changes while an exchange is relayed.

    A chunk is read when the next one comes or somebody asks: by then it has gone out.

    Attributes:
        relayed: whether the body came to its end, and the client was there to have it.
    """

    first_byte: float | None = None
    relayed: bool = False
    _reader: UsageReader = field(default_factory=UsageReader)
    _unread: bytes = b""

    @property
    def reader(self) -> UsageReader:
        """The reader of everything seen so far."""
        if chunk := self._unread:
            self._unread = b""
            self._reader.feed(chunk)
        return self._reader

    @property
    def complete(self) -> bool:
        """Whether the client was given all there is: a stream's last event, if not the end of the body."""
        return self.relayed or self.reader.has_ended

    def expect(self, coding: str, *, streamed: bool) -> None:
        """Set the body's content coding, and whether it is a stream of events."""
        self._reader = UsageReader(coding, streamed=streamed)

    def see(self, chunk: bytes) -> None:
        """Take a chunk of the body."""
        if self.first_byte is None:
            self.first_byte = time.perf_counter()
        if self._unread:
            self._reader.feed(self._unread)
        self._unread = chunk
