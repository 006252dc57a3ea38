"""FACTS: one message's text, shortened by its role and kind.

This module decides how much of a message is kept. Each kind of text is shortened in a file of its own in this package.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.options import Prose
from turnfold.compression.shorten import registry
from turnfold.compression.shorten.arguments import facts_arguments
from turnfold.compression.shorten.file_forms import UNCHANGED, Changed
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.terse_prose.compress import terse
from turnfold.compression.text.data_blocks import SPOKEN, is_listed_language
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.text.file_edits import holds_blocks
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.sentences import LONGEST
from turnfold.compression.text.spans import STOPS


@dataclass(frozen=True, slots=True)
class _Share:
    """Texts of up to `whole` tokens are unchanged; of longer ones, `share` is kept, but at least `whole`."""

    whole: int
    share: float

    def of(self, size: int) -> int:
        return size if size <= self.whole else max(self.whole, int(self.share * size))


@dataclass(frozen=True, slots=True)
class _Curve:
    """Texts of up to `whole` tokens are unchanged; the kept part of longer ones grows more slowly than the text.

    However long a result is, only a few of its lines are needed again; twice the text does not have twice as many.
    """

    whole: int
    factor: float
    power: float

    def of(self, size: int) -> int:
        return size if size <= self.whole else min(size, self.whole + int(self.factor * (size - self.whole) ** self.power))


# A user's message is an instruction; a tool's result is evidence, of which only some lines are ever needed again.
_RESULT: Final = _Curve(128, 2.5, 0.6)
_SHARES: Final[dict[str, _Share | _Curve]] = {"user": _Share(60, 0.5), "tool": _RESULT, "function": _RESULT}
_OTHER: Final = _Share(24, 0.35)
_ARGUMENTS: Final = _Share(120, 0.3)
_JSON_OPENS: Final = ("{", "[")
_DENSE: Final = 64  # tokens above which JSON is written without quotes, complete or not


_SPEAKING: Final = frozenset({"user", "assistant"})
_BORDER: Final = lazy.pattern(rf"[.!?…。！？｡{STOPS}][^\w]{{0,12}}\w|\n")
_LATE: Final = 0.6  # of a text: if its first sentence is that long, there is little to choose from
_MOST_WHOLE: Final = 4 * LONGEST  # characters; a longer sentence is cut (``text.statements``)


_AS_SAID: Final = Prose()


def facts(
    text: str,
    *,
    role: str,
    words: frozenset[str],
    known: Container[str],
    count: Callable[[str], int],
    changed: Changed = UNCHANGED,
    prose: Prose = _AS_SAID,
) -> str:
    """A message's text at FACTS; the text itself if it is short or cannot be shortened.

    Args:
        role: role of its message.
        words: lower-case words of the task, which the selection prefers.
        known: lines and names that a later message contains anyway.
        changed: how it differs from other forms of the same file.
        prose: how to word the kept sentences.
    """
    size = count(text)
    keep = _SHARES.get(role, _OTHER).of(size)
    if keep >= size and not (size > _DENSE and text.lstrip().startswith(_JSON_OPENS)):
        return text
    if role in ("user", "assistant") and _is_spoken(text) and not holds_blocks(text):
        return _reword(shorten(text, keep, role=role, words=words, count=count), role, prose)
    return registry.facts(text, keep, words, count, role=role, known=known, changed=changed)


def arguments(text: str, *, count: Callable[[str], int], changed: Changed = UNCHANGED) -> str:
    """A tool call's arguments at FACTS: JSON stays JSON; `changed` is as in `facts`."""
    size = count(text)
    keep = _ARGUMENTS.of(size)
    return text if keep >= size else facts_arguments(text, keep, count, changed)


def _reword(text: str, role: str, prose: Prose) -> str:
    """The sentences in fewer words; a user's text with a standing order is unchanged."""
    if prose.intensity == "off" or (role == "user" and standing_orders(text)):
        return text
    return terse(text, prose.intensity, prose.lexicon)


def _is_spoken(text: str) -> bool:
    """Whether most of a text is language rather than data."""
    spans = parts(text)
    return sum(s.end - s.start for s in spans if s.kind in SPOKEN) >= len(text) / 2 or is_listed_language(text, spans)


_CALLS: Final = _Share(100, 0.45)  # an assistant's calls: names, ids and short arguments stay


def facts_tokens(role: str, size: int, text: str, *, calls: bool) -> int:
    """Estimated tokens at FACTS of a message with `size` tokens, for planning.

    Based on its role, and on whether its text can be divided at all. Dictated text, or text typed on a phone, may have no
    borders: it stays whole, since a part of it could say something else.
    """
    kept = (_CALLS if calls else _SHARES.get(role, _OTHER)).of(size)
    return size if kept < size and not calls and role in _SPEAKING and _is_one_piece(text) else kept


def _is_one_piece(text: str) -> bool:
    if len(text) > _MOST_WHOLE:
        return False
    border = _BORDER.search(text.rstrip())
    return border is None or border.start() > _LATE * len(text)
