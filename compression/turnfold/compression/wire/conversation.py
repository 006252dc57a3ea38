"""The neutral conversation: a request as folding, recovery and accounting see it, in any wire format.

Lives here: the value that passes between stations, and the changes that a fold asks for. Does not belong here: a key of any wire
format (each has a module of its own beside this one), deciding what is folded.

A wire format reads a body into a `Conversation` and writes `Changes` back as edits of that body's own text. What no edit touches
keeps its bytes. Messages are neutral units of speech, not always the body's own:

- a system text outside of the messages is a pinned message whose span lies there;
- a tool result that is a block inside a user's message is a message of its own, as are the user's own blocks (a `MessageGroup`);
- reasoning that goes with what follows it is one message with it, whose span is the run of both.

So a span may lie anywhere in the body. Spans never overlap, and inside the array of messages they come in order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, starmap
from operator import attrgetter
from typing import Any, Final, Literal

from turnfold.compression import lazy
from turnfold.compression.memo import Grown, Memo
from turnfold.compression.options import StateBlocks
from turnfold.compression.text.dialogue.agent_context import is_agent_context
from turnfold.compression.wire.bare_parts import BarePart
from turnfold.compression.wire.edits import Edit, apply

#: Why a conversation is held: some or all of its history is stored upstream.
SERVER_HISTORY: Final = "server-history"
_PINNED: Final = frozenset({"system", "developer"})
_RESULTS: Final = frozenset({"tool", "function"})
#: In capitals too, as HTML is written.
_KEEP, _KEPT = lazy.pattern("<[kK][eE][eE][pP]>"), lazy.pattern("</[kK][eE][eE][pP]>")

_STATELESS: Final = StateBlocks()

#: The position of a text within a message's JSON: ("content",), ("content", 0, "text"), ("tool_calls", 0, "function",
#: "arguments").
Path = tuple[str | int, ...]
#: New texts of a message, by path.
Texts = Mapping[Path, str]
#: A range of a body's text: the first character, and one past the last.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Text:
    """A text inside a message that a fold may shorten.

    Attributes:
        path: its position, as interpreted by its wire; for others just a name.
        is_json: whether it is the JSON of a call's arguments, and must stay JSON.
    """

    path: Path
    text: str
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id ("" if it has none), the tool's name, and its arguments as written."""

    id: str
    name: str
    arguments: str


