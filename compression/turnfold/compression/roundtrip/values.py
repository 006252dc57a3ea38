"""Values of the reversible compression of messages: its options and results.

Validated input and output. They are made in ``compress_messages`` and ``budget``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

from turnfold.compression.errors import InvalidInput, is_whole, is_within, require
from turnfold.compression.roundtrip.option_types import Message
from turnfold.compression.wire.message import Path

TokenCounter = Callable[[Message], int]

_CHARACTERS_PER_TOKEN: Final = 3.5
_CALLING: Final = frozenset({"tool_calls", "function_call", "function", "custom"})


def texts_of(message: Message) -> Iterator[tuple[Path, str]]:
    """The texts of a message's content, each with its path in the message."""
    content = message.get("content")
    if isinstance(content, str):
        yield ("content",), content
    elif isinstance(content, list):
        for i, part in enumerate(content):
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield ("content", i, "text"), part["text"]


def _calls_of(message: Message) -> Iterator[str]:
    """Names and arguments of the tool calls."""
    calls = message.get("tool_calls")
    for call in [*(calls if isinstance(calls, list) else []), message]:
        for kind in ("function", "custom", "function_call"):
            body = call.get(kind) if isinstance(call, dict) else None
            if isinstance(body, dict):
                yield from (body[name] for name in ("name", "arguments", "input") if isinstance(body.get(name), str))


def characters(message: object) -> int:
    """Characters of a message that a model reads: the texts of its content, and names and arguments of its tool calls."""
    if not isinstance(message, dict):
        return 0
    content = message.get("content")
    size = len(content) if isinstance(content, str) else sum([len(text) for _, text in texts_of(message)])
    return size if _CALLING.isdisjoint(message) else size + sum(map(len, _calls_of(message)))


def readable(message: Message) -> str:
    """All text of a message that a model reads, line by line."""
    return "\n".join([*(text for _, text in texts_of(message)), *_calls_of(message)])


def default_token_counter(message: Message) -> int:
    """Approximate tokens of a message: one for every 3.5 characters, rounded up."""
    return math.ceil(characters(message) / _CHARACTERS_PER_TOKEN)


def tokens_by(counter: TokenCounter, message: Message) -> int:
    """Tokens of a message by a caller's counter.

    Raises:
        InvalidInput: the counter did not return a number of tokens.
    """
    tokens = counter(message)
    require(("token_counter", is_within(tokens, 0, sys.float_info.max), "must return a finite number from 0 for every message"))
    return tokens


@dataclass(frozen=True, slots=True)
class CompressOptions:
    """How messages are compressed.

    Attributes:
        preserve: roles that are never changed; ``system`` includes its newer name ``developer``.
        recency_window: number of newest messages that stay unchanged; with a budget it is searched for.
        source_version: the caller's version number, written to every provenance.
        token_budget: maximum number of tokens of all messages; None: no limit.
        min_recency_window: minimum window under a budget.
        dedup: if true, a repeated text of 200 characters or more becomes a reference.
        fuzzy_dedup: if true, a nearly identical text does too.
        fuzzy_threshold: similarity threshold, from 0 to 1 (similarity of line multisets).
        embed_summary_id: if true, the summary's id is included in its text.
        force_converge: if true, messages older than the window are truncated if nothing milder fits the budget.
        token_counter: tokens of one message.
        trace: if true, the result says what was done to each message and why.

    Raises:
        InvalidInput: an option is invalid; it names the option.
    """

    preserve: tuple[str, ...] = ("system",)
    recency_window: int = 4
    source_version: int = 0
    token_budget: int | None = None
    min_recency_window: int = 0
    dedup: bool = True
    fuzzy_dedup: bool = False
    fuzzy_threshold: float = 0.85
    embed_summary_id: bool = False
    force_converge: bool = False
    token_counter: TokenCounter = default_token_counter
    trace: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.preserve, list | set | frozenset):
            object.__setattr__(self, "preserve", tuple(sorted(self.preserve, key=str)))
        require(
            ("preserve", _are_roles(self.preserve), "must be a list of roles"),
            ("recency_window", is_whole(self.recency_window), "must be a whole number from 0"),
            ("source_version", is_whole(self.source_version), "must be a whole number from 0"),
            ("token_budget", self.token_budget is None or is_whole(self.token_budget), "must be a whole number from 0"),
            ("min_recency_window", is_whole(self.min_recency_window), "must be a whole number from 0"),
            ("fuzzy_threshold", is_within(self.fuzzy_threshold, 0, 1), "must be a number from 0 to 1"),
            ("token_counter", callable(self.token_counter), "must be a function of a message"),
            *((name, isinstance(getattr(self, name), bool), "must be true or false") for name in _SWITCHES),
        )

    @classmethod
    def of(cls, options: CompressOptions | Mapping[str, Any] | None) -> CompressOptions:
        """Options from any accepted form; None gives the defaults.

        Raises:
            InvalidInput: an option is unknown or invalid.
        """
        if options is None or isinstance(options, CompressOptions):
            return options or cls()
        if not isinstance(options, Mapping):
            raise InvalidInput("options", "must be CompressOptions or a mapping")
        known = {field.name for field in fields(cls)}
        if unknown := [str(name) for name in options if name not in known]:
            raise InvalidInput(unknown[0], "is no option")
        return cls(**options)


