"""A conversation as seen by the reversible compression: what each message is, and what replaces it at a border and a level.

This module divides old messages into those that are kept, shortened alone, merged or replaced by a reference, and writes them.
``budget`` chooses border and level; ``compress_messages`` makes the result as a whole.

The replacement of a message or a run depends only on it and the level, so each is written once however many borders are tried.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from turnfold.compression.roundtrip.condense import (
    LEVELS,
    TOGETHER,
    CondenseLevel,
    OutputText,
    condense,
    headline,
    is_spoken,
    merge,
)
from turnfold.compression.roundtrip.provenance import MessageKeys, bare, can_carry
from turnfold.compression.roundtrip.references import Reference, Repeats, reference_text
from turnfold.compression.roundtrip.values import CompressOptions, characters, texts_of, tokens_by
from turnfold.compression.shorten.reading import Read, Reader
from turnfold.compression.wire.formats.chat import is_sealed
from turnfold.compression.wire.message import Path

_CALLS: Final = ("tool_calls", "function_call")
#: A message with other keys has data that a summary could not represent.
_PLAIN_KEYS: Final = frozenset({"id", "index", "role", "content", "name", "metadata", "timestamp", "created_at"})
_PLAIN_PART: Final = frozenset({"type", "text"})
_MERGED_ROLES: Final = frozenset({"user", "assistant"})
_SPEAKING_ROLES: Final = frozenset({"user", "assistant", "system", "developer"})

#: Why an old message is unchanged, if there is no other reason.
OLD: Final = "nothing shorter came out"


class View(NamedTuple):
    """One message: "fixed" is never changed (`why` gives the reason), "alone" is shortened in place, "run" may become part of a
    summary."""

    kind: str
    why: str = ""


_RUN: Final = View("run")


class Slot(NamedTuple):
    """What to do with the messages ``start..end``: "keep", "shorten", "merge" or "reference"."""

    start: int
    end: int
    action: str
    why: str = ""
    reference: Reference | None = None


class WrittenMessage(NamedTuple):
    """The message written for the messages ``start..end``.

    Attributes:
        message: the message to send, without provenance; the input message if nothing changed.
        action: "kept", "shortened", "merged", "reference", "near reference" or "cut".
        why: in words.
        size, tokens: of `message`.
    """

    start: int
    end: int
    message: Any
    action: str
    why: str
    size: int
    tokens: int


class Sketch:
    """Reads messages on demand; caches what it has written."""

    def __init__(self, messages: Sequence[Any], options: CompressOptions) -> None:
        self.messages = messages
        self.options = options
        self.keys = MessageKeys(messages)
        roles = frozenset(options.preserve)
        self._preserved = roles | {"developer"} if "system" in roles else roles
        self._why_fixed = [self._reason_fixed(i, message) for i, message in enumerate(messages)]
        self._repeats = self._find_repeats(options.fuzzy_threshold if options.fuzzy_dedup else None)
        self._views: dict[int, View] = {}
        self._reader = Reader()
        self._reads: dict[tuple[int, Path], Read | OutputText] = {}
        self._kept: dict[int, WrittenMessage] = {}
        self._told: dict[int, WrittenMessage] = {}  # the same, with the latest reason for each
        self._ends: dict[tuple[int, int], tuple[int, int]] = {}
        self._tellings: dict[tuple[int, int, CondenseLevel], str] = {}
        self._written: dict[tuple[Slot, CondenseLevel], tuple[WrittenMessage, ...]] = {}

    def _find_repeats(self, threshold: float | None) -> Repeats:
        return Repeats(list(self._repeatable()), exact=self.options.dedup, threshold=threshold)

    def without_near_references(self) -> Sketch:
        """The same conversation without references to nearly the same text; both share what was read and written."""
        other = copy.copy(self)
        other._repeats = self._find_repeats(None)
        return other

    # --- what a message is ---

    def _reason_fixed(self, i: int, message: Any) -> str:
        """Why a message must not be changed; "" if it may be."""
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            return "not a message with a role"
        if message["role"] in self._preserved:
            return f"role {message['role']} is preserved"
        if not can_carry(message) or not self.keys.is_readable(i) or not all(_has_utf8(text) for _, text in texts_of(message)):
            return "holds what no store could keep"
        return "signed or sealed reasoning" if is_sealed(message) else ""

    def _repeatable(self) -> Iterator[str | None]:
        """The texts that may become references: whole contents of messages that call no tools."""
        for message, why in zip(self.messages, self._why_fixed, strict=True):
            plain = not why and not any(message.get(key) for key in _CALLS) and isinstance(message.get("content"), str)
            yield message["content"] if plain else None

    def view(self, i: int) -> View:
        """How the message at an index may be treated."""
        if i not in self._views:
            self._views[i] = self._make_view(i)
        return self._views[i]

    def _make_view(self, i: int) -> View:
        if self._why_fixed[i]:
            return View("fixed", self._why_fixed[i])
        message = self.messages[i]
        texts = list(texts_of(message))
        if _is_plain(message):
            reads = [self.read(i, path, text) for path, text in texts]
            if all(one is not None and not one.has_blocks for one in reads):
                return _RUN
        return View("alone") if any(text.strip() for _, text in texts) else View("fixed", "no text in it")

    def read(self, i: int, path: Path, text: str) -> Read | None:
        """A text cut into rated sentences; None for program output."""
        known = self._known(i, path, text)
        return None if isinstance(known, OutputText) else known

    def _known(self, i: int, path: Path, text: str) -> Read | OutputText:
        key = (i, path)
        if key not in self._reads:
            role = self.messages[i]["role"]
            is_said = role in _SPEAKING_ROLES and is_spoken(text)
            self._reads[key] = self._reader.read([(text, role)])[0] if is_said else OutputText(text)
        return self._reads[key]

    def _read_ahead(self, indices: Iterable[int]) -> None:
        """Read the prose of several messages together, which is faster than one by one."""
        texts: dict[tuple[int, Path], tuple[str, str]] = {}
        for i in indices:
            if i not in self._views and not self._why_fixed[i] and (role := self.messages[i]["role"]) in _SPEAKING_ROLES:
                for path, text in texts_of(self.messages[i]):
                    if (i, path) in self._reads:
                        continue
                    if is_spoken(text):
                        texts[i, path] = (text, role)
                    else:
                        self._reads[i, path] = OutputText(text)
        self._reads.update(zip(texts, self._reader.read(list(texts.values())), strict=True))

    # --- what is done to messages ---

    def newest_user(self, border: int) -> int | None:
        """The index of a user's newest message, if it is before the border and may be changed."""
        whole = range(len(self.messages) - 1, -1, -1)
        roles = (message.get("role") if isinstance(message, dict) else None for message in reversed(self.messages))
        place = next((i for i, role in zip(whole, roles, strict=True) if role == "user"), None)
        return place if place is not None and place < border and self.may_change(place) else None

    def slots(self, border: int, level: CondenseLevel, newest: int | None = None) -> Iterator[Slot]:
        """What to do with each message if those before the border are old; every message is in one slot, in order.

        The message at `newest` stays unchanged.
        """
        # At the tightest level, a reference would take more than a message's share of a long summary.
        references = self._repeats.before(border) if level is not LEVELS[-1] else {}
        mild = level is LEVELS[0]
        pinned = {one.target for one in references.values()} if mild else frozenset()
        stops = {*references, *pinned, newest}
        self._read_ahead(i for i in range(border) if i not in stops)
        i = 0
        while i < border:
            if i == newest:
                yield Slot(i, i + 1, "keep", "the newest message of a user")
            elif i in references:
                yield Slot(i, i + 1, "reference", reference=references[i])
            elif i in pinned:
                yield Slot(i, i + 1, "keep", "others refer to it")
            else:
                end = i
                while end < border and end not in stops and self.view(end).kind == "run":
                    end += 1
                if end > i:
                    yield from self._cut(i, end, level)
                    i = end
                    continue
                view = self.view(i)
                yield Slot(i, i + 1, "keep" if view.kind == "fixed" else "shorten", view.why)
            i += 1
        for i in range(border, len(self.messages)):
            yield Slot(i, i + 1, "keep", self._why_fixed[i] or "inside the recency window")

    def _cut(self, start: int, end: int, level: CondenseLevel) -> Iterator[Slot]:
        """Runs that begin and end with the same role, so that the roles around them still alternate."""
        at = start
        while at < end:
            last = self._last_of_run(at, end, level)
            yield Slot(at, last + 1, "merge") if last > at else Slot(at, at + 1, "shorten")
            at = last + 1

    def _last_of_run(self, start: int, end: int, level: CondenseLevel) -> int:
        """The last message of the run that begins at `start`; the same for every border, unless `end` cuts it short."""
        key = (start, LEVELS.index(level))
        if key in self._ends and self._ends[key][0] <= end:
            return self._ends[key][1]
        role = self.messages[start]["role"]
        size, last, stop = 0, start, start + level.messages
        for i in range(start, min(end, stop)):
            size += self.original(i, OLD).size
            if size > level.characters and i > start:
                stop = i
                break
            if self.messages[i]["role"] == role:
                last = i
            elif role != "user":  # an assistant's text stands alone, rather than being attributed quotes of others
                stop = i
                break
        if stop <= end:
            self._ends[key] = stop, last
        return last

    # --- what is written ---

    def replacements(self, slot: Slot, level: CondenseLevel) -> tuple[WrittenMessage, ...]:
        """The messages written for a slot: never larger than its originals, by characters and by the options' counter."""
        if slot.action == "keep":
            return (self.original(slot.start, slot.why),)
        key = (slot, level)
        if key not in self._written:
            self._written[key] = self._write(slot, level)
        return self._written[key]

    def original(self, i: int, why: str) -> WrittenMessage:
        """An unchanged message."""
        if i not in self._kept:
            message = bare(self.messages[i])
            tokens = tokens_by(self.options.token_counter, message) if isinstance(message, dict) else 0
            self._kept[i] = WrittenMessage(i, i + 1, self.messages[i], "kept", OLD, characters(message), tokens)
        one = self._kept[i]
        if why == OLD:
            return one
        unchanged = self._told.get(i)
        if unchanged is None or unchanged.why != why:
            unchanged = self._told[i] = one._replace(why=why)
        return unchanged

    def _write(self, slot: Slot, level: CondenseLevel) -> tuple[WrittenMessage, ...]:
        originals = [self.original(i, OLD) for i in range(slot.start, slot.end)]
        new = _WAYS[slot.action](self, slot, level)
        made = self.replacement(slot.start, slot.end, *new) if new else None
        return (made,) if made and is_smaller(made, originals) else tuple(originals)

    def replacement(self, start: int, end: int, message: Mapping[str, Any], action: str, why: str) -> WrittenMessage:
        """A message that replaces others."""
        tokens = tokens_by(self.options.token_counter, message)
        return WrittenMessage(start, end, message, action, why, characters(message), tokens)

    def with_id(self, start: int, end: int, text: str) -> str:
        """A text, preceded by its summary id if the options ask for it."""
        if not self.options.embed_summary_id:
            return text
        return f"[turnfold {self.keys.summary_id(range(start, end), self.options.source_version)}] {text}"

    def _shorten(self, slot: Slot, level: CondenseLevel) -> tuple[Mapping[str, Any], str, str] | None:
        i = slot.start
        message = self.messages[i]
        new = {path: condense(self._known(i, path, text), level) for path, text in texts_of(message)}
        changed = {path: new[path] for path, text in texts_of(message) if new[path] != text}
        if not changed:
            return None
        first = next(iter(changed))
        return (
            self.with_texts(i, {**changed, first: self.with_id(i, i + 1, changed[first])}),
            "shortened",
            "older than the window",
        )

    def with_texts(self, i: int, texts: Mapping[Path, str]) -> Mapping[str, Any]:
        """The message at a place with new texts."""
        return with_texts(bare(self.messages[i]), texts)

    def _merge(self, slot: Slot, level: CondenseLevel) -> tuple[Mapping[str, Any], str, str]:
        starts = range(slot.start, slot.end, TOGETHER)
        parts = [self._run_text(start, min(start + TOGETHER, slot.end), level) for start in starts]
        text = "\n".join(one for one in parts if one)
        return self.summary(slot.start, slot.end, text), "merged", "one of a run of older messages"

    def _run_text(self, start: int, end: int, level: CondenseLevel) -> str:
        """The kept text of some messages of a run."""
        key = (start, end, level)
        if key not in self._tellings:
            said = [(i, self.read(i, path, text)) for i in range(start, end) for path, text in texts_of(self.messages[i])]
            reads = [(one, _speaker(self.messages[i])) for i, one in said if one]
            self._tellings[key] = merge([one for one, _ in reads], [name for _, name in reads], level)
        return self._tellings[key]

    def summary(self, start: int, end: int, text: str) -> Mapping[str, Any]:
        """The message that replaces a run."""
        first = self.messages[start]
        name = self.keys.summary_id(range(start, end), self.options.source_version)
        head = headline(end - start, name if self.options.embed_summary_id else "")
        own = {"id": name} if "id" in first else {}
        place = {"index": first["index"]} if "index" in first else {}
        return {**own, **place, "role": first["role"], "content": f"{head}\n{text}" if text else head}

    def prose(self, start: int, end: int) -> str | None:
        """The text of these messages for a summarizer; None if some of it must stay unchanged."""
        texts = [(i, text, self.read(i, path, text)) for i in range(start, end) for path, text in texts_of(self.messages[i])]
        if not texts or any(one is None or one.has_blocks for _, _, one in texts):
            return None
        if end - start == 1:
            return texts[0][1] if len(texts) == 1 else None
        return "\n".join(f"{_speaker(self.messages[i])}: {text}" for i, text, _ in texts if text.strip())

    def with_musts(self, start: int, end: int, text: str) -> str:
        """A text, plus any standing orders and secrets of these messages that it lacks."""
        reads = [self.read(i, path, part) for i in range(start, end) for path, part in texts_of(self.messages[i])]
        said = ((one.role, must) for one in reads if one for must in one.musts if must not in text)
        lost = [f"{role}: {must}" if end - start > 1 else must for role, must in said]
        return "\n".join([text, *lost])

    def may_change(self, i: int) -> bool:
        """Whether the message at an index may be changed."""
        return not self._why_fixed[i]

    def _refer(self, slot: Slot, level: CondenseLevel) -> tuple[Mapping[str, Any], str, str] | None:
        del level
        if slot.reference is None:
            return None
        target = self.messages[slot.reference.target]
        text = reference_text(slot.reference, target, len(self.messages[slot.start]["content"]))
        action = "reference" if slot.reference.exact else "near reference"
        why = f"message {slot.reference.target} says the same ({slot.reference.similarity:.0%})"
        return self.with_texts(slot.start, {("content",): self.with_id(slot.start, slot.end, text)}), action, why


