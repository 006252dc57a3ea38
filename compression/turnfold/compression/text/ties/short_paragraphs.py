"""Short paragraphs of short texts, which are shown whole or not at all.

Lives here: which sentences such a paragraph has. Does not belong here: sentences that need each other because of what they say.

"You can export your data. The button is at the bottom. Free accounts see it greyed out.": no word tells that the third sentence
limits the first one, and the second one limits nothing. In a paragraph of a few sentences each is taken for a limit of the
others. That costs little, since a short text has few tokens; in longer texts and paragraphs the words have to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.spans import Span

_SHORT_TEXT: Final = 700  # characters
_MOST_SENTENCES: Final = 12  # of a short text
_SHORT: Final = 400  # characters of a short paragraph
_FEW: Final = 5  # sentences of one
_BLANK_LINE: Final = lazy.pattern(r"\n[ \t]*\n\s*\Z")
_SPOKEN: Final = frozenset(("", "label"))


def is_short_paragraph(text: str, spans: Sequence[Span]) -> bool:
    """Whether a text of several sentences is nothing but one short paragraph."""
    if not 1 < len(spans) <= 2 * _FEW or len(text) > _SHORT:
        return False
    return next(_short_paragraphs(text, spans), range(0)) == range(len(spans))


def short_paragraph_ties(text: str, spans: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Pairs of a sentence and one that it needs: each of a short paragraph and those beside it."""
    for paragraph in _short_paragraphs(text, spans):
        for i in paragraph[1:]:
            yield from ((i, i - 1), (i - 1, i))


def _short_paragraphs(text: str, spans: Sequence[Span]) -> Iterator[range]:
    """The sentences of each short paragraph of several, by index; none in a text that is not short, or not all running text."""
    if len(text) > _SHORT_TEXT or len(spans) > 2 * _MOST_SENTENCES or not _SPOKEN.issuperset(kind for _, _, kind in spans):
        return
    if sum(kind != "label" for _, _, kind in spans) > _MOST_SENTENCES or "\n>" in f"\n{text}":
        return
    begin = 0
    for i, (_, end, _) in enumerate(spans):
        if i + 1 == len(spans) or _BLANK_LINE.search(text[spans[i].start : end]):
            inside = spans[begin : i + 1]
            sentences = sum(kind != "label" for _, _, kind in inside)
            if i > begin and sentences <= _FEW and end - inside[0].start <= _SHORT:
                yield range(begin, i + 1)
            begin = i + 1
