"""Which of a request's user messages a conversation's record has seen.

The digest of a message, and the longest run of messages that the record contains in the same order. What a message does to the
state is decided in `placement`; the bytes of the record are in `record`.

Clients differ in what they send under one label: the whole history, a window of it, only the newest messages, a history that
was edited or cut. What all of these repeat is a run of messages; what stands behind it is new.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from turnfold.compression.memo import digest

#: Bytes of a message's digest.
KEY_SIZE: Final = 8


@dataclass(frozen=True, slots=True)
class Run:
    """Messages `start` to `end` of a request, which are messages `at` and following of the record."""

    start: int = 0
    end: int = 0
    at: int = 0

    @property
    def length(self) -> int:
        """The number of messages."""
        return self.end - self.start


def message_key(text: str, *, whole: bool) -> bytes:
    """Digest of a user message, ignoring outer white space; `whole` says whether the text is its only content."""
    return digest("text" if whole else "parts", text.strip())[:KEY_SIZE]


def seen_run(seen: Sequence[bytes], keys: Sequence[bytes]) -> Run:
    """The longest run of a request's messages that the record has seen.

    The request's last message belongs to it only if it is certain to be a repetition: the run ends with the record's last message
    (the same request, sent again), or it begins at the request's first message and has several messages (a truncated history).
    Otherwise a client that sends only its newest messages could never repeat a message.
    """
    run = longest_run(seen, keys)
    if run.end < len(keys) or run.at + run.length == len(seen):
        return run
    if run.length > 1 and keys[-2] == seen[-1]:  # the message before the last one is the newest that was seen
        length = _common_end(seen, keys[:-1])
        return Run(len(keys) - 1 - length, len(keys) - 1, len(seen) - length)
    return run if run.start == 0 and run.length > 1 else longest_run(seen, keys[:-1])


def _common_end(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((length for length, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def resumed_at(seen: Sequence[bytes], keys: Sequence[bytes], run: Run) -> int:
    """The first message after all that were seen, not counting the last message. In an edited history, more runs follow."""
    later = set(seen[run.at + run.length :])
    return max((at + 1 for at in range(run.end, len(keys) - 1) if keys[at] in later), default=run.end)


def longest_run(seen: Sequence[Hashable], keys: Sequence[Hashable]) -> Run:
    """The longest run of `keys` that is also a run of `seen`; among equals, the last in both. Takes linear time."""
    if not seen or not keys:
        return Run()
    if len(seen) <= len(keys) and all(a == b for a, b in zip(seen, keys, strict=False)):
        return Run(0, len(seen), 0)  # a client that sends its whole history
    # Read backwards, the first match is the last one.
    length, first, at = 0, 0, 0
    for back, (matched, end) in enumerate(_Runs(keys[::-1]).matches(seen[::-1])):
        if matched > length:
            length, first, at = matched, len(keys) - 1 - end, len(seen) - 1 - back
    return Run(first, first + length, at)


@dataclass(slots=True)
class _SeenNode:
    length: int
    link: int
    end: int
    next: dict[Hashable, int] = field(default_factory=dict)


class _Runs:
    """All runs of a sequence, as a suffix automaton (Blumer et al., 1985, "The smallest automaton recognizing the subwords of a
    text").

    Takes linear time to build, and linear time to match a text.
    """

    def __init__(self, items: Sequence[Hashable]) -> None:
        self._nodes = [_SeenNode(0, -1, -1)]
        last = 0
        for at, item in enumerate(items):
            last = self._append(last, item, at)

    def matches(self, text: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
        """For each item of a text, the longest run that ends with it: its length, and its first end in the sequence."""
        nodes, state, length = self._nodes, 0, 0
        for item in text:
            while state and item not in nodes[state].next:
                state = nodes[state].link
                length = nodes[state].length
            if item in nodes[state].next:
                state = nodes[state].next[item]
                length += 1
            yield length, nodes[state].end

    def _append(self, last: int, item: Hashable, at: int) -> int:
        new = len(self._nodes)
        self._nodes.append(_SeenNode(at + 1, 0, at))
        while last >= 0 and item not in self._nodes[last].next:
            self._nodes[last].next[item] = new
            last = self._nodes[last].link
        if last >= 0:
            self._nodes[new].link = self._split(last, item)
        return new

    def _split(self, state: int, item: Hashable) -> int:
        """A separate node for the run that ends with `item` after `state`."""
        nodes = self._nodes
        target = nodes[state].next[item]
        if nodes[target].length == nodes[state].length + 1:
            return target
        clone = len(nodes)
        nodes.append(_SeenNode(nodes[state].length + 1, nodes[target].link, nodes[target].end, dict(nodes[target].next)))
        nodes[target].link = clone
        while state >= 0 and nodes[state].next.get(item) == target:
            nodes[state].next[item] = clone
            state = nodes[state].link
        return clone
