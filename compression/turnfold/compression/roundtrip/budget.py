"""The mildest setting that fits a budget of tokens.

This module searches over recency windows and levels, and fixes the order in which the rest is given up. The replacement of a
message comes from ``sketch``; one text is cut in ``cutting``.

The order of settings: at each level of shortening, windows from the largest to the smallest allowed. Sizes fall with the window,
so each level needs a binary search; summaries tried for one window are reused for the next. Where one large message
leaves a budget unused, as much of it stays as there is room for. The newest message of a user is given up after everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from turnfold.compression.roundtrip.condense import LEVELS, CondenseLevel
from turnfold.compression.roundtrip.cutting import Cuttable
from turnfold.compression.roundtrip.sketch import OLD, Sketch, Slot, WrittenMessage, is_smaller, with_texts
from turnfold.compression.roundtrip.values import texts_of
from turnfold.compression.wire.message import Path

#: Share of a budget that may not stay unused because of a single message.
_MUCH: Final = 0.25
#: Shares of a message to try, the mildest first, if it is the only one that does not fit.
_SHARES: Final = (0.8, 0.65, 0.5, 0.4, 0.3, 0.22, 0.16, 0.11, 0.08, 0.05)


class Setting(NamedTuple):
    """The result of the search: the written messages, the window, and whether they fit."""

    written: tuple[WrittenMessage, ...]
    window: int
    fits: bool

    @property
    def tokens(self) -> int:
        """Tokens of all messages."""
        return sum(one.tokens for one in self.written)


def at_window(
    sketch: Sketch, window: int, level: CondenseLevel = LEVELS[0], newest: int | None = None
) -> tuple[WrittenMessage, ...]:
    """The messages written with a window and a level; the message at `newest` stays unchanged."""
    border = max(0, len(sketch.messages) - window)
    return tuple(one for slot in sketch.slots(border, level, newest) for one in sketch.replacements(slot, level))


def find_setting(sketch: Sketch, budget: int) -> Setting:
    """The mildest setting within a budget; if there is none, the closest one, with `fits` false."""
    whole = len(sketch.messages)
    untouched = tuple(sketch.original(i, "everything fits") for i in range(whole))
    if sum(one.tokens for one in untouched) <= budget:
        return Setting(untouched, whole, fits=True)
    least = min(sketch.options.min_recency_window, whole)
    search = _Search(sketch, budget, least, sketch.newest_user(whole - least))
    return search.by_levels() or search.beyond_levels() or search.mildest()


class _Search:
    """One search; caches what it tried."""

    def __init__(self, sketch: Sketch, budget: int, least: int, newest: int | None) -> None:
        self._sketch = sketch
        self._budget = budget
        self._least = least
        self._newest = newest
        self._tried: dict[CondenseLevel, Setting] = {}

    def _tightest(self, level: CondenseLevel) -> Setting:
        if level not in self._tried:
            self._tried[level] = self._at(self._least, level)
        return self._tried[level]

    def _at(self, window: int, level: CondenseLevel) -> Setting:
        found = Setting(at_window(self._sketch, window, level, self._newest), window, fits=False)
        return found._replace(fits=found.tokens <= self._budget)

    def by_levels(self) -> Setting | None:
        """The mildest level that fits, at its largest window."""
        if self._is_hopeless(LEVELS[0]) or not self._tightest(LEVELS[0]).fits:
            # If the last level is too large, the others are too.
            if not self._tightest(LEVELS[-1]).fits:
                return None
            between = (level for level in LEVELS[1:-1] if not self._is_hopeless(level) and self._tightest(level).fits)
            level = next(between, LEVELS[-1])
        else:
            level = LEVELS[0]
        return self._filled(self._widest(self._tightest(level), level), level)

    def _is_hopeless(self, level: CondenseLevel) -> bool:
        """Whether even half of a level's result would not fit, so that it need not be tried."""
        sketch, border = self._sketch, len(self._sketch.messages) - self._least
        kept = [sketch.original(i, OLD).tokens for i in range(len(sketch.messages))]
        old = sum(tokens for i, tokens in enumerate(kept) if i < border and i != self._newest and sketch.may_change(i))
        return sum(kept) - old + old * min(level.prose, level.data) / 2 > self._budget

    def _widest(self, fits: Setting, level: CondenseLevel) -> Setting:
        """The largest fitting window, between one that fits and all messages, which do not."""
        low, high = fits.window, len(self._sketch.messages)
        while high - low > 1:
            middle = (low + high) // 2
            tried = self._at(middle, level)
            if tried.fits:
                low, fits = middle, tried
            else:
                high = middle
        return fits

    def _filled(self, fits: Setting, level: CondenseLevel) -> Setting:
        """The same setting with more of the newest old message, if that is so large that much room would be unused without it."""
        sketch, place = self._sketch, len(self._sketch.messages) - fits.window - 1
        if (
            self._budget - fits.tokens < _MUCH * self._budget
            or place < 0
            or place == self._newest
            or not sketch.may_change(place)
        ):
            return fits
        wider, before = self._at(fits.window + 1, level), sketch.original(place, OLD)
        for share in _SHARES:
            mild = replace(level, prose=share, data=share)
            made = sketch.replacements(Slot(place, place + 1, "shorten"), mild)[0]
            if wider.tokens - before.tokens + made.tokens <= self._budget:
                written = tuple(made if one.start == place else one for one in wider.written)
                return Setting(written, fits.window, fits=True)
        return fits

    def beyond_levels(self) -> Setting | None:
        """The tightest level, with texts truncated if the options allow it, the newest user message last."""
        shorter = _Steps(self._sketch, self._tightest(LEVELS[-1]), self._budget)
        force = self._sketch.options.force_converge
        border = len(self._sketch.messages) - self._least
        old = [one for one in shorter.places if shorter.written[one].end <= border and shorter.starts(one) != self._newest]
        if force and shorter.cut(old):
            return shorter.setting
        if self._newest is None:
            return None
        place = next(place for place in shorter.places if shorter.starts(place) == self._newest)
        if shorter.condense(place) or (force and shorter.cut([place])):
            return shorter.setting
        return None

    def mildest(self) -> Setting:
        """The result without a budget."""
        window = max(self._least, min(self._sketch.options.recency_window, len(self._sketch.messages)))
        return Setting(at_window(self._sketch, window), window, fits=False)


