"""What a summary claims, compared with its source.

This module finds figures, identifiers, names and quoted texts in a summary that its source lacks, and sentences that say the
opposite of the source's or assert what it left open. ``checks`` draws the consequences.

Nothing here understands a text. What is checked is what can be compared: characters, words, and small words of negation and
doubt. Two figures of the source that changed places are not found, nor is a true sentence about the wrong person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.scorers.terms import terms
from turnfold.compression.text.figures import figures
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.names.dense_names import dense_names
from turnfold.compression.text.passages import sentences

_TABLE: Final = lexicon("polarity")
_NUMBER: Final = lazy.pattern(r"\d+(?:[.,:'’/\u00a0\u202f-]?\d+)*")
_GROUPING: Final = lazy.pattern(r"(?<=\d)[,'’\u00a0\u202f](?=\d{3}(?!\d))")
_SPACED: Final = lazy.pattern(r"(?<=\d)[ ](?=\d{3}(?!\d))")
_SIGN_BEFORE: Final = lazy.pattern(r"([$€£¥₹₩₽])\s?(?=\d)")
_PERCENT: Final = lazy.pattern(r"(?<![\d.,])[.,]*+(\d[\d.,]*)\s?(?:%|per ?cent|Prozent|pour cent|por ciento)")
_WORD: Final = lazy.pattern(r"[^\W_]+(?:['’][^\W_]+)?")
_QUOTED: Final = lazy.pattern(
    r"`([^`\n]{2,})`|\"([^\"\n]{2,})\"|“([^”\n]{2,})”|«([^»\n]{2,})»|「([^」\n]{2,})」|„([^“”\n]{2,})[“”]"
)
_KATAKANA: Final = lazy.pattern(r"[ァ-ヶー]{3,}")
_SPACE: Final = lazy.pattern(r"\s+")
_EDGES: Final = ".,;:!?()[]{}\"'`“”«»„"
_SAME: Final = 0.6  # share of a statement's words that a source sentence must have to be about the same thing
_STEM: Final = 5
#: Numbers written as words in the source and as figures in the summary.
_COUNTING: Final = (
    *("zero", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
#: What a word of scale begins with, longer beginnings first.
_SCALES: Final = (
    *(("milliard", "9"), ("miljard", "9"), ("miliard", "9"), ("mrd", "9"), ("mld", "9"), ("bn", "9"), ("billion", "9")),
    *(("mill", "6"), ("milj", "6"), ("mil", "6"), ("milhõ", "6"), ("mio", "6"), ("mln", "6"), ("mn", "6"), ("thousand", "3")),
    *(("tausend", "3"), ("миллиард", "9"), ("млрд", "9"), ("миллион", "6"), ("млн", "6"), ("тыс", "3"), ("trillion", "12")),
)
_SCALED: Final = lazy.pattern(rf"(\d(?<![\d.,]\d)[\d.,]*+)[ \u00a0-]?((?i:{'|'.join(begin for begin, _ in _SCALES)}))")
_CURRENCIES: Final = {
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), "$"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("£", "gbp", "pound sterling", "pounds sterling"), "£"),
    **dict.fromkeys(("¥", "jpy", "yen"), "¥"),
    **dict.fromkeys(("₹", "inr", "rupee", "rupees"), "₹"),
    **dict.fromkeys(("chf", "franken"), "CHF"),
}
_CURRENCY: Final = lazy.pattern(r"[$€£¥₹]|\b(?i:usd|dollars?|eur|euros?|gbp|pounds? sterling|jpy|yen|inr|rupees?|chf|franken)\b")
_ROLES: Final = frozenset({"user", "assistant", "tool", "system", "i"})


def _folded(text: str) -> str:
    return _SPACE.sub(" ", text).casefold()


def _numbers(text: str) -> set[str]:
    """Numbers as written without thousands separators."""
    joined = _GROUPING.sub("", text)
    return {found.rstrip(".,:'’/-") for found in _NUMBER.findall(joined)}


def _every_number(text: str) -> set[str]:
    """Numbers in all the forms in which a summary may have them."""
    low, numbers = text.casefold(), _numbers(text) | _numbers(_SPACED.sub("", text))
    words = {str(n) for n, word in enumerate(_COUNTING) if word in low and re.search(rf"\b{word}\b", low)}
    return numbers | words | {part for number in numbers for part in re.split(r"[:/-]", number)}


def _scaled(text: str) -> Iterator[str]:
    """Figures with the thousands, millions or billions behind them, in one spelling."""
    for number, word in _SCALED.findall(text):
        scale = next(scale for begin, scale in _SCALES if word.lower().startswith(begin))
        yield f"{number.rstrip('.,')} {scale}"


def _currencies(text: str) -> frozenset[str]:
    """The currencies of a text, by their signs."""
    return frozenset(_CURRENCIES[found.lower()] for found in _CURRENCY.findall(text))


def _content(text: str) -> frozenset[str]:
    """The subject of a sentence: the beginnings of its words, without function words, negation and doubt."""
    small = _TABLE["negates"] | _TABLE["doubts"]
    return frozenset(word if word.isdigit() else word[:_STEM] for word in terms(text) if word not in small)


def _has(text: str, kind: str) -> bool:
    low = text.casefold()
    if any(part in low for part in _TABLE[f"{kind}-inside"]):
        return True
    return any(word in _TABLE[kind] or word.endswith(("n't", "n’t")) for word in _words_of(low))


def _words_of(low: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(low)]


@dataclass(frozen=True, slots=True)
class _SourceSentence:
    """A source sentence's subject, alone and with that of the sentence before; its numbers; whether it negates or hedges."""

    about: frozenset[str]
    context: frozenset[str]
    numbers: frozenset[str]
    negated: bool
    doubtful: bool


