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

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, starmap
from operator import attrgetter
from typing import Any, Final, Literal

from turnfold.compression.memo import Grown, Memo
from turnfold.compression.options import StateBlocks
from turnfold.compression.text.dialogue.agent_context import is_agent_context
from turnfold.compression.wire.bare_parts import BarePart
from turnfold.compression.wire.edits import Edit, apply

#: Why a conversation is held whose history, or a part of it, lies upstream.
SERVER_HISTORY: Final = "server-history"
_PINNED: Final = frozenset({"system", "developer"})
_RESULTS: Final = frozenset({"tool", "function"})
#: In capitals too, as HTML is written.
_KEEP, _KEPT = re.compile("<[kK][eE][eE][pP]>"), re.compile("</[kK][eE][eE][pP]>")

_STATELESS: Final = StateBlocks()

#: Where a text stands inside a message's JSON: ("content",), ("content", 0, "text"), ("tool_calls", 0, "function", "arguments").
Path = tuple[str | int, ...]
#: New texts of one message by their paths.
Texts = Mapping[Path, str]
#: Where something stands in a body's text: the first character, and the one behind the last.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Text:
    """A text inside a message that a fold may shorten.

    Attributes:
        path: where it stands, as its wire knows it; to all others a name.
        is_json: whether it is the JSON of a call's arguments, and has to stay JSON.
    """

    path: Path
    text: str
    is_json: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: its id ("" where it has none), the tool's name, its arguments as written."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """A part of a message that is not text: an image, a file, audio, or a kind that nobody here knows.

    Attributes:
        path: where the part stands in the message.
        kind: "image", "file", "audio", or the part's own type.
        name: its file name or the end of its address, "" where it has none.
        size: bytes of its content, 0 where that lies elsewhere.
    """

    path: Path
    kind: str
    name: str = ""
    size: int = 0

    @property
    def label(self) -> str:
        """Its kind, name and size, for people and models."""
        size = f"{self.size:,} bytes" if self.size else ""
        return ", ".join(text for text in (f"{self.kind} {self.name}".strip(), size) if text)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Signed reasoning in a message, and what the message would be without it.

    Attributes:
        tokens: tokens of the reasoning by the border counter.
        bare: the message's JSON text without it; "" where nothing would be left.
        sealed: whether what is left is sealed by something else.
    """

    tokens: int
    bare: str
    sealed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message; two messages of equal `key` are equal in everything but cache marks, where their wire's marks move.

    Attributes:
        raw: its JSON text as received; of a run of values all of them, with the commas between them.
        key: content digest: of `raw`, and of what its place makes of it where that says more (its role, say). Where marks move
            from request to request they are no part of it.
        role: "system", "developer", "user", "assistant", "tool" or "function"; anything else is carried as it is.
        texts: the text parts of its content, in order.
        arguments: the arguments of its tool calls, in order.
        own: its content's text, parts joined by a newline.
        text: `own` with the tool calls' names and arguments behind it: what recall and summaries read.
        tokens: its tokens by the border counter, overhead included.
        other_tokens: those of them that are not tokens of `text`.
        holds: whether text can be put beside its content: a text that is not blank, or a list with a part in it.
        keys: its keys.
        calls: the tool calls that it makes, those with arguments in text.
        call_ids: ids of the tool calls that it makes.
        answers: the id of the tool call that it answers, if it does.
        name: who speaks in its role, where it says so beside its text; "" for a tool's.
        is_list: whether its content is a list of parts.
        sealed: whether it is signed or carries encrypted reasoning: whole or gone, never edited.
        marked: whether a part of it carries one of the client's cache marks.
        has_calls: whether it calls tools.
        attached: the parts of its content that are not text.
        sole: its text where that is all its content holds; None for anything else (images, several parts, no content).
        reasoning: signed reasoning in it that its wire can take out (see ``Changes.unsigned``); None where there is none.
        takes_mark: whether the last part of its content has no cache mark, and can be given one as it stands.
        bound: whether it is never parted from the message before it, as what stands between a call and its late result.
        reports: whether it is a user's message that holds what a program gave (``wire.reports``); it is bound then.
        fixed: whether it is verbatim for ever because of its place, as what stands before a summary of the provider's.
        placed: whether it is an instruction that may stand right behind a user's message only (``wire.standing``).
        clears: whether it is an instruction that the provider shows to the model only until the user's next message.
        lasting: whether what follows rests on it, as on the tools that a search found: it is left as it is.
        pinned: whether it is verbatim for ever: system and developer messages, and those that are `fixed`.
        is_result: whether it answers a tool call and so belongs to the message before it.
        has_kept: whether it is `lasting`, a passage in it is marked to be kept (``fold.keeping``), or it holds what an agent
            always needs (``text.dialogue.agent_context``).
        written: what its wire last wrote of it, or looked up in `raw`, to do it once for all requests that hold the message.
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
        # Fields and not properties: every station asks them of every message.
        object.__setattr__(self, "pinned", self.fixed or self.role in _PINNED)
        object.__setattr__(self, "is_result", self.role in _RESULTS)
        # Most texts have no tag, and one sign is found many times as fast as several.
        kept = "<" in self.text and _KEPT.search(self.text) is not None and _holds_kept(self.text)
        context = self.role == "user" and is_agent_context([part.text for part in self.texts])
        object.__setattr__(self, "has_kept", kept or self.lasting or context)

    @property
    def text_tokens(self) -> int | None:
        """Tokens of `text` by the border counter, where it is all that was counted."""
        return self.tokens - self.other_tokens if self.sole == self.text else None

    @property
    def answered_call(self) -> str:
        """Nothing: which call it answers takes other messages to tell (``recall.call_labels``)."""
        return ""

    @property
    def speaker(self) -> str:
        """Its role, and "tool" of a user's message that reports: nobody said it."""
        return "tool" if self.reports else self.role

    @property
    def is_output(self) -> bool:
        """Whether a program gave it: a tool's result, or a user's message that reports."""
        return self.is_result or self.reports

    @property
    def unsigned(self) -> Message:
        """The same message as a fold sees it once its reasoning is taken out; paths stay those of `raw`."""
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
    """The `text` of a message: its own, with the calls' names and arguments, and more that it says, behind it."""
    spoken = [*(f"{call.name} {call.arguments}" for call in calls), *more]
    return "\n".join([own, *spoken] if own or not spoken else spoken)