Way = Callable[[Cuttable, int], str]
#: The kinds of text given up, one after the other, each as little as necessary. A fence stays as long as prose is left.
_WAYS: Final[tuple[tuple[Way, Callable[[Cuttable], int]], ...]] = (
    (Cuttable.with_prose, lambda text: text.prose),
    (Cuttable.with_blocks, lambda text: text.blocks),
    (Cuttable.with_orders, lambda text: text.orders),
)


class _Steps:
    """Messages that give up their texts one at a time, oldest first, until they fit."""

    def __init__(self, sketch: Sketch, start: Setting, budget: int) -> None:
        self._sketch = sketch
        self._window = start.window
        self._excess = start.tokens - budget
        self.written = list(start.written)

    @property
    def places(self) -> range:
        return range(len(self.written))

    @property
    def setting(self) -> Setting:
        return Setting(tuple(self.written), self._window, fits=self._excess <= 0)

    def starts(self, place: int) -> int:
        return self.written[place].start

    def cut(self, places: Sequence[int]) -> bool:
        """Give up texts in the order of `_WAYS`. Returns whether the messages fit."""
        open_ = [place for place in places if self._sketch.may_change(self.starts(place))]
        whole = {place: self.written[place] for place in open_}
        texts = {place: {path: Cuttable(text) for path, text in texts_of(whole[place].message)} for place in open_}
        for way, most in _WAYS:
            for place in open_:
                for path, text in texts[place].items():
                    if most(text) and self._give_up(place, path, text, way, most(text)):
                        return True
        return self._excess <= 0

    def _give_up(self, place: int, path: Path, text: Cuttable, way: Way, most: int) -> bool:
        """Give up as much of a text as needed, or all of it if that is not enough. Returns whether the messages fit."""
        before = self.written[place]

        def made(left: int) -> WrittenMessage:
            message = with_texts(before.message, {path: way(text, left)})
            return self._sketch.replacement(before.start, before.end, message, "cut", "nothing milder fits the budget")

        low, best = 0, made(0)
        if not is_smaller(best, [before]):
            return False
        if before.tokens - best.tokens >= self._excess:
            high = most
            while high - low > 1:
                middle = (low + high) // 2
                tried = made(middle)
                if before.tokens - tried.tokens >= self._excess and is_smaller(tried, [before]):
                    low, best = middle, tried
                else:
                    high = middle
        self._excess -= before.tokens - best.tokens
        self.written[place] = best
        return self._excess <= 0

    def condense(self, place: int) -> bool:
        """Shorten a message that was kept whole, as mildly as fits. Returns whether the messages fit."""
        before = self.written[place]
        for level in LEVELS:
            made = self._sketch.replacements(Slot(before.start, before.end, "shorten"), level)[0]
            if before.tokens - made.tokens >= self._excess or level is LEVELS[-1]:
                break
        self.written[place] = made
        self._excess -= before.tokens - made.tokens
        return self._excess <= 0
