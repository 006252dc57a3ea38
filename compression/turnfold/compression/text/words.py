"""Words of a text as terms for look-up.

Lives here: what counts as a word in each script, which language a text is in, function words, stems, and the 32-bit hash under
which a term is indexed. Does not belong here: scores, passages.

Terms are CRC-32 values of folded stems: the same in every process, small, and comparable in numpy. Among 10,000 terms two collide
in about one text of 86, which costs only a little precision.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence, Set
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
import Stemmer

from turnfold.compression.text.lexicon import lexicon

Hashes = npt.NDArray[np.uint32]

# Marks that belong to the letter before them but are no \w: Latin accents, Hebrew and Arabic points, Indic and Thai vowels.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u0e31-\u0e4e\u200c\u200d"
_WORD: Final = re.compile(rf"[\w{_MARKS}]+")
_TOKEN: Final = re.compile(rf"[\w{_MARKS}]+(?:[-./:@#][\w{_MARKS}]+)*")
_ASCII_TOKEN: Final = re.compile(r"\w+(?:[-./:@#]\w+)*", re.ASCII)
_JOINTS: Final = "-./:@#"
# For ASCII: blanks in place of all bytes that are in no token.
_IN_TOKENS: Final = bytes(b if chr(b).isascii() and (chr(b).isalnum() or chr(b) in f"_{_JOINTS}") else 32 for b in range(256))
# What has one of these is an identifier, a number, or a version, and must match as it is.
_UNSTEMMED: Final = re.compile(r"[\d_./:@#]")
_PART: Final = re.compile(r"[^\W_]+")
# Scripts written without spaces between words: kana, Han, Thai, Lao, Burmese, Khmer. Hangul has spaces, but its particles stick.
_RUN_ON: Final = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff]+"
)
_PAIRED_RANGES: Final = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D), (0x20000, 0x3FFFF),
)  # fmt: skip
_PAIRED: Final = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _PAIRED_RANGES) + "]")
_NONE: Final = np.zeros(0, np.uint32)
_LONGEST_STEMMED: Final = 40

# Function words and question words: they say in which language a text is, and never what it is about.
FUNCTION_WORDS: Final = lexicon("function_words")

_LANGUAGES_OF: Final = {
    word: tuple(name for name, words in FUNCTION_WORDS.items() if word in words)
    for word in sorted(frozenset().union(*FUNCTION_WORDS.values()))
}
# What no suffix rule can bring together: "did she go" and "she went", "two" and "2".
_IRREGULAR: Final = {
    "english": {form: base for base, forms in lexicon("irregular_english").items() for form in sorted(forms)},
}
_STEMMED: Final = frozenset(Stemmer.algorithms())
_DEFAULT: Final = "english"


def fold(text: str) -> str:
    """Lower case and compatibility forms folded (full-width digits, ligatures); accents stay, they carry meaning."""
    text = text.lower()
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def words(folded: str, known: dict[str, list[str]] | None = None) -> list[str]:
    """The words of a folded text in order. An identifier such as ``a.b-c`` is included whole and, at the end, in parts.

    Text of scripts without spaces is left out: see :func:`run_on_terms`.

    Args:
        known: the parts of identifiers, for whoever asks for many texts; those of this one are added.
    """
    if not folded.isascii():
        found = _TOKEN.findall(_RUN_ON.sub(" ", folded))
    elif "_" in folded or "/" in folded:
        found = _ASCII_TOKEN.findall(folded)
    else:
        found = folded.encode().translate(_IN_TOKENS).decode().replace(". ", " ").replace(": ", " ").rstrip(_JOINTS).split()
        if "".join(found).isalnum():  # most passages of prose: told without the pattern, which takes three times as long
            return found
        found = _ASCII_TOKEN.findall(folded)
    parts_of = {} if known is None else known
    parts: list[str] = []
    for token in found:
        if not token.isalnum():
            if token not in parts_of:
                parts_of[token] = _parts(token)
            parts += parts_of[token]
    return found + parts


def _parts(token: str) -> list[str]:
    return [w for w in _WORD.findall(token) if w != token] + (_PART.findall(token) if "_" in token else [])


def content(found: Iterable[str], name: str) -> list[str]:
    """The words that can tell what a text is about: no function words of its language, no single letters.

    Only that language's function words are removed: German "war" is a verb, English "war" is a subject.
    """
    empty = FUNCTION_WORDS.get(name, frozenset())
    return [w for w in found if w not in empty and (len(w) > 1 or w.isdigit() or not w.isascii())]


def is_function_word(word: str) -> bool:
    """Whether a folded word is a function word in any of the languages."""
    return word in _LANGUAGES_OF


def has_pairs(folded: str) -> bool:
    """Whether :func:`run_on_terms` finds anything."""
    return not folded.isascii() and _PAIRED.search(folded) is not None


def language(found: Set[str]) -> str:
    """The language of a text, judged by its function words, as the stemmer names it; English by default."""
    votes: dict[str, int] = {}
    for word in _LANGUAGES_OF.keys() & found:
        for name in _LANGUAGES_OF[word]:
            votes[name] = votes.get(name, 0) + 1
    best = max(votes, key=lambda name: (votes[name], name), default=_DEFAULT)
    return best if votes.get(best, 0) > max(1, votes.get(_DEFAULT, 0)) else _DEFAULT


def term(word: str) -> int:
    """The hash of one folded word as it stands."""
    return crc32(word.encode("utf-8", "surrogatepass"))


def stem_table(distinct: Collection[str], name: str) -> dict[str, int]:
    """The term of each word in a language; identifiers are not stemmed. Each call makes its own stemmer, because one object must
    not serve two threads."""
    bases = _IRREGULAR.get(name, {})
    short = [w for w in distinct if len(w) <= _LONGEST_STEMMED and not _UNSTEMMED.search(w)]
    regular = [bases.get(w, w) for w in short]
    stems: Sequence[str] = Stemmer.Stemmer(name, 0).stemWords(regular) if name in _STEMMED else regular
    found = {w: term(s) for w, s in zip(short, stems, strict=True)}
    return found | {w: term(w) for w in distinct if w not in found}


def codes(text: str) -> Hashes:
    """Code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def gram_hashes(points: Hashes, size: int) -> Hashes:
    """A hash for the ``size`` code points from each position on; ``len(points) - size + 1`` values."""
    total = max(0, len(points) - size + 1)
    mixed = np.full(total, size * 0x9E3779B1 & 0xFFFFFFFF, dtype=np.uint32)
    for i in range(size):
        mixed = (mixed ^ points[i : i + total]) * np.uint32(0x85EBCA6B)
        mixed ^= mixed >> np.uint32(15)
    return mixed


def grams(texts: Sequence[str], size: int = 4) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """Character grams of each text, side by side, and how many each has; none spans two texts."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    hashes = gram_hashes(codes("".join(texts)), size)
    to_end = np.repeat(np.cumsum(lengths), lengths)[: len(hashes)] - np.arange(len(hashes))
    return hashes[to_end >= size], np.maximum(0, lengths - size + 1)


def run_on_terms(folded: str) -> Hashes:
    """Terms of the parts in scripts without spaces, and of Hangul: each sign, and each pair of neighbours."""
    if not has_pairs(folded):
        return _NONE
    points = codes(folded)
    mask = np.zeros(len(points), dtype=bool)
    for low, high in _PAIRED_RANGES:
        mask |= (points >= low) & (points <= high)
    pairs = gram_hashes(points, 2)[mask[:-1] & mask[1:]]
    return np.concatenate([gram_hashes(points, 1)[mask], pairs])
