"""Lines of files that a later edit replaced, so that an earlier view of the file is outdated.

This module tells whether a passage shows such a line. Edits are found in ``text.file_edits``; what follows is decided in
``recall.choosing`` and ``shorten.summary``.

A line counts only if the edit and the message concern the same file, since many files may contain it. It is valid again if a
later edit restores it, or a later result shows it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import accumulate, takewhile
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.text.file_edits import FileEdit, file_edits, may_hold_edits, shown_lines
from turnfold.compression.text.quotes import Quotable

_NO_LINES: Final[frozenset[str]] = frozenset()
_TELLING: Final = 8  # characters; shorter lines occur in any file
_TELLING_ALONE: Final = 24  # the same if an edit does not name its file


class _Change(NamedTuple):
    """An edit of a line: the message, the number of the edit, and the file."""

    source: int
    number: int
    file: str


class ReplacedLines:
    """The lines that were replaced by the edits of a conversation.

    Args:
        sources: the conversation's messages, in order.
    """

    def __init__(self, sources: Sequence[Quotable], memo: Memo) -> None:
        self._sources = sources
        self._memo = memo
        self._taken: dict[int, Mapping[str, Set[frozenset[str]]]] = {}
        self._removed: dict[str, dict[str, _Change]] = {}  # line -> file -> the last edit that removes it
        self._brought: dict[tuple[str, str], int] = {}  # (line, file) -> the number of the last edit that adds it
        self._named = lru_cache(maxsize=None)(self._names)
        held: dict[tuple[str, str], set[str]] = {}  # lines that a file or a part of it was seen to contain, by their names
        number = 0
        self._edits = of_each(memo, "edits of all", sources, lambda source: _edits_of(source, memo))
        for i, found in enumerate(self._edits):
            for edit in found:
                number += 1
                known = held.setdefault((edit.file, edit.part), set()) if edit.file else set()
                old = known - edit.new if edit.whole else edit.old
                known.difference_update(old)
                known.update(edit.new)
                change = _Change(i, number, edit.file)
                for line in old:
                    changes = self._removed.setdefault(line, {})
                    changes.pop(edit.file, None)
                    changes[edit.file] = change  # keeps the most recent one last
                self._brought.update(dict.fromkeys([(line, edit.file) for line in edit.new], number))

    def __bool__(self) -> bool:
        """Whether any lines were replaced."""
        return bool(self._removed)

    def is_shown_in(self, source: int, passage: str) -> bool:
        """Whether a passage shows a line that was replaced later, or lines that an edit removes without all of those it adds."""
        shown = self._memo.get(("shown", passage), lambda: _shown(passage), lambda found: len(passage) + _weight(found))
        taken = self._replacements_in(source) if self._edits[source] else {}
        if taken and any(new - shown for line in taken.keys() & shown for new in taken[line]):
            return True
        return any(self._is_outdated(line, source) for line in shown & self._removed.keys())

    def _replacements_in(self, source: int) -> Mapping[str, Set[frozenset[str]]]:
        """For each line removed by an edit of a message, its replacements, without duplicates."""
        if source not in self._taken:
            found: defaultdict[str, set[frozenset[str]]] = defaultdict(set)
            for edit in self._edits[source]:
                for line in edit.old:
                    found[line].add(edit.new)
            self._taken[source] = found
        return self._taken[source]

    def _is_outdated(self, line: str, source: int) -> bool:
        later = takewhile(lambda one: one.source > source, reversed(self._removed[line].values()))
        last = next((one for one in later if self._is_meant(line, one.file, source)), None)
        if last is None or self._brought.get((line, last.file), 0) > last.number:
            return False
        return self._last_shown.get(line, 0) <= last.source

    def _is_meant(self, line: str, file: str, source: int) -> bool:
        return len(line) >= (_TELLING if file else _TELLING_ALONE) and (not file or self._named(file, source))

    def _names(self, file: str, source: int) -> bool:
        """Whether a message or the call that it answers names a file."""
        if file in self._sources[source].text:
            return True
        before = self._answers[source]
        return before >= 0 and self._sources[source].role != "assistant" and file in self._sources[before].text

    @cached_property
    def _answers(self) -> list[int]:
        """For each message, the last assistant message up to it; -1 if there is none."""
        return [*accumulate([i if one.role == "assistant" else -1 for i, one in enumerate(self._sources)], max)]

    @cached_property
    def _last_shown(self) -> dict[str, int]:
        """For each line, the last result that shows it as present."""
        found: dict[str, int] = {}
        memo = self._memo
        removed = frozenset(self._removed)
        for i, lines in enumerate(of_each(memo, "lines of all", self._sources, lambda source: _lines_of(source, memo))):
            if shown := removed & lines:
                text = self._sources[i].text
                found |= {line: i for line in shown if line in text}
        return found


def holds_edits(sources: Sequence[Quotable], memo: Memo) -> bool:
    """Whether any message contains an edit."""
    return any(of_each(memo, "hold edits", sources, lambda source: bool(_edits_of(source, memo))))


def _edits_of(source: Quotable, memo: Memo) -> tuple[FileEdit, ...]:
    if source.role != "assistant" or not may_hold_edits(source.text):
        return ()
    return memo.get(("edits", source.key), lambda: file_edits(source.text), _size)


def _size(found: tuple[FileEdit, ...]) -> int:
    return 100 + sum([len(line) + 60 for one in found for line in (*one.old, *one.new)])


def _weight(lines: frozenset[str]) -> int:
    return 200 + sum([len(line) + 60 for line in lines])


def _shown(passage: str) -> frozenset[str]:
    """The lines of a passage; those of a patch without their signs."""
    lines = frozenset(shown_lines(passage))
    return lines | {line[1:].strip() for line in lines if line.startswith(("-", "+"))}


def _lines_of(source: Quotable, memo: Memo) -> frozenset[str]:
    """The lines that a result shows, if long enough to count."""
    if source.role != "tool":
        return _NO_LINES
    return memo.get(
        ("shown lines", source.key),
        lambda: frozenset([line for line in shown_lines(source.text) if len(line) >= _TELLING]),
        _weight,
    )
