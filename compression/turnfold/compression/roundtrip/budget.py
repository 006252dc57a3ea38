"""The mildest setting that fits a budget of tokens.

Lives here: the search over recency windows and levels, and truncation as the last resort. Does not belong here: how a message is
shortened (``sketch``).

The order of settings: at each level of shortening, windows from the largest to the smallest allowed. Sizes fall with the window,
so each level needs a binary search; summaries tried for one window are reused for the next.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from turnfold.compression.roundtrip.condense import LEVELS, CondenseLevel, pieces
from turnfold.compression.roundtrip.sketch import OLD, Sketch, WrittenMessage, is_smaller, with_texts
from turnfold.compression.roundtrip.values import texts_of

#: Characters that stay of a text which is cut off, from the mildest on; the last ones take whole blocks too.
_HEADS: Final = (4000, 2000, 1000, 500, 250, 120, 60, 30, 0)
_GONE: Final = "…"


class Setting(NamedTuple):
    """The result of the search: the written messages, the window, and whether they fit."""

    written: tuple[WrittenMessage, ...]
    window: int
    fits: bool

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return sum(one.tokens for one in self.written)


def at_window(sketch: Sketch, window: int, level: CondenseLevel = LEVELS[0]) -> tuple[WrittenMessage, ...]:
    """The messages as written with a window and a level."""
    border = max(0, len(sketch.messages) - window)
    return tuple(one for slot in sketch.slots(border, level) for one in sketch.replacements(slot, level))


def find_setting(sketch: Sketch, budget: int) -> Setting:
    """The mildest setting within a budget; if there is none, the tightest one, truncated if the options allow it."""
    options = sketch.options
    whole = len(sketch.messages)
    untouched = tuple(sketch.original(i, "everything fits") for i in range(whole))
    if sum(one.tokens for one in untouched) <= budget:
        return Setting(untouched, whole, fits=True)
    least = min(options.min_recency_window, whole)
    for level in LEVELS:
        if level is not LEVELS[-1] and _is_hopeless(sketch, len(sketch.messages) - least, level, budget):
            continue
        tightest = Setting(at_window(sketch, least, level), least, fits=False)
        if tightest.tokens <= budget:
            return _widest(sketch, tightest._replace(fits=True), level, budget)
    return _converge(sketch, tightest, budget) if options.force_converge else tightest


def _is_hopeless(sketch: Sketch, border: int, level: CondenseLevel, budget: int) -> bool:
    """Whether not even half of a level's result would fit, so that it need not be tried."""
    kept = [sketch.original(i, OLD).tokens for i in range(len(sketch.messages))]
    old = sum(tokens for i, tokens in enumerate(kept) if i < border and sketch.may_change(i))
    return sum(kept) - old + old * min(level.prose, level.data) / 2 > budget


def _widest(sketch: Sketch, fits: Setting, level: CondenseLevel, budget: int) -> Setting:
    """The largest fitting window between one that fits and all messages, which do not."""
    low, high = fits.window, len(sketch.messages)
    while high - low > 1:
        middle = (low + high) // 2
        tried = Setting(at_window(sketch, middle, level), middle, fits=True)
        if tried.tokens <= budget:
            low, fits = middle, tried
        else:
            high = middle
    return fits


def _converge(sketch: Sketch, tightest: Setting, budget: int) -> Setting:
    """Messages older than the window truncated as little as possible: first around blocks, then with them."""
    border = len(sketch.messages) - tightest.window
    best = tightest
    for blocks in (True, False):
        low, high = 0, len(_HEADS)
        while low < high:
            middle = (low + high) // 2
            cut = tuple(_cut(sketch, one, border, _HEADS[middle], blocks) for one in tightest.written)
            best = Setting(cut, tightest.window, fits=False)
            if best.tokens <= budget:
                high = middle
            else:
                low = middle + 1
        if low < len(_HEADS):
            cut = tuple(_cut(sketch, one, border, _HEADS[low], blocks) for one in tightest.written)
            return Setting(cut, tightest.window, fits=True)
    cut = tuple(_cut(sketch, one, border, _HEADS[-1], False) for one in tightest.written)
    return Setting(cut, tightest.window, fits=False)


def _cut(sketch: Sketch, one: WrittenMessage, border: int, head: int, blocks: bool) -> WrittenMessage:
    """A message with its texts truncated; unchanged if it is inside the window, fixed, or would not get smaller."""
    if one.end > border or not sketch.may_change(one.start):
        return one
    texts = list(texts_of(one.message))
    if sum(len(text) for _, text in texts) <= head:
        return one
    new = {path: _cut_text(text, head, blocks) for path, text in texts}
    message = with_texts(one.message, new)
    cut = sketch.replacement(one.start, one.end, message, "cut", "nothing milder fits the budget")
    return cut if is_smaller(cut, [one]) else one


def _cut_text(text: str, head: int, blocks: bool) -> str:
    """The first characters of a text. A block is kept whole or dropped; with `blocks` all of them are kept."""
    if len(text) <= head:
        return text
    out: list[str] = []
    left = head
    for piece, is_block in pieces(text):
        if is_block and (blocks or len(piece) <= left):
            out.append(piece)
            left -= 0 if blocks else len(piece)
        elif not is_block and len(piece) <= left:
            out.append(piece)
            left -= len(piece)
        else:
            kept = "" if is_block else _whole_words(piece, left)
            out.append(f"{kept} {_GONE}" if kept else _GONE)
            out.append("\n" if blocks and not is_block else "")
            left = 0
    return _without_repeats("".join(out))


def _whole_words(piece: str, room: int) -> str:
    if room <= 0:
        return ""
    end = piece.rfind(" ", 0, room + 1)
    return piece[: end if end > room // 2 else room].rstrip()


def _without_repeats(text: str) -> str:
    """Joins adjacent gap marks."""
    while f"{_GONE}\n{_GONE}" in text:
        text = text.replace(f"{_GONE}\n{_GONE}", _GONE)
    while _GONE * 2 in text:
        text = text.replace(_GONE * 2, _GONE)
    return text.strip("\n") or _GONE