_UNPRICED: Final = frozenset({"file", "document", "audio", "video"})  # images have documented prices


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part of a message that is not text: an image, a file, audio, or an unknown kind.

    Attributes:
        path: the part's position in the message.
        kind: "image", "file", "audio", or the part's own type.
        name: its file name or the end of its address; "" if it has neither.
        size: bytes of its content; 0 if that is stored elsewhere.
        in_clear: whether its content is readable text, which is counted as such.
    """

    path: Path
    kind: str
    name: str = ""
    size: int = 0
    in_clear: bool = False

    @property
    def is_unpriced(self) -> bool:
        """Whether it costs tokens that Turnfold cannot count."""
        return self.kind in _UNPRICED and not self.in_clear

    @property
    def label(self) -> str:
        """Its kind, name and size, for people and models."""
        size = f"{self.size:,} bytes" if self.size else ""
        return ", ".join(text for text in (f"{self.kind} {self.name}".strip(), size) if text)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Signed reasoning in a message, and the message without it.

    Attributes:
        tokens: tokens of the reasoning by the border counter.
        bare: the message's JSON text without it; "" if nothing would remain.
        sealed: whether the rest is sealed by something else.
    """

    tokens: int
    bare: str
    sealed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. Messages with equal `key` are equal in everything, except cache marks if their wire's marks move.

    Attributes:
        raw: its JSON text as received; for a run of values, all of them with the commas in between.
        key: content digest of `raw` and of anything determined by its position (such as its role). Marks that move from request
            to request are excluded.
        role: "system", "developer", "user", "assistant", "tool" or "function"; any other value is passed through.
        texts: the text parts of its content, in order.
        arguments: the arguments of its tool calls, in order.
        own: its content's text, parts joined by a newline.
        text: `own` followed by the tool calls' names and arguments; used by recall and summaries.
        tokens: its tokens by the border counter, including overhead.
        other_tokens: the part of `tokens` that is not `text`.
        holds: whether text can be added to its content: a non-blank text, or a list with a part.
        keys: its JSON keys.
        calls: the tool calls that it makes, those with arguments in text.
        call_ids: ids of the tool calls that it makes.
        answers: the id of the tool call that it answers, if it does.
        name: the speaker's name, if given separately from its text; "" for a tool's message.
        is_list: whether its content is a list of parts.
        sealed: whether it is signed or has encrypted reasoning: kept or removed as a whole, never edited.
        marked: whether a part of it carries one of the client's cache marks.
        has_calls: whether it calls tools.
        attached: the parts of its content that are not text.
        sole: its text if that is its only content; None otherwise (images, several parts, no content).
        reasoning: signed reasoning that its wire can remove (see ``Changes.unsigned``); None if there is none.
        takes_mark: whether the last part of its content has no cache mark, and can be given one as it stands.
        bound: whether it is never separated from the message before it, for example between a call and its late result.
        reports: whether it is a user's message with program output (``wire.reports``); such a message is bound.
        fixed: whether it stays verbatim because of its position, for example before a summary of the provider's.
        placed: whether it is an instruction that is only allowed directly after a user's message (``wire.standing``).
        clears: whether it is an instruction that the provider shows to the model only until the user's next message.
        lasting: whether later messages depend on it, for example on tools found by a search; it stays unchanged.
        pinned: whether it always stays verbatim: system and developer messages, and `fixed` ones.
        is_result: whether it answers a tool call, and so belongs to the message before it.
        has_kept: whether it is `lasting`, has a passage marked to be kept (``fold.keeping``), or has context that an agent always
            needs (``text.dialogue.agent_context``).
        written: a cache for its wire: what it last wrote of the message or looked up in `raw`, shared by all requests with the
            message.
    """

    raw: str
    key: bytes
    role: str
    texts: tuple[Text, ...]
    arguments: tuple[Text, ...] = ()
    own: str
    text: str
    tokens: int
    other_tokens: int
    holds: bool
    keys: frozenset[str]
    calls: tuple[Call, ...] = ()
    call_ids: tuple[str, ...] = ()
    answers: str | None = None
    name: str = ""
    is_list: bool
    sealed: bool = False
    marked: bool
    has_calls: bool = False
    attached: tuple[Attachment, ...]
    sole: str | None
    bound: bool = False
    reports: bool = False
    fixed: bool = False
    placed: bool = False
    clears: bool = False
    lasting: bool = False
    reasoning: Reasoning | None = None
    takes_mark: bool = False

    pinned: bool = field(init=False, compare=False)
    is_result: bool = field(init=False, compare=False)
    has_kept: bool = field(init=False, compare=False)
    written: dict[Hashable, Any] = field(init=False, compare=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        # Fields rather than properties, since every stage reads them for every message.
        object.__setattr__(self, "pinned", self.fixed or self.role in _PINNED)
        object.__setattr__(self, "is_result", self.role in _RESULTS)
        # Most texts have no tag, and one character is found many times faster than a pattern.
        kept = "<" in self.text and _KEPT.search(self.text) is not None and _holds_kept(self.text)
        context = self.role == "user" and is_agent_context([part.text for part in self.texts])
        object.__setattr__(self, "has_kept", kept or self.lasting or context)

    @property
    def text_tokens(self) -> int | None:
        """Tokens of `text` by the border counter, if nothing else was counted; otherwise None."""
        return self.tokens - self.other_tokens if self.sole == self.text else None

    @property
    def answered_call(self) -> str:
        """Always empty: determining the answered call requires other messages (``recall.call_labels``)."""
        return ""

    @property
    def speaker(self) -> str:
        """Its role, or "tool" for a user's message that reports, which nobody wrote."""
        return "tool" if self.reports else self.role

    @property
    def is_output(self) -> bool:
        """Whether it is program output: a tool's result, or a user's message that reports."""
        return self.is_result or self.reports

    @property
    def unsigned(self) -> Message:
        """The message as a fold sees it without its reasoning; paths are still those of `raw`."""
        if self.reasoning is None:
            return self
        spent = self.reasoning.tokens
        return replace(
            self,
            key=self.key + b"unsigned",
            sealed=self.reasoning.sealed,
            tokens=self.tokens - spent,
            other_tokens=self.other_tokens - spent,
            reasoning=None,
        )


def _holds_kept(text: str) -> bool:
    begun = _KEEP.search(text)
    return begun is not None and _KEPT.search(text, begun.end()) is not None


def full_text(own: str, calls: Iterable[Call], more: Sequence[str] = ()) -> str:
    """The `text` of a message: its own, followed by the calls' names and arguments, and `more`."""
    spoken = [*(f"{call.name} {call.arguments}" for call in calls), *more]
    return "\n".join([own, *spoken] if own or not spoken else spoken)


