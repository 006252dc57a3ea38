"""Files that a conversation shows more than once: the lines of one form that another one lacks.

This module recognises that two texts are forms of one file. Edits are found in ``text.file_edits``; what becomes of the lines is
up to ``registry``.

A read, the whole file after an edit and the text that writes it are forms of one file. What a later form holds is shown there,
so that of an older one just the lines would stay that are gone, as if they still stood in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from turnfold.compression.text.file_edits import shown_lines

Lines = frozenset[str]

_FEWEST: Final = 8  # lines of a text that may be a form of a file
_TELLING: Final = 12  # characters; shorter lines occur in many files
_SHARED: Final = 0.7  # share of a text's lines that another form of the same file has
_HOLDERS: Final = 4  # forms for which a line is remembered
_FEW_FRESH: Final = 12  # new lines of a file, up to which they are informative
_NOTHING: Final[Lines] = frozenset()


class Changed(NamedTuple):
    """How a form of a file differs from others, as lines without line numbers.

    Attributes:
        gone: lines that the last form no longer has.
        fresh: lines that the form before it did not have.
    """

    gone: Lines = _NOTHING
    fresh: Lines = _NOTHING

    @property
    def telling(self) -> Lines:
        """The fresh lines, if they are few."""
        return self.fresh if len(self.fresh) <= _FEW_FRESH else _NOTHING


UNCHANGED: Final = Changed()


def changed(messages: Sequence[Sequence[Lines]]) -> dict[tuple[int, int], Changed]:
    """By message and text, how the texts that are forms of files differ from other forms in these messages, compared by lines."""
    texts = [((i, n), lines) for i, own in enumerate(messages) for n, lines in enumerate(own) if lines]
    fresh = dict(_lacking(texts, nearest=True))
    gone = dict(_lacking(texts[::-1], nearest=False))
    return {at: Changed(gone.get(at, _NOTHING), fresh.get(at, _NOTHING)) for at in fresh.keys() | gone.keys()}


def _lacking(texts: Iterable[tuple[tuple[int, int], Lines]], *, nearest: bool) -> Iterable[tuple[tuple[int, int], Lines]]:
    """The lines of each text that the nearest, or the first, of the earlier forms lacks."""
    forms: list[Lines] = []
    holders: dict[str, list[int]] = {}
    choose = max if nearest else min
    for at, lines in texts:
        shared = Counter([form for line in lines for form in holders.get(line, ())])
        alike = [form for form, count in shared.items() if count >= _SHARED * len(lines)]
        if alike:
            yield at, lines - forms[choose(alike)]
        for line in lines:
            known = holders.setdefault(line, [])
            known.append(len(forms))
            if len(known) > _HOLDERS:
                del known[0 if nearest else -1]
        forms.append(lines)


def telling_lines(text: str) -> Lines:
    """The lines that a text shows, if it may be a form of a file, without lines that occur in many files."""
    if len(text) < _FEWEST * _TELLING or (text.count("\n") < _FEWEST - 1 and '"' not in text):
        return _NOTHING
    found = frozenset([line for line in shown_lines(text) if len(line) > _TELLING])
    return found if len(found) >= _FEWEST else _NOTHING
