"""Words of a text as terms for look-up.

This module defines what counts as a word in each script, which language a text is in, function words, stems, and the 32-bit hash
under which a term is indexed. It knows no scores and no passages.

Terms are CRC-32 values of folded stems: the same in every process, small, and comparable in numpy. Among 10,000 terms two collide
in about one text of 86, which costs only a little precision.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
import Stemmer

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import MARKS

Hashes = npt.NDArray[np.uint32]

_WORD: Final = lazy.pattern(rf"[\w{MARKS}]+")
_TOKEN: Final = lazy.pattern(rf"[\w{MARKS}]+(?:[-./:@#][\w{MARKS}]+)*")
_ASCII_TOKEN: Final = lazy.pattern(r"\w+(?:[-./:@#]\w+)*", re.ASCII)
_JOINTS: Final = "-./:@#"
# For ASCII: blanks in place of all bytes that are in no token.
_IN_TOKENS: Final = bytes(b if chr(b).isascii() and (chr(b).isalnum() or chr(b) in f"_{_JOINTS}") else 32 for b in range(256))
_IS_JOINT: Final = np.array([chr(b) in f"_{_JOINTS}" for b in range(256)])
# What has one of these is an identifier, a number, or a version, and must match as it is.
_UNSTEMMED: Final = lazy.pattern(r"[\d_./:@#]")
_PART: Final = lazy.pattern(r"[^\W_]+")
# Scripts written without spaces between words: kana, Han, Thai, Lao, Burmese, Khmer. Hangul has spaces, but its particles stick.
_RUN_ON: Final = lazy.pattern(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff]+"
)
_PAIRED_RANGES: Final = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D), (0x20000, 0x3FFFF),
)  # fmt: skip
_PAIRED_SIGNS: Final = "".join(f"{chr(low)}-{chr(high)}" for low, high in _PAIRED_RANGES)
_PAIRED: Final = lazy.pattern(f"[{_PAIRED_SIGNS}]")
#: Where a word in Latin letters, or a figure, meets such a script: "关于parse_config的".
_SEAM: Final = lazy.pattern(f"(?<=[A-Za-z0-9_)])(?=[{_PAIRED_SIGNS}])|(?<=[{_PAIRED_SIGNS}])(?=[A-Za-z0-9_])")
#: The same by code point; the last one stands for all beyond.
_IS_PAIRED: Final = np.zeros(_PAIRED_RANGES[-1][1] + 2, bool)
for _low, _high in _PAIRED_RANGES:
    _IS_PAIRED[_low : _high + 1] = True
_HAN: Final = {sign: n for n, sign in enumerate("一二三四五六七八九", 1)} | {"两": 2, "兩": 2}
_NONE: Final = np.zeros(0, np.uint32)
_LONGEST_STEMMED: Final = 40

# Function words and question words: they say in which language a text is, and never what it is about.
FUNCTION_WORDS: Final = lexicon("function_words")

_LANGUAGES_OF: Final = {
    word: tuple(name for name, words in FUNCTION_WORDS.items() if word in words)
    for word in sorted(frozenset().union(*FUNCTION_WORDS.values()))
}
# What no suffix rule can bring together: "did she go" and "she went", "two" and "2", "fünfundzwanzig" and "25".
_DEFAULT: Final = "english"
_ENGLISH_FORMS: Final = {form: base for base, forms in lexicon("irregular_english").items() for form in sorted(forms)}
_IRREGULAR: Final = {
    name: {form: base for base, _, form in (pair.partition("=") for pair in sorted(pairs))}
    | (_ENGLISH_FORMS if name == _DEFAULT else {})
    for name, pairs in lexicon("numbers").items()
}
_STEMMED: Final = frozenset(Stemmer.algorithms())


def fold(text: str) -> str:
    """Lower case and compatibility forms folded (full-width digits, ligatures); accents stay, they carry meaning."""
    text = text.lower()
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def words(folded: str) -> list[str]:
    """The words of a folded text in order. An identifier such as ``a.b-c`` is included whole and, at the end, in parts.

    Text of scripts without spaces is left out: see :func:`run_on_terms`.
    """
    if not folded.isascii():
        tokens = _TOKEN.findall(_RUN_ON.sub(" ", folded))
        return [*tokens, *_all_parts(tokens)]
    found = _token_bytes(folded).decode().rstrip(_JOINTS).split()
    if "".join(found).isalnum():  # most passages of prose: told without the pattern, which takes three times as long
        return found
    return _of_pieces(found, {})


def words_of_all(folded: Sequence[str]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The words of many folded texts, one text after the other, and how many each has: :func:`words` of all of them, ASCII in
    one go."""
    if not folded:
        return [], np.zeros(0, np.int64)
    ascii_texts = [text if text.isascii() else "" for text in folded]
    split = _token_bytes("".join([f"{text}\n" for text in ascii_texts]))
    signs = np.frombuffer(split, np.uint8)
    begins = signs != ord(" ")
    begins[1:] &= ~begins[:-1]
    first = np.cumsum([0, *[len(text) + 1 for text in ascii_texts[:-1]]])
    counts = np.add.reduceat(begins, first, dtype=np.int64)
    borders = np.cumsum([0, *counts.tolist()])
    pieces = split.decode().split()
    joined = set((first.searchsorted(np.flatnonzero(_IS_JOINT.take(signs)), side="right") - 1).tolist())
    own = sorted(joined.union([i for i, text in enumerate(folded) if not text.isascii()]))
    known: dict[str, tuple[list[str], list[str]]] = {}
    found: list[str] = []
    at = 0
    for i in own:
        start, end = borders[i : i + 2].tolist()
        said = _of_pieces(pieces[start:end], known) if i in joined else words(folded[i])
        found += pieces[at:start]
        found += said
        at, counts[i] = end, len(said)
    return (found + pieces[at:] if own else pieces), counts