_SWITCHES: Final = ("dedup", "fuzzy_dedup", "embed_summary_id", "force_converge", "trace")


def _are_roles(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(role, str) for role in value)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of a compression; ratios are size before divided by size after, above 1 if something was saved.

    Attributes:
        original_version: the options' ``source_version``.
        ratio: by characters.
        token_ratio: by the options' counter.
        messages_compressed: messages that were shortened or became part of a summary.
        messages_preserved: messages that are unchanged.
        messages_deduped: messages that became a reference to the same text elsewhere.
        messages_fuzzy_deduped: messages that became a reference to nearly the same text.
    """

    original_version: int
    ratio: float
    token_ratio: float
    messages_compressed: int
    messages_preserved: int
    messages_deduped: int
    messages_fuzzy_deduped: int


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """What was done to one message.

    Attributes:
        index: its index among the input messages, from 0.
        id: its key in ``verbatim``; "" if it is unchanged.
        action: "kept", "shortened", "merged", "reference", "near reference" or "cut".
        reason: the reason, in words.
        into: index of its replacement among the output messages.
        before: characters of the original.
        after: characters of its replacement; for a merged message those of the whole summary.
    """

    index: int
    id: str
    action: str
    reason: str
    into: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Compressed:
    """Messages and their originals as one value: keep both together, or neither.

    Attributes:
        messages: messages to send; provenance is in ``metadata`` (`strip_provenance` removes it).
        verbatim: original messages by key.
        compression: figures.
        result_id: content hash of input and output; part of every provenance.
        fits: whether the budget is met; None without one.
        token_count: tokens of `messages`; None without a budget.
        recency_window: the window that was found; None without a budget.
        trace: an entry for each input message, if requested.
    """

    messages: list[Any]
    verbatim: Mapping[str, Any]
    compression: Figures
    result_id: str
    fits: bool | None = None
    token_count: int | None = None
    recency_window: int | None = None
    trace: tuple[TraceEntry, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, without fields that do not apply."""
        value: dict[str, Any] = {
            "messages": self.messages,
            "verbatim": dict(self.verbatim),
            "compression": _plain(self.compression),
            "result_id": self.result_id,
        }
        rest = {"fits": self.fits, "token_count": self.token_count, "recency_window": self.recency_window}
        value |= {name: found for name, found in rest.items() if found is not None}
        return value if self.trace is None else value | {"trace": [_plain(decision) for decision in self.trace]}


@dataclass(frozen=True, slots=True)
class Uncompressed:
    """Restored messages.

    Attributes:
        messages: messages with originals in place of compressed ones.
        messages_expanded: compressed messages that were restored.
        messages_passthrough: messages that were not compressed.
        missing_ids: keys that the store does not have; their messages are left unchanged.
        edited_ids: keys of the originals of messages whose content was edited after they were compressed; `messages` has the
            edited ones.
        deleted_ids: keys of originals whose compressed message was deleted; empty if the store is a function, which cannot list
            its keys.
    """

    messages: list[Any]
    messages_expanded: int
    messages_passthrough: int
    missing_ids: tuple[str, ...] = ()
    edited_ids: tuple[str, ...] = ()
    deleted_ids: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in _plain(self).items()}


def _plain(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


@dataclass(frozen=True, slots=True)
class Results:
    """The originals of several results by result id; keys are only unique within a result."""

    verbatim: Mapping[str, Mapping[str, Any]]


#: Originals by key: a mapping, a function that returns None for unknown keys, or several results.
Lookup = Mapping[str, Any] | Callable[[str], Any] | Results


def look_up(store: Lookup, key: str, result_id: str) -> Any:
    """An original of a result; None if the store does not have it.

    Raises:
        InvalidInput: the store's value is not a message.
    """
    if isinstance(store, Results):
        found = store.verbatim.get(result_id, NOTHING).get(key)
    else:
        found = store.get(key) if isinstance(store, Mapping) else store(key)
    require(("store", found is None or isinstance(found, Mapping), f"must give a message or None for {key!r}"))
    return found


#: A store without originals.
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
