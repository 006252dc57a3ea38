"""Inserting text into messages, inside or beside their content.

This module makes edits of a message's JSON text, for any format whose content is a text or a list of parts. Each format says
where the content is and what a text part is called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression.wire.cache_marks import NO_MARKS, PlacedMarks, placed_marks
from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.conversation import Conversation, Place
from turnfold.compression.wire.edits import Edit, json_string, shift
from turnfold.compression.wire.message import Message, Path
from turnfold.compression.wire.removal import removals
from turnfold.compression.wire.spans import elements

# OpenAI, "Prompt caching": explicit breakpoints, 5.6 and later.
_BREAKPOINT: Final = ',"prompt_cache_breakpoint":{"mode":"explicit"}'


@dataclass(frozen=True, slots=True)
class PartForm:
    """How a wire writes content that is a text or a list of parts.

    Attributes:
        marks: names of cache marks.
        kind: type of a user's text part.
        replacement: makes the edit of a message's JSON text for a new text at a path.
        content: finds the content in a message's JSON text.
    """

    marks: Collection[str]
    kind: str
    replacement: Callable[[Message, Path, str], Edit]
    content: Callable[[Message], Place]


def write_parts(conversation: Conversation, changes: Changes, form: PartForm) -> list[Edit]:
    """The edits of the body's text for these changes. A message's own text keeps its bytes if only inserted texts change."""
    out = list(removals(conversation, changes.dropped))
    moved = placed_marks(conversation.messages, changes, form.marks)
    for index in sorted({*changes.texts, *changes.beside, *changes.apart, *moved}):
        message, marks = conversation.messages[index], moved.get(index, NO_MARKS)
        if index == changes.breakpoint and not message.is_list:
            marks = replace(marks, own=_BREAKPOINT)
        edits = [form.replacement(message, path, text) for path, text in changes.texts.get(index, {}).items()]
        edits += _around(message, changes.beside.get(index), index in changes.apart, marks, form)
        out += shift(_merge(edits), conversation.spans[index][0])
    return out


def _around(message: Message, beside: Beside | None, apart: bool, marks: PlacedMarks, form: PartForm) -> list[Edit]:
    """Edits around a message's content, which becomes a separate part if `apart`. Without insertions, a string stays a string."""
    if beside is None and not marks.own and (message.is_list or not apart):
        return []
    place, beside = form.content(message), beside or Beside()
    if apart and not message.is_list and message.raw[0] != '"':
        return _split_apart(place, beside, form.kind, marks)
    own = mark_last_part(message.raw, place, marks.own)
    return own + _put_beside(place, beside, form.kind, is_list=message.is_list, marks=marks)


def replace_text(raw: str, place: Place, text: str, kind: str, mark: str = "") -> Edit:
    """Replace the value at `place` by a text: the characters of a string, or any other value by a text part of type `kind`.

    Args:
        mark: the cache mark of that part, as a member with a leading comma.
    """
    start, end = place
    if raw[start] == '"':
        return Edit(start + 1, end - 1, _characters(text))
    return Edit(start, end, _part(text, kind, mark))


def _put_beside(place: Place, beside: Beside, kind: str, *, is_list: bool, marks: PlacedMarks = NO_MARKS) -> list[Edit]:
    """Insert texts before and after the content at `place`: as parts of a list, or paragraphs of a string."""
    start, end = place
    if is_list:
        out = [Edit(start + 1, start + 1, f"{part},") for part in parts(beside.front, kind, marks.front)]
        return out + [Edit(end - 1, end - 1, f",{part}") for part in parts(beside.behind, kind, marks.behind)]
    return [
        Edit(start + 1, start + 1, "".join(_characters(f"{t}\n\n") for t in beside.front)),
        Edit(end - 1, end - 1, "".join(_characters(f"\n\n{t}") for t in beside.behind)),
    ]


def _split_apart(place: Place, beside: Beside, kind: str, marks: PlacedMarks = NO_MARKS) -> list[Edit]:
    """Turn the string at `place` into a list of parts, with inserted texts as parts around it."""
    start, end = place
    front = "".join(f"{part}," for part in parts(beside.front, kind, marks.front))
    behind = "".join(f",{part}" for part in parts(beside.behind, kind, marks.behind))
    return [Edit(start, start, f'[{front}{{"type":"{kind}","text":'), Edit(end, end, f"{marks.own}}}{behind}]")]


def parts(texts: Sequence[str], kind: str, mark: str) -> list[str]:
    """Texts as parts; the last one gets the mark."""
    return [_part(text, kind, mark if number == len(texts) else "") for number, text in enumerate(texts, 1)]


def mark_last_part(raw: str, place: Place, mark: str) -> list[Edit]:
    """Put a cache mark on the last part of the list at `place`."""
    if not mark:
        return []
    *_, (_, _, end) = elements(raw, place[0])
    return [Edit(end - 1, end - 1, mark)]


def _merge(edits: Sequence[Edit]) -> list[Edit]:
    """Combine insertions at the same place, also with a replacement that begins or ends there, so that their order is
    unambiguous.
    """
    by_place: dict[Place, str] = {}
    for edit in edits:
        by_place[edit.start, edit.end] = by_place.get((edit.start, edit.end), "") + edit.new
    return [Edit(a, b, new) for (a, b), new in by_place.items()]


def _part(text: str, kind: str, mark: str = "") -> str:
    return f'{{"type":"{kind}","text":{json_string(text)}{mark}}}'


def _characters(text: str) -> str:
    return json_string(text)[1:-1]