def _token_bytes(text: str) -> bytes:
    """An ASCII text with blanks in place of everything outside tokens, and of joints that join nothing."""
    return text.encode().translate(_IN_TOKENS).replace(b". ", b"  ").replace(b": ", b"  ")


def _of_pieces(pieces: Sequence[str], known: dict[str, tuple[list[str], list[str]]]) -> list[str]:
    """The words of an ASCII text, split at blanks, which are in no token.

    Args:
        known: the tokens of pieces, and their parts; those of these are added.
    """
    found: list[str] = []
    parts: list[str] = []
    for piece in pieces:
        if piece.isalnum():
            found.append(piece)
            continue
        if piece not in known:
            tokens = _ASCII_TOKEN.findall(piece)
            known[piece] = tokens, _all_parts(tokens)
        tokens, more = known[piece]
        found += tokens
        parts += more
    return found + parts


def _all_parts(tokens: Sequence[str]) -> list[str]:
    """The parts of those tokens that are identifiers."""
    return [part for token in tokens if not token.isalnum() for part in _parts(token)]


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


def apart(text: str) -> str:
    """A text with a blank between each name or figure in Latin letters and an adjacent script without spaces."""
    return text if text.isascii() else _SEAM.sub(" ", text)


#: The signs of numbers up to 99 in Han writing; and a pattern for a number that `figure` reads.
HAN_FIGURES: Final = "".join(_HAN) + "十"
FIGURE: Final = rf"(?:\d{{1,3}}|[{HAN_FIGURES}]{{1,3}})"


def figure(number: str) -> int:
    """A number in figures or, up to 99, in Han signs: "12", "十二", "二十"."""
    if number.isdecimal():
        return int(number)
    tens, ten, ones = number.rpartition("十")
    return (_HAN.get(tens, 1) * 10 if ten else 0) + _HAN.get(ones, 0)


def language(found: Iterable[str]) -> str:
    """The language of a text, judged by its function words, as the stemmer names it; English by default."""
    telling = _LANGUAGES_OF.keys() & found
    if FUNCTION_WORDS[_DEFAULT].issuperset(telling):  # no other language can have more of them
        return _DEFAULT
    votes: dict[str, int] = {}
    for word in telling:
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
    bases = _IRREGULAR.get(name)
    short = [*distinct]
    if max(map(len, short), default=0) > _LONGEST_STEMMED or _UNSTEMMED.search(" ".join(short)):
        short = [w for w in short if len(w) <= _LONGEST_STEMMED and (w.isalpha() or not _UNSTEMMED.search(w))]
    regular = [bases.get(w, w) for w in short] if bases else short
    stems: Sequence[str] = Stemmer.Stemmer(name, 0).stemWords(regular) if name in _STEMMED else regular
    found = dict(zip(short, map(term, stems), strict=True))
    return found if len(found) == len(distinct) else found | {w: term(w) for w in distinct if w not in found}


def codes(text: str) -> Hashes:
    """Code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def gram_hashes(points: Hashes, size: int) -> Hashes:
    """A hash for the ``size`` code points from each position on; ``len(points) - size + 1`` values."""
    total = max(0, len(points) - size + 1)
    mixed = np.full(total, size * 0x9E3779B1 & 0xFFFFFFFF, dtype=np.uint32)
    shifted = np.empty_like(mixed)
    for i in range(size):
        mixed ^= points[i : i + total]
        mixed *= np.uint32(0x85EBCA6B)
        mixed ^= np.right_shift(mixed, np.uint32(15), out=shifted)
    return mixed


def grams(texts: Sequence[str], size: int = 4) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """Character grams of each text, side by side, and how many each has; none spans two texts."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    hashes = gram_hashes(codes("".join(texts)), size)
    inside = np.ones(len(hashes), bool)
    ends = np.cumsum(lengths)
    for back in range(1, size):
        at = ends - back
        inside[at[(at >= 0) & (at < len(hashes))]] = False
    return hashes[inside], np.maximum(0, lengths - size + 1)


def run_on_terms(folded: str) -> Hashes:
    """Terms of the parts in scripts without spaces, and of Hangul: each sign, and each pair of neighbours."""
    if not has_pairs(folded):
        return _NONE
    points = codes(folded)
    mask = _IS_PAIRED.take(points, mode="clip")
    pairs = gram_hashes(points, 2)[mask[:-1] & mask[1:]]
    return np.concatenate([gram_hashes(points, 1)[mask], pairs])