def family(messages: Sequence[Message]) -> bytes:
    """A key for caching data of a conversation: the same for all of its requests, but not unique to it."""
    return b"".join([m.key for m in messages[:4]])


class Messages(Grown[Message]):
    """The messages of a conversation, with indices by kind. These are computed once, however often the conversation is sent
    again.

    Args:
        known: earlier messages, with the same first `same` ones.

    Attributes:
        keys: the keys of all messages.
        users, clearing, pinned, results, marked, attached, reasoning, kept: indices of messages that are a user's with content,
            are shown until the next such message, are pinned, answer a tool call, are marked, have attachments, have signed
            reasoning, have a passage to be kept.
    """

    keys: tuple[bytes, ...]
    users: tuple[int, ...]
    clearing: tuple[int, ...]
    pinned: tuple[int, ...]
    results: tuple[int, ...]
    marked: tuple[int, ...]
    attached: tuple[int, ...]
    reasoning: tuple[int, ...]
    kept: tuple[int, ...]

    def __new__(cls, messages: Iterable[Message] = (), known: Messages | None = None, same: int = 0) -> Messages:
        self = super().__new__(cls, messages, known, same)
        new = self[same:]
        self.keys = (known.keys[:same] if known is not None else ()) + tuple([m.key for m in new])
        for name, asks in _ASKED.items():
            before: tuple[int, ...] = getattr(known, name, ())
            setattr(self, name, before[: bisect_left(before, same)] + tuple([i for i, m in enumerate(new, same) if asks(m)]))
        return self

    @property
    def cleared(self) -> frozenset[int]:
        """Indices of instructions that the provider no longer shows to the model."""
        return frozenset(i for i in self.clearing if self.users and self.users[-1] > i)


_ASKED: Final[Mapping[str, Callable[[Message], object]]] = {
    "users": lambda m: m.holds and m.role == "user",
    "clearing": attrgetter("clears"),
    "pinned": attrgetter("pinned"),
    "results": attrgetter("is_result"),
    "marked": attrgetter("marked"),
    "attached": attrgetter("attached"),
    "reasoning": attrgetter("reasoning"),
    "kept": attrgetter("has_kept"),
}


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """Messages ``start..end`` that are parts of one element of the body's array of messages.

    Attributes:
        place: the element's range in the body's text.
    """

    place: Place
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Beside:
    """Texts added to a kept user message: before and after its own text, in order."""

    front: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkMove:
    """The move of a left-out message's cache mark to another message.

    Attributes:
        source: the message with the mark.
        target: the message that gets it.
        place: "front": on the last text inserted before the target's content; "own": on its last part; "behind": on the last
            text inserted after it.
    """

    source: int
    target: int
    place: Literal["front", "own", "behind"]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to a conversation's messages, by their indices.

    Attributes:
        dropped: half-open runs of messages that are left out.
        texts: new texts by path; a path that ends at a part of the content stands for the whole part, which becomes a text.
        beside: texts inserted beside user messages.
        apart: user messages that are written as a list of parts, so that inserted texts are separate parts even if the content
            was a string. A cache mark ends at the end of a part. Clients write a message as parts while it is marked, and as a
            string once the mark has moved, so the parts must be the same.
        breakpoint: the user message whose own text gets a cache breakpoint (OpenAI 5.6 and later); None: none.
        unsigned: messages whose signed reasoning is removed; a message with nothing else is removed too.
        drops_thinking: whether to ask the provider to drop thinking that is no longer valid.
        marks: cache marks of left-out messages, and their new places.
    """

    dropped: tuple[tuple[int, int], ...] = ()
    texts: Mapping[int, Texts] = field(default_factory=dict)
    beside: Mapping[int, Beside] = field(default_factory=dict)
    apart: frozenset[int] = frozenset()
    breakpoint: int | None = None
    unsigned: frozenset[int] = frozenset()
    drops_thinking: bool = False
    marks: tuple[MarkMove, ...] = ()

    @property
    def gone(self) -> frozenset[int]:
        """The indices of all left-out messages."""
        return _one_by_one(self.dropped)


@lru_cache(maxsize=16)
def _one_by_one(runs: tuple[tuple[int, int], ...]) -> frozenset[int]:
    """Cached: between two fold events a conversation's runs are the same, and may cover nearly all of its messages."""
    return frozenset(chain.from_iterable(starmap(range, runs)))


def kept_indices(dropped: Iterable[tuple[int, int]], start: int, end: int) -> Iterator[int]:
    """The messages ``start..end`` that are in none of the left-out runs."""
    at = start
    for begin, stop in sorted(dropped):
        yield from range(at, min(begin, end))
        at = max(at, stop)
    yield from range(at, end)


