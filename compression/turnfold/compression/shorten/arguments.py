"""Arguments of old tool calls: valid JSON with long strings cut to their beginning, new file content and a count.

This is the lossy form of a call's `arguments`. The call's name and id stay as they are; results have rules of their own.
"""

from __future__ import annotations

from typing import Any, Final

from turnfold.compression.shorten.exact_json import Inexact, Number, read, write
from turnfold.compression.shorten.file_forms import UNCHANGED, Changed, Lines
from turnfold.compression.text.file_edits import bare_line
from turnfold.compression.tokens import Count

_HEADS: Final = (2000, 1000, 600, 400, 250, 160, 100, 60)  # characters of a string to keep, mildest first


def _cut(text: str, head: int, changed: Changed) -> str:
    if len(text) <= head + 40:
        return text
    at = text.rfind("\n", head // 2, head)
    shown = _shown(text, at if at > 0 else head, head, changed)
    left = len(text) - sum(len(line) + 1 for line in shown if line is not None) + 1
    kept = "\n".join("…" if line is None else line for line in shown)
    border = "\n" if None in shown else ""
    return f"{kept}{border}… [{left} more characters of this call are left out here]"


def _shown(text: str, end: int, room: int, changed: Changed) -> list[str | None]:
    """The lines of a text up to `end`, then those that are new in its file, in `room` characters.

    Lines that its file no longer has are omitted. None stands for a gap between lines.
    """
    lines: list[str | None] = []
    start = 0
    for line in (text if changed.telling else text[:end]).split("\n"):
        shown = line[: end - start] if start < end else None
        if changed.gone and _is_among(line, changed.gone):
            shown = None
        elif start >= end and len(line) < room and changed.telling and _is_among(line, changed.telling):
            shown, room = line, room - len(line)
        start += len(line) + 1
        if shown is not None or lines[-1:] != [None]:
            lines.append(shown)
    while lines[-1:] == [None]:
        lines.pop()
    return lines


def _is_among(line: str, lines: Lines) -> bool:
    """Whether a line is among lines read from JSON, where some of its characters may be escaped."""
    return bare_line(line) in lines or bare_line(write(line)[1:-1].replace('\\"', '"')) in lines


def _shrunk(value: Any, head: int, changed: Changed) -> Any:
    """The value with its strings cut; keys and everything else are unchanged."""
    if isinstance(value, str) and not isinstance(value, Number):
        return _cut(value, head, changed)
    if isinstance(value, dict):
        return {key: _shrunk(inner, head, changed) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shrunk(inner, head, changed) for inner in value]
    return value


def facts_arguments(arguments: str, keep: int, count: Count, changed: Changed = UNCHANGED) -> str:
    """A call's `arguments` in about `keep` tokens, still valid JSON with the same keys.

    Only strings are shortened, by the mildest cut that fits: to their beginning, and to their new lines if they are a file that
        was written before (`changed`). Arguments that are not JSON, or would not get smaller, are returned unchanged.
    """
    before = count(arguments)
    if before <= keep:
        return arguments
    try:
        return _mildest(arguments, read(arguments), before, keep, count, changed)
    except (Inexact, RecursionError):
        return arguments


def _mildest(arguments: str, value: Any, before: int, keep: int, count: Count, changed: Changed) -> str:
    best = arguments
    for head in _HEADS:
        cut = _shrunk(value, head, changed)
        if cut == value:
            continue
        shorter = write(cut)
        after = count(shorter)
        if after < before:
            best, before = shorter, after
        if after <= keep:
            break
    return best