_WAYS: Final = {"shorten": Sketch._shorten, "merge": Sketch._merge, "reference": Sketch._refer}


def with_texts(message: Mapping[str, Any], texts: Mapping[Path, str]) -> Mapping[str, Any]:
    """A message with new texts by path, everything else unchanged."""
    if isinstance(message["content"], str):
        return {**message, "content": texts["content",]}
    parts = [
        {**part, "text": texts["content", n, "text"]} if ("content", n, "text") in texts else part
        for n, part in enumerate(message["content"])
    ]
    return {**message, "content": parts}


def is_smaller(made: WrittenMessage, originals: Sequence[WrittenMessage]) -> bool:
    """Whether a replacement is smaller by characters and no larger by tokens."""
    return made.size < sum(one.size for one in originals) and made.tokens <= sum(one.tokens for one in originals)


def _has_utf8(text: str) -> bool:
    """Whether a text can be encoded as UTF-8; a lone surrogate, which JSON allows, cannot."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_plain(message: Mapping[str, Any]) -> bool:
    """Whether a message is nothing but words of a user or an assistant."""
    if message["role"] not in _MERGED_ROLES or not _PLAIN_KEYS.issuperset(message):
        return False
    content = message.get("content")
    if isinstance(content, list):
        return all(
            isinstance(part, dict) and _PLAIN_PART.issuperset(part) and isinstance(part.get("text"), str) for part in content
        )
    return isinstance(content, str)


def _speaker(message: Mapping[str, Any]) -> str:
    name = message.get("name")
    return f"{message['role']} {name}" if isinstance(name, str) and name.strip() else str(message["role"])