@dataclass(frozen=True, slots=True)
class OwnReply:
    """An answer written by Turnfold in a wire's form: its content type, and the body in the pieces in which it is sent."""

    content_type: str
    pieces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire format, as functions.

    Attributes:
        name: "chat", "responses" or "messages".
        read: reads a conversation from a body. Raises FoldRejected("unparsable") for a body that is sent upstream unchanged.
        write: makes the edits of the conversation's text for some changes.
        unmarked: the messages' JSON without cache marks, in a form that does not depend on moving marks; used to determine how
            much of another request one repeats.
        unmarked_pieces: the same in pieces, starting at a message with which a piece begins; each piece with the index of the
            first message after it. Raises ValueError if `unmarked` leaves the marks in.
        bare_parts: the parts of a message with a list, in that form; () for any other. Raises ValueError in the same case.
        marks: the names of cache marks.
        reply: Turnfold's own answer to a conversation, streamed if the client asks for that; its text, and Unix time in seconds.
        unmarks_outside: whether `unmarked` starts with messages from outside the array of messages.
    """

    name: str
    read: Callable[[bytes, Memo], Conversation]
    write: Callable[[Conversation, Changes], list[Edit]]
    unmarked: Callable[[Conversation], bytes]
    unmarked_pieces: Callable[[Conversation, int], Iterator[tuple[int, bytes]]]
    bare_parts: Callable[[Conversation, int], Iterator[BarePart]]
    marks: tuple[str, ...]
    reply: Callable[[Conversation, str, int], OwnReply]
    unmarks_outside: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A request, read once.

    Attributes:
        wire: the format of the request.
        text: the whole body as text.
        messages: the messages in order.
        spans: the range of each message in `text`; messages outside `history` are never left out.
        groups: messages that share an element of the array of messages, in order; each other message is an element or a run of
            elements.
        model: the requested model; "" if none.
        schema: JSON text of tools, functions and response format, whose tokens no fold can save.
        output: tokens that the client reserves for the answer; None if unspecified.
        streams: whether the answer is to be streamed.
        keys: the body's top-level keys in order.
        settings: values of those top-level keys that the wire's own reply depends on, or that name a session.
        history: the range of the array of messages in `text`.
        state: the conversation's state, as blocks next to user messages; it is never folded, quoted or stored as an original.
        held: why nothing may be folded or left out, as a slug (`SERVER_HISTORY`); "" if folding is allowed.
        keeps_history: whether the client sends the whole history each time, so that Turnfold's own answer becomes part of it;
            False where the upstream keeps answers for requests that build on them.
        can_drop_thinking: whether the provider can be asked to drop thinking that is no longer valid (see ``Changes``).
        betas: beta features that the body uses and that must be named in a header.
        encoded: `text` in UTF-8, if it was available.
        marked_at_end: whether the client requests a cache mark at the end of the request. Removing text from there later makes
            every later request miss the cache.
    """

    wire: Wire
    text: str
    messages: Messages
    spans: tuple[Place, ...]
    model: str
    schema: str = ""
    output: int | None = None
    streams: bool = False
    keys: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    history: Place = (0, 0)
    groups: tuple[MessageGroup, ...] = ()
    state: StateBlocks = _STATELESS
    held: str = ""
    keeps_history: bool = True
    marked_at_end: bool = False
    can_drop_thinking: bool = False
    betas: tuple[str, ...] = ()
    encoded: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def body(self) -> bytes:
        """The whole body as bytes, as sent."""
        return self.text.encode("utf-8") if self.encoded is None else self.encoded

    @property
    def history_in_body(self) -> Place:
        """The range of the array of messages in `body`."""
        start, end = self.history
        return len(self.text[:start].encode("utf-8")), len(self.body) - len(self.text[end:].encode("utf-8"))

    @property
    def encoded_history(self) -> bytes:
        """The bytes of the array of messages in `body`."""
        start, end = self.history_in_body
        return self.body[start:end]

    def with_state(self, state: StateBlocks) -> Conversation:
        """The same conversation with a state."""
        return replace(self, state=state)

    def with_changes(self, changes: Changes, memo: Memo) -> Conversation:
        """The conversation after the changes, read again from the changed text; the state's blocks are ordinary text there.

        A changed message is not cached separately from the body, since its recall differs in the next request.

        Raises:
            FoldRejected: "unparsable" if the changed text can't be read.
        """
        text = apply(self.text, self.wire.write(self, changes))
        return self.wire.read(text.encode("utf-8"), memo.passing())
