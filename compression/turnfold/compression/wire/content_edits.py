"""Texts written into a message, and beside its content.

Lives here: edits of one message's JSON text. Does not belong here: where its content stands, how a text part is named (each wire
says both).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.wire.cache_marks import NO_MARKS, PlacedMarks
from turnfold.compression.wire.conversation import Beside, Place
from turnfold.compression.wire.edits import Edit, json_string
from turnfold.compression.wire.spans import elements

# OpenAI, "Prompt caching": explicit breakpoints, 5.6 and later.
BREAKPOINT: Final = ',"prompt_cache_breakpoint":{"mode":"explicit"}'


def replace_text(raw: str, place: Place, text: str, kind: str, mark: str = "") -> Edit:
    """A text instead of the value at `place`: of a string its characters, of anything else a text part of type `kind`.

    Args:
        mark: the cache mark of that part, as a member with a comma in front.
    """
    start, end = place
    if raw[start] == '"':
        return Edit(start + 1, end - 1, _characters(text))
    return Edit(start, end, _part(text, kind, mark))


def put_beside(place: Place, beside: Beside, kind: str, *, is_list: bool, marks: PlacedMarks = NO_MARKS) -> list[Edit]:
    """Texts in front of and behind the content at `place`: parts of their own in a list, paragraphs of a string."""
    start, end = place
    if is_list:
        out = [Edit(start + 1, start + 1, f"{part},") for part in parts(beside.front, kind, marks.front)]
        return out + [Edit(end - 1, end - 1, f",{part}") for part in parts(beside.behind, kind, marks.behind)]
    return [
        Edit(start + 1, start + 1, "".join(_characters(f"{t}\n\n") for t in beside.front)),
        Edit(end - 1, end - 1, "".join(_characters(f"\n\n{t}") for t in beside.behind)),
    ]


def split_apart(place: Place, beside: Beside, kind: str, marks: PlacedMarks = NO_MARKS) -> list[Edit]:
    """The string at `place` as a list of parts, with texts of ours as parts around it."""
    start, end = place
    front = "".join(f"{part}," for part in parts(beside.front, kind, marks.front))
    behind = "".join(f",{part}" for part in parts(beside.behind, kind, marks.behind))
    return [Edit(start, start, f'[{front}{{"type":"{kind}","text":'), Edit(end, end, f"{marks.own}}}{behind}]")]


def parts(texts: Sequence[str], kind: str, mark: str) -> list[str]:
    """Texts as parts, the last one with a mark."""
    return [_part(text, kind, mark if number == len(texts) else "") for number, text in enumerate(texts, 1)]


def mark_last_part(raw: str, place: Place, mark: str) -> list[Edit]:
    """A cache mark on the last part of the list at `place`."""
    if not mark:
        return []
    *_, (_, _, end) = elements(raw, place[0])
    return [Edit(end - 1, end - 1, mark)]


def merge(edits: Sequence[Edit]) -> list[Edit]:
    """Insertions at one place become one, and join a replacement that begins or ends there, so that order is never in doubt."""
    by_place: dict[Place, str] = {}
    for edit in edits:
        by_place[edit.start, edit.end] = by_place.get((edit.start, edit.end), "") + edit.new
    return [Edit(a, b, new) for (a, b), new in by_place.items()]


def _part(text: str, kind: str, mark: str = "") -> str:
    return f'{{"type":"{kind}","text":{json_string(text)}{mark}}}'


def _characters(text: str) -> str:
    return json_string(text)[1:-1]
