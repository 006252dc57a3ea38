"""One message of a conversation in neutral form, and the sequence of them.

A message says what later stations ask of it (its texts, calls, attachments, tokens, and whether it may be folded) whatever
format it came in. This module knows no key of any format; each of ``wire.formats`` fills a message from its own JSON.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

from turnfold.compression import lazy
from turnfold.compression.memo import Grown
from turnfold.compression.text.dialogue.agent_context import is_agent_context

_PINNED: Final = frozenset({"system", "developer"})
_RESULTS: Final = frozenset({"tool", "function"})
#: In capitals too, as HTML is written.
_KEEP, _KEPT = lazy.pattern("<[kK][eE][eE][pP]>"), lazy.pattern("</[kK][eE][eE][pP]>")

#: The position of a text within a message's JSON: ("content",), ("content", 0, "text"), ("tool_calls", 0, "function",
#: "arguments").
Path = tuple[str | int, ...]
#: New texts of a message, by path.
Texts = Mapping[Path, str]


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
        source: a digest of its content, or of its id or address; "" if it has none of them.
    """

    path: Path
    kind: str
    name: str = ""
    size: int = 0
    in_clear: bool = False
    source: str = ""

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
        in_doubt: whether that could not be told at its own request.
        fixed: whether it stays verbatim because of its position, for example before a summary of the provider's.
        placed: whether it is an instruction that is only allowed directly after a user's message (``wire.standing``).
        clears: whether it is an instruction that the provider shows to the model only until the user's next message.
        lasting: whether later messages depend on it, for example on tools found by a search; it stays unchanged.
        pinned: whether it always stays verbatim: system and developer messages, and `fixed` ones.
        is_result: whether it answers a tool call, and so belongs to the message before it.
        has_kept: whether it is `lasting`, or has a passage marked to be kept (``fold.keeping``).
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
    in_doubt: bool = False
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
        object.__setattr__(self, "has_kept", kept or self.lasting)

    @property
    def has_context(self) -> bool:
        """Whether it has context that an agent always needs (``text.dialogue.agent_context``)."""
        return self.role == "user" and is_agent_context([part.text for part in self.texts])

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
    contexts: tuple[int, ...]

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
    "contexts": attrgetter("has_context"),
}