class Grounds:
    """A source, prepared for checking the statements of a summary.

    Args:
        texts: the source's complete texts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.text = "\n".join(texts)

    @cached_property
    def _low(self) -> str:
        return _folded(self.text)

    @cached_property
    def _scales(self) -> frozenset[str]:
        return frozenset(_scaled(self.text))

    @cached_property
    def _money(self) -> frozenset[str]:
        return _currencies(self.text)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(word.split("'")[0] for word in _words_of(self._low))

    @cached_property
    def _beginnings(self) -> frozenset[str]:
        return frozenset(start for word in self._words for start in _beginnings(word))

    @cached_property
    def about(self) -> frozenset[str]:
        """The subject of the whole source."""
        return _content(self.text)

    @cached_property
    def _sentences(self) -> tuple[_SourceSentence, ...]:
        pieces = [self.text[start:end] for start, end in sentences(self.text, 0, len(self.text))]
        about = [_content(piece) for piece in pieces]
        return tuple(
            _SourceSentence(here, here | before, frozenset(_every_number(piece)), _has(piece, "negates"), _has(piece, "doubts"))
            for piece, here, before in zip(pieces, about, [frozenset[str](), *about], strict=False)
        )

    def has(self, text: str) -> bool:
        """Whether the source contains a text word for word, ignoring white space."""
        return _folded(text) in self._low

    def foreign_figure(self, said: str) -> str | None:
        """A number, percentage or sum of money that the source lacks, or has only in statements about something else."""
        about = frozenset(term for term in _content(said) if not term[0].isdigit())
        for number in sorted(_numbers(said)):
            places = [one for one in self._sentences if number in one.numbers]
            if not places or (about and all(about.isdisjoint(one.context) for one in places)):
                return number
        shares = {share.rstrip(".,") for share in _PERCENT.findall(self.text)}
        said_shares: list[str] = _PERCENT.findall(said)
        signs: list[str] = _SIGN_BEFORE.findall(said)
        scale = next((found for found in _scaled(said) if found not in self._scales), None)
        if scale:
            return scale
        share = next((s for s in said_shares if s.rstrip(".,") not in shares), None)
        return share or next((sign for sign in (*signs, *_currencies(said) - self._money) if sign not in self.text), None)

    def foreign_identifier(self, said: str) -> str | None:
        """A path, URL, identifier, version or call that the source lacks."""
        found = (token for token in figures(said) if " " not in token and not token.strip(_EDGES + "$€£%+-~").isdigit())
        for token in found:
            bare = token.strip(_EDGES)
            if bare and not _NUMBER.fullmatch(bare.lstrip("$€£¥₹~<>=+-").rstrip("%")) and not self.has(bare):
                return token
        return None

    def foreign_name(self, said: str) -> str | None:
        """A capitalized word, or a name in a script without capitals, that the source lacks."""
        words: list[str] = _WORD.findall(said)
        lacking = [w for w in words if w[0].isupper() and w.casefold() not in _ROLES and not self._knows(w)]
        names: list[str] = [*(said[start:end] for start, end, _ in dense_names(said)), *_KATAKANA.findall(said)]
        return next(iter([*lacking, *(name for name in names if not self.has(name))]), None)

    def _knows(self, word: str) -> bool:
        """Whether the source has the word, in this form or with another ending."""
        low = word.casefold().replace("’", "'").split("'")[0]
        return low in self._words or low in self._beginnings or not self._words.isdisjoint(_beginnings(low))

    def foreign_quote(self, said: str) -> str | None:
        """A text in quotation marks that the source lacks."""
        quoted = ("".join(groups) for groups in _QUOTED.findall(said))
        return next((quote for quote in quoted if not self.has(quote.strip(" .,;:!?"))), None)

    def share_of(self, said: str) -> float:
        """The share of a statement's subject that the source mentions, 0 to 1; 1 for a statement without a subject."""
        about = _content(said)
        return len(about & self.about) / len(about) if about else 1.0

    def contradicts(self, said: str) -> bool:
        """Whether the source negates what the statement affirms, or the other way round."""
        negated = _has(said, "negates")
        return bool(near := self._near(said)) and all(one.negated != negated for one in near)

    def doubts(self, said: str) -> bool:
        """Whether the source leaves open, or makes conditional, what the statement asserts."""
        near = self._near(said)
        return bool(near) and not _has(said, "doubts") and all(one.doubtful for one in near)

    def speaks_of(self, said: str) -> bool:
        """Whether a single sentence of the source is about the same thing."""
        return bool(self._near(said))

    def _near(self, said: str) -> Sequence[_SourceSentence]:
        """The sentences closest to the statement."""
        about = _content(said)
        if len(about) < 2:
            return ()
        shares = [len(about & one.about) / len(about) for one in self._sentences]
        best = max(shares, default=0.0)
        return [one for one, share in zip(self._sentences, shares, strict=True) if share >= best - 1e-9] if best >= _SAME else ()


def _beginnings(word: str) -> Iterator[str]:
    """A word without endings of up to four letters."""
    yield from (word[:-cut] for cut in range(1, 5) if len(word) - cut >= _STEM - 1)
