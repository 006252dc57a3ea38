"""The neutral conversation: a request as folding, recovery and accounting see it, in any wire format.

This is the value that passes between stations, with the functions that a wire format offers (`Wire`). It knows no key of any
format and does not decide what is folded.

A wire format reads a body into a `Conversation` and writes `Changes` back as edits of that body's own text. What no edit touches
keeps its bytes. Messages are neutral units of speech, not always the body's own:

- a system text outside of the messages is a pinned message whose span lies there;
- a tool result that is a block inside a user's message is a message of its own, as are the user's own blocks (a `MessageGroup`);
- reasoning that goes with what follows it is one message with it, whose span is the run of both.

So a span may lie anywhere in the body. Spans never overlap, and inside the array of messages they come in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from turnfold.compression.memo import Memo
from turnfold.compression.options import StateBlocks
from turnfold.compression.wire.bare_parts import BarePart
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.edits import Edit, apply
from turnfold.compression.wire.message import Messages

#: Why a conversation is held: some or all of its history is stored upstream.
SERVER_HISTORY: Final = "server-history"
_STATELESS: Final = StateBlocks()

#: A range of a body's text: the first character, and one past the last.
Place = tuple[int, int]


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
        settings: values of those top-level keys that the wire's own reply depends on, that name a session or that mark the end.
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