def family(messages: Sequence[Message]) -> bytes:
    """What the requests of one conversation have in common, to remember things by; others may have it too."""
    return b"".join([m.key for m in messages[:4]])


class Messages(Grown[Message]):
    """The messages of a conversation, and where among them those stand that stations ask for: found once for each, however often
    the conversation is sent again.

    Args:
        known: other messages of which the first `same` are these.

    Attributes:
        keys: of all of them.
        users, clearing, pinned, results, marked, attached, reasoning, kept: indices of those that are a user's and hold
            something, are shown until the next of these, are pinned, answer a tool call, are marked, have something attached,
            hold signed reasoning, have a passage to be kept.
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
        place: where that element stands in the body's text.
    """

    place: Place
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Beside:
    """Texts that stand beside one kept user message's own, in front of it and behind it, in order."""

    front: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkMove:
    """The cache mark of a message that is left out, on what is sent of another.

    Attributes:
        source: the message that carries it.
        target: the message that it goes to.
        place: "front": on the last text inserted before the target's content; "own": on its last part; "behind": on the last
            text inserted after it.
    """

    source: int
    target: int
    place: Literal["front", "own", "behind"]


@dataclass(frozen=True, slots=True)
class Changes:
    """What becomes of a conversation's messages, by their indices.

    Attributes:
        dropped: half-open runs of messages that are left out.
        texts: new texts by path; a path that ends at a part of the content stands for the whole part, which becomes a text.
        beside: texts inserted beside user messages.
        apart: user messages that are written as a list of parts, so that inserted texts are parts of their own even beside a text
            that was a string. A cache mark ends where a part ends, and clients write a message as parts while they mark it and
            as a string when the mark has moved on: the parts must be the same.
        breakpoint: the user message whose own text gets a cache breakpoint (OpenAI 5.6 and later); None: none.
        unsigned: messages whose signed reasoning is taken out; one that holds nothing else goes with it.
        drops_thinking: whether the provider is asked to drop thinking that is no longer valid.
        marks: cache marks of messages that are left out, and where they go.
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
        """The messages that are left out, one by one."""
        return _one_by_one(self.dropped)


@lru_cache(maxsize=16)
def _one_by_one(runs: tuple[tuple[int, int], ...]) -> frozenset[int]:
    """Between two fold events a conversation's are the same, and may be nearly all of its messages."""
    return frozenset(chain.from_iterable(starmap(range, runs)))


