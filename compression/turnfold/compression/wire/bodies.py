"""Reading a body whose history is one growing array, from where an earlier request of the conversation ended.

This module finds the top-level members, and the elements of the history with their places, and says how much of a body is new. It
knows no format's keys and does not ask what an element means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, Generic, TypeVar

from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Grown, Memo
from turnfold.compression.wire.conversation import Place
from turnfold.compression.wire.known_bodies import KnownBody, find_known, keep_known, samples
from turnfold.compression.wire.spans import Value, array, members, skip, unique, value

T = TypeVar("T")

_TYPED: Final = ("type", "role", "media_type")
_HOLDERS: Final = ("content", "output", "source", "summary", "tool_calls")
_FIXED: Final = 1000  # bytes of a reading without its elements


@dataclass(frozen=True, slots=True)
class Layout(Generic[T]):
    """The layout of a wire's bodies.

    Attributes:
        wire: the wire's name.
        history: the key of the growing array.
        kept: top-level keys whose values are needed; the others are read as None, with their position.
        element: reads an element from its JSON text and value. Raises FoldRejected("unparsable").
        weigh: approximate bytes of an element in memory.
        plain: whether the history may be a value other than an array; then it has no elements, and its value is stored.
    """

    wire: str
    history: str
    kept: frozenset[str]
    element: Callable[[str, Any, Memo], T]
    weigh: Callable[[T], int]
    plain: bool = False


@dataclass(frozen=True, slots=True)
class BodyReading(Generic[T]):
    """The parts of a body, or of its beginning: top-level members, and the history's elements with their positions.

    The history's own value is stored only if it is not an array. In a beginning, its span has no end.
    """

    members: Mapping[str, Value]
    elements: tuple[T, ...]
    spans: tuple[Place, ...]

    def beginning(self, length: int) -> BodyReading[T]:
        """The reading of the first `length` elements and everything before them."""
        return BodyReading(self.members, self.elements[:length], self.spans[:length])


def read_body(body: bytes, layout: Layout[T], memo: Memo) -> tuple[str, BodyReading[T]]:
    """A body as text, and its reading.

    Raises:
        FoldRejected: "unparsable" when the body is not a JSON object in strict UTF-8, is nested too deeply, names a key twice,
            or has no history. Such a body is sent upstream unchanged.
    """
    try:
        text = body.decode("utf-8")
        return text, _read_known(body, text, layout, memo)
    except (ValueError, RecursionError) as exc:  # the exceptions of the scanner
        raise FoldRejected("unparsable") from exc


def new_bytes(body: bytes, wire: str, memo: Memo) -> int:
    """Bytes of a body after the part that it shares with an earlier one, or all of them: the part that must be read.

    Args:
        wire: the name of its format.
    """
    found = find_known(samples(wire, body), body, memo)
    return len(body) if found is None else len(body) - found[1].ends[found[2] - 1]


def is_plainly_typed(value: Any) -> bool:
    """Whether the types in an element and its content are plain values. Tool inputs may contain anything, and are not checked."""
    if isinstance(value, list):
        return all(map(is_plainly_typed, value))
    if not isinstance(value, dict):
        return True
    plain = not any(isinstance(value.get(key), (list, dict)) for key in _TYPED)
    return plain and all(is_plainly_typed(value[key]) for key in _HOLDERS if key in value)


def _read_known(body: bytes, text: str, layout: Layout[T], memo: Memo) -> BodyReading[T]:
    """The reading of a body, starting where it differs from an earlier one of the conversation."""
    taken = samples(layout.wire, body)
    known = find_known(taken, body, memo)
    start: BodyReading[T] = BodyReading({}, (), ())
    if known is not None:
        _, earlier, same = known
        start = earlier.reading if same == len(earlier.ends) else earlier.reading.beginning(same)
    found, values = _scan(text, layout, start)
    if layout.history not in found or skip(text, max(end for _, _, end in found.values()), "}") != len(text):
        raise ValueError("not one object with a history")
    elements = Grown(
        start.elements + tuple([layout.element(text[start:end], data, memo) for data, start, end in values]),
        known[1].reading.elements if known is not None else None,
        len(start.elements),
    )
    spans = start.spans + tuple([(s, e) for _, s, e in values])
    if all(text[end - 1] == "}" for _, _, end in values):  # values with other endings may continue in another body
        new = elements[len(start.elements) :]
        weight = _FIXED + sum(map(layout.weigh, new)) + (known[1].weight * known[2] // len(known[1].ends) if known else 0)
        ends = known[1].ends[: known[2]] if known else []
        begun = (start.spans[-1][1], ends[-1]) if ends else (0, 0)
        ends += _places_in_bytes(body, text, [end for _, _, end in values], begun)
        kept = KnownBody(body, ends, BodyReading(_before_history(found, layout), elements, spans), weight)
        keep_known(taken, kept, memo, known and known[:2])
    return BodyReading(found, elements, spans)


def _places_in_bytes(body: bytes, text: str, places: Sequence[int], begun: Place) -> Iterator[int]:
    """Byte positions for positions in a text; `begun` is an earlier position in both. Counted from the nearer end."""
    at, same = begun
    for place in places:
        if place - at <= len(text) - place:
            same += len(text[at:place].encode("utf-8"))
        else:
            same = len(body) - len(text[place:].encode("utf-8"))
        at = place
        yield same


def _before_history(found: Mapping[str, Value], layout: Layout[T]) -> dict[str, Value]:
    """The members up to the history, without the history's end."""
    before = dict(takewhile(lambda member: member[0] != layout.history, found.items()))
    return before | {layout.history: (None, found[layout.history][1], -1)}


def _scan(text: str, layout: Layout[T], known: BodyReading[T]) -> tuple[dict[str, Value], list[Value]]:
    """The members of a body, and the elements of its history that are not known yet.

    A value that is not kept is None in a body read alone too: a reader that needs it would miss it only in a later request.
    """

    def scan(key: str, text: str, at: int) -> tuple[Any, int]:
        is_history = key == layout.history and not (layout.plain and text[at : at + 1] != "[")
        return array(text, at) if is_history else value(key, text, at)

    found = dict(known.members)
    elements: list[Value] = []
    at = 0
    if known.spans:
        elements, at = array(text, known.spans[-1][1], after=True)
        found[layout.history] = (None, found[layout.history][1], at)
    for key, (data, start, end) in unique(found, members(text, at, after=at > 0, scan=scan)):
        is_history = key == layout.history and text[start] == "["
        elements = data if is_history else elements
        is_kept = key in layout.kept or (key == layout.history and not is_history)
        found[key] = (data if is_kept else None, start, end)
    return found, elements
