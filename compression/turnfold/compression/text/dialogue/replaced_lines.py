"""Lines of files that a later edit replaced: what a message showed of a file is no longer what stands there.

Lives here: whether a passage shows such a line. Does not belong here: finding edits (``text.file_edits``), what is made of it
(``recall.choosing``, ``shorten.summary``).

A line counts only where the edit and the message speak of the same file, since the same line may stand in many. It stands again
if a later edit brings it back, or a later result shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo
from turnfold.compression.text.file_edits import FileEdit, file_edits, may_hold_edits, shown_lines
from turnfold.compression.text.quotes import Quotable

_TELLING: Final = 8  # characters; shorter lines stand in any file
_TELLING_ALONE: Final = 24  # the same where an edit does not say of which file it is


class _Change(NamedTuple):
    """One edit of a line: the message, the number of the edit, the file."""

    source: int
    number: int
    file: str


class ReplacedLines:
    """The lines that the edits of a conversation replaced.

    Args:
        sources: its messages, in order.
    """

    def __init__(self, sources: Sequence[Quotable], memo: Memo) -> None:
        self._sources = sources
        self._removed: dict[str, list[_Change]] = {}
        self._brought: dict[str, list[_Change]] = {}
        self._shown: dict[tuple[str, int], bool] = {}
        self._named = lru_cache(maxsize=None)(self._names)
        held: dict[str, set[str]] = {}  # lines that a file was seen to hold, by its name
        number = 0
        self._edits = [_edits_of(source, memo) for source in sources]
        for i, found in enumerate(self._edits):
            for edit in found:
                number += 1
                known = held.setdefault(edit.file, set()) if edit.file else set()
                old = known - edit.new if edit.whole else edit.old
                known.difference_update(old)
                known.update(edit.new)
                for lines, changes in ((old, self._removed), (edit.new, self._brought)):
                    for line in lines:
                        changes.setdefault(line, []).append(_Change(i, number, edit.file))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._removed)

    def is_shown_in(self, source: int, passage: str) -> bool:
        """Whether a passage of a message shows a line that has been replaced since, or what an edit takes away without all that
        it brings."""
        shown = _shown(passage)
        if any(edit.new - shown and edit.old & shown for edit in self._edits[source]):
            return True
        return any(self._is_outdated(line, source) for line in shown if line in self._removed)

    def _is_outdated(self, line: str, source: int) -> bool:
        later = [one for one in self._removed[line] if one.source > source and self._is_meant(line, one.file, source)]
        if not later:
            return False
        last = later[-1]
        if any(one.number > last.number and one.file == last.file for one in self._brought.get(line, ())):
            return False
        return not self._is_shown_behind(line, last.source)

    def _is_meant(self, line: str, file: str, source: int) -> bool:
        return len(line) >= (_TELLING if file else _TELLING_ALONE) and (not file or self._named(file, source))

    def _names(self, file: str, source: int) -> bool:
        """Whether a message names a file, or the call that it answers does."""
        if file in self._sources[source].text:
            return True
        before = next((i for i in range(source - 1, -1, -1) if self._sources[i].role == "assistant"), None)
        return before is not None and self._sources[source].role != "assistant" and file in self._sources[before].text

    def _is_shown_behind(self, line: str, source: int) -> bool:
        """Whether a result behind a message shows a line, and not as one that is gone."""
        key = (line, source)
        if key not in self._shown:
            behind = (one.text for one in self._sources[source + 1 :] if one.role == "tool")
            self._shown[key] = any(line in text and _stands_in(line, text) for text in behind)
        return self._shown[key]


def _edits_of(source: Quotable, memo: Memo) -> tuple[FileEdit, ...]:
    if source.role != "assistant" or not may_hold_edits(source.text):
        return ()
    return memo.get(("edits", source.key), lambda: file_edits(source.text), _size)


def _size(found: tuple[FileEdit, ...]) -> int:
    return 100 + sum([len(line) + 60 for one in found for line in (*one.old, *one.new)])


def _shown(passage: str) -> frozenset[str]:
    """The lines of a passage, those of a patch without their signs."""
    lines = frozenset(shown_lines(passage))
    return lines | {line[1:].strip() for line in lines if line.startswith(("-", "+"))}


def _stands_in(line: str, text: str) -> bool:
    return any(shown == line for shown in shown_lines(text))
