"""Prose in fewer words, by rules: the content stays, the wording gets shorter. This is not reversible.

This module compresses a text, writes its receipt, and expands abbreviations. The rules come from ``rules`` and the lexicon;
``pieces`` knows what may be rewritten at all. Sentences are chosen in ``prose``.

Deterministic, linear in the text's length, and idempotent: ``compress(compress(x)) == compress(x)``. Levels are nested: "full"
continues from the result of "lite", "ultra" from that of "full". Every edit saves tokens in both o200k and cl100k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from turnfold.compression import lazy, tokens
from turnfold.compression.errors import InvalidInput, require
from turnfold.compression.shorten.terse_prose.pieces import atoms
from turnfold.compression.shorten.terse_prose.rewrite import Rewriter
from turnfold.compression.shorten.terse_prose.rules import INTENSITIES, Lexicon, lexicon


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """An abbreviation that `compress` made: `short` replaces `long` at character `start` of the result."""

    start: int
    short: str
    long: str


@dataclass(frozen=True, slots=True)
class TerseReceipt:
    """Figures of a compression; returned beside the text, never in it.

    Attributes:
        tokens_before: tokens of the original text, counted with o200k for every model, as are all figures here.
        saved_ratio: share of tokens saved, from 0 to 1.
        compression_intensity: "lite", "full" or "ultra".
        abbreviations: what `expand` restores, in order.
    """

    tokens_before: int
    tokens_after: int
    saved_tokens: int
    saved_ratio: float
    compression_intensity: str
    abbreviations: tuple[Abbreviation, ...] = ()


@dataclass(frozen=True, slots=True)
class Terse:
    """A compressed text and its receipt."""

    text: str
    receipt: TerseReceipt


def compress(text: str, intensity: str = "full", *, extension: str = "") -> Terse:
    """A text in fewer tokens; the text itself if nothing can be removed.

    Args:
        intensity: "lite" (pleasantries, fillers, long-winded phrases), "full" (hedges, articles, abbreviations, glue of grammar
            too) or "ultra" (telegram style; sentences that say nothing go).
        extension: the user's own lexicon as TOML (see ``rules``); it extends the packaged one.

    Raises:
        InvalidInput: the text is no string, the intensity is unknown, or the extension is not a lexicon.
    """
    require(("text", isinstance(text, str), "must be a string"))
    short, made = _shorten(text, _level(intensity), lexicon(extension))
    counted = _Counted()
    before, after = counted.count(text), counted.count(short)
    ratio = (before - after) / before if before else 0.0
    return Terse(short, TerseReceipt(before, after, before - after, ratio, intensity, made))


def terse(text: str, intensity: str, extension: str = "") -> str:
    """The text of `compress`, without counting."""
    return _shorten(text, _level(intensity), lexicon(extension))[0]


def expand(text: str, receipt: TerseReceipt) -> str:
    """The text with exactly those abbreviations expanded that `compress` made.

    Raises:
        InvalidInput: the receipt belongs to another text.
    """
    pieces: list[str] = []
    at = 0
    for one in receipt.abbreviations:
        if one.start < at or not text.startswith(one.short, one.start):
            raise InvalidInput("receipt", f"is another text's: there is no {one.short!r} at character {one.start}")
        pieces += (text[at : one.start], one.long)
        at = one.start + len(one.short)
    return "".join((*pieces, text[at:]))


def _level(intensity: str) -> int:
    if intensity not in INTENSITIES:
        raise InvalidInput("intensity", f"must be one of {', '.join(INTENSITIES)}")
    return INTENSITIES.index(intensity)


def _shorten(text: str, level: int, words: Lexicon) -> tuple[str, tuple[Abbreviation, ...]]:
    row = atoms(text)
    if not any(row.open):
        return text, ()
    rewriter = Rewriter(row, words.bounds)
    for step in range(level + 1):
        rewriter.run(words.trees[step], words.fresh[step])
    if level:
        rewriter.close_gaps()
    short, made = rewriter.result()
    if not short.strip():  # nothing but pleasantries: a text is never emptied
        return _shorten(text, level - 1, words) if level else (text, ())
    return short, tuple(Abbreviation(*one) for one in made)


# Pieces between which no token of o200k or cl100k reaches: both cut at a single blank between two marks before they merge.
_CHUNK: Final = lazy.pattern(r" ?\S++(?:(?! \S)\s++\S*+)*+|\s++\S*+(?:(?! \S)\s++\S*+)*+")


class _Counted(dict[str, int]):
    """Counts o200k tokens by pieces, each piece once: a third of the time of counting both texts, with the same sum."""

    def __missing__(self, chunk: str) -> int:
        size = self[chunk] = tokens.count(chunk)
        return size

    def count(self, text: str) -> int:
        return sum(map(self.__getitem__, _CHUNK.findall(text)))