def kept_indices(dropped: Iterable[tuple[int, int]], start: int, end: int) -> Iterator[int]:
    """Those of the messages ``start..end`` that are not in the runs which are left out."""
    at = start
    for begin, stop in sorted(dropped):
        yield from range(at, min(begin, end))
        at = max(at, stop)
    yield from range(at, end)


@dataclass(frozen=True, slots=True)
class OwnReply:
    """An answer written by Turnfold in the form of a wire: its content type, and the body in the pieces in which it is
    written."""

    content_type: str
    pieces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire format, as functions.

    Attributes:
        name: "chat", "responses" or "messages".
        read: a body to its conversation. Raises FoldRejected("unparsable") for a body that goes upstream as it came.
        write: changes to the edits of the conversation's own text that make them.
        unmarked: the messages' JSON without cache marks, in a form that a moving mark does not change: what tells how far one
            request repeats another.
        unmarked_pieces: the same of a conversation with marks, from a message on with which one of the pieces begins: each
            piece with the index of the first message behind it. Raises ValueError where `unmarked` leaves the marks in.
        bare_parts: the parts of a message that is a list, in that form; () of one that is none. Raises ValueError as they do.
        marks: what a cache mark is called there.
        reply: Turnfold's own answer to a conversation, streamed if the client asks for that; its text, and Unix time in seconds.
        unmarks_outside: whether `unmarked` has messages in front that stand outside of the array of messages.
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
        wire: the format that it came in.
        text: the whole body as text.
        messages: the messages in order.
        spans: where each message stands in `text`; one outside of `history` is never left out.
        groups: messages that share an element of the array of messages, in order; all others are elements of their own, or runs
            of such.
        model: the model asked for, "" when none.
        schema: JSON text of tools, functions and response format: tokens that no fold can save.
        output: tokens that the client asks to be kept free for the answer; None where it does not say.
        streams: whether the answer is to be streamed.
        keys: the body's top-level keys in order.
        settings: values of those top-level keys that the wire's own reply depends on, or that name a session.
        history: where the array of messages stands in `text`.
        state: the state of the conversation, as blocks beside user messages; it is no part of what is folded, quoted or kept as
            an original.
        held: why nothing of it may be folded or left out, as a slug (`SERVER_HISTORY`); "" where it may.
        keeps_history: whether the client sends the whole history each time, so that Turnfold's own answer becomes part of it;
            False where the upstream keeps answers for requests that build on them.
        can_drop_thinking: whether the provider can be asked to drop thinking that is no longer valid (see ``Changes``).
        betas: beta features that the body uses and that must be named in a header.
        encoded: `text` in UTF-8, where whoever made this had it.
        marked_at_end: whether the client asks for a cache mark at the end of whatever is sent: what is taken back from there
            later makes every later request miss.
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
        """The whole body as bytes: what is sent."""
        return self.text.encode("utf-8") if self.encoded is None else self.encoded

    @property
    def history_in_body(self) -> Place:
        """Where the array of messages stands in `body`."""
        start, end = self.history
        return len(self.text[:start].encode("utf-8")), len(self.body) - len(self.text[end:].encode("utf-8"))

    @property
    def encoded_history(self) -> bytes:
        """The array of messages as it stands in `body`."""
        start, end = self.history_in_body
        return self.body[start:end]

    def with_state(self, state: StateBlocks) -> Conversation:
        """The same conversation under a state."""
        return replace(self, state=state)

    def with_changes(self, changes: Changes, memo: Memo) -> Conversation:
        """What the changes make of it, read anew from the text that they give; the state's blocks are text there.

        A message that they change is known as part of the body alone: what is recalled in it is something else in the next one.

        Raises:
            FoldRejected: "unparsable" when the changes spoil the text.
        """
        text = apply(self.text, self.wire.write(self, changes))
        return self.wire.read(text.encode("utf-8"), memo.passing())
