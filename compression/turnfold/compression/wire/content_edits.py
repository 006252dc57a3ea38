"""Texts written into a message, and beside its content.

Lives here: edits of one message's JSON text. Does not belong here: where its content stands, how a text part is named (each wire
says both).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.wire.conversation import Beside, Place
from turnfold.compression.wire.edits import Edit, json_string

# How a text part of ours ends: with a breakpoint (OpenAI, "Prompt caching": explicit breakpoints, 5.6 and later) or without.
_BREAKPOINT: Final = ',"prompt_cache_breakpoint":{"mode":"explicit"}}'
_NO_BREAKPOINT: Final = "}"


def replace_text(raw: str, place: Place, text: str, kind: str) -> Edit:
    """A text instead of the value at `place`: of a string its characters, of anything else a text part of type `kind`."""
    start, end = place
    if raw[start] == '"':
        return Edit(start + 1, end - 1, _characters(text))
    return Edit(start, end, _part(text, kind))


def put_beside(place: Place, beside: Beside, kind: str, *, is_list: bool) -> list[Edit]:
    """Texts in front of and behind the content at `place`: parts of their own in a list, paragraphs of a string."""
    start, end = place
    if is_list:
        out = [Edit(start + 1, start + 1, f"{_part(t, kind)},") for t in beside.front]
        return out + [Edit(end - 1, end - 1, f",{_part(t, kind)}") for t in beside.behind]
    return [
        Edit(start + 1, start + 1, "".join(_characters(f"{t}\n\n") for t in beside.front)),
        Edit(end - 1, end - 1, "".join(_characters(f"\n\n{t}") for t in beside.behind)),
    ]


def split_apart(place: Place, beside: Beside, kind: str, *, marked: bool) -> list[Edit]:
    """The string at `place` as a list of parts, with texts of ours as parts around it.

    Args:
        marked: whether the part of the string carries a cache breakpoint.
    """
    start, end = place
    head = "[" + "".join(f"{_part(t, kind)}," for t in beside.front) + f'{{"type":"{kind}","text":'
    tail = _BREAKPOINT if marked else _NO_BREAKPOINT
    return [Edit(start, start, head), Edit(end, end, tail + "".join(f",{_part(t, kind)}" for t in beside.behind) + "]")]


def merge(edits: Sequence[Edit]) -> list[Edit]:
    """Insertions at one place become one, and join a replacement that begins or ends there, so that order is never in doubt."""
    by_place: dict[Place, str] = {}
    for edit in edits:
        by_place[edit.start, edit.end] = by_place.get((edit.start, edit.end), "") + edit.new
    return [Edit(a, b, new) for (a, b), new in by_place.items()]


def _part(text: str, kind: str) -> str:
    return f'{{"type":"{kind}","text":{json_string(text)}}}'


def _characters(text: str) -> str:
    return json_string(text)[1:-1]
