"""Recall: what the question at hand needs from folded messages, word for word.

Lives here: cutting messages into passages, scoring them for a question, choosing within a budget. Must not: rendering (see
``fence``), where the result goes, when recall pays.

A passage is a whole message up to about 150 tokens, else a chunk of about 40 at sentence or line borders. Its score is BM25
over stems (``scorers.bm25``) plus a share of BM25 over character grams, with parts lent to its neighbours. The words of the
best passages extend the question (pseudo relevance feedback, Rocchio), names in them once more (a second hop).
Everything that depends on one message alone is memoised by its key, the joined index by all keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from turnfold.compression.conversation import fence
from turnfold.compression.memo import Memo, digest
from turnfold.compression.scorers.bm25 import Field, idf, saturated
from turnfold.compression.text import words
from turnfold.compression.text.quotes import Quote, Source

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        text: the last user message's own text.
        before: the exchange before it, oldest first; read where the text has no content of its own.
    """

    text: str
    before: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Tuning:
    """The figures of the score, all found by trial on public question sets (``benchmarks/recall_offline.py``)."""

    whole: int = 150
    chunk: int = 40
    k1: float = 0.9
    b: float = 0.4
    gram_share: float = 0.5
    lend: tuple[float, float] = (0.35, 0.15)
    feedback: float = 0.3
    feedback_passages: int = 5
    feedback_terms: int = 12
    second_hop: float = 0.35


TUNING: Final = Tuning()


# ---------------------------------------------------------------- passages

_BORDER: Final = re.compile(r"[.!?…؟।][\"')\]»”’]*\s+|[。！？｡][」』”’）]*\s*|\n+")
_SOFT_BORDER: Final = re.compile(r"[,;:|、，；)}\]]\s*|\s+")
_LONGEST: Final = 500


def estimate(text: str) -> float:
    """Tokens of a text within about a fifth, from its length alone."""
    if text.isascii():
        return len(text) / 4.2
    size = len(text.encode("utf-8", "surrogatepass"))
    return (2 * len(text) - size) / 4.2 + (size - len(text)) / 2.7 if size < 2 * len(text) else size / 4.6


def _pieces(text: str, start: int, end: int) -> list[int]:
    """Ends of the sentences of ``text[start:end]``; what has no border for long is cut at commas, blanks, or hard."""
    ends: list[int] = []
    last = start
    for border in [*(m.end() for m in _BORDER.finditer(text, start, end)), end]:
        while border - last > _LONGEST:
            window = [m.end() for m in _SOFT_BORDER.finditer(text, last + _LONGEST // 2, last + _LONGEST)]
            last = window[-1] if window else last + _LONGEST
            ends.append(last)
        if border > last:
            ends.append(border)
            last = border
    return ends


def passages(text: str, tuning: Tuning = TUNING) -> list[tuple[int, int]]:
    """Half-open ranges that hold all of a text but blanks at their borders."""
    if estimate(text) <= tuning.whole:
        return _trimmed(text, [(0, len(text))])
    found: list[tuple[int, int]] = []
    start = 0
    size = 0.0
    last = 0
    for end in _pieces(text, 0, len(text)):
        piece = estimate(text[last:end])
        if size and (size + piece > 1.25 * tuning.chunk or text[last - 2 : last] == "\n\n"):
            found.append((start, last))
            start, size = last, 0.0
        size += piece
        last = end
        if size >= tuning.chunk:
            found.append((start, end))
            start, size = end, 0.0
    found.append((start, len(text)))
    return _trimmed(text, found)


def _trimmed(text: str, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out = []
    for start, end in ranges:
        part = text[start:end]
        left = start + len(part) - len(part.lstrip())
        right = start + len(part.rstrip())
        if left < right:
            out.append((left, right))
    return out


# ---------------------------------------------------------------- index


@dataclass(frozen=True)
class Leaf:
    """What is known of one message: its passages, and their terms in order."""

    spans: tuple[tuple[int, int], ...]
    language: str
    words: words.Hashes
    word_lengths: npt.NDArray[np.int64]
    grams: words.Hashes
    gram_lengths: npt.NDArray[np.int64]
    costs: Floats


@dataclass(frozen=True)
class Index:
    """All passages of the sources, side by side.

    Attributes:
        quotes: the passages in order of the conversation.
        languages: those that occur, sorted.
        words, grams: their terms.
        costs: estimated tokens of each.
    """

    quotes: tuple[Quote, ...]
    languages: tuple[str, ...]
    words: Field
    grams: Field
    costs: Floats
    source_of: npt.NDArray[np.int64]


def _leaf(text: str) -> Leaf:
    spans = passages(text)
    folded = [words.fold(text[a:b]) for a, b in spans]
    name = words.language(words.fold(text[:4000]))
    found = [words.words(f) for f in folded]
    terms = words.stemmed(dict.fromkeys(w for ws in found for w in ws), name)
    grams = [gram_terms(f) for f in folded]
    bigrams = [run_on_terms(f) for f in folded]
    word_terms = [np.concatenate([np.fromiter(map(terms.__getitem__, ws), np.uint32, len(ws)), g]) for ws, g in zip(found, bigrams, strict=True)]
    return Leaf(
        tuple(spans),
        name,
        np.concatenate(word_terms) if word_terms else np.zeros(0, np.uint32),
        np.array([len(w) for w in word_terms], np.int64),
        np.concatenate(grams) if grams else np.zeros(0, np.uint32),
        np.array([len(g) for g in grams], np.int64),
        np.array([estimate(text[a:b]) for a, b in spans]),
    )


def gram_terms(folded: str) -> words.Hashes:
    points = words.codes(folded)
    return words.gram_hashes(points, 4)


def run_on_terms(folded: str) -> words.Hashes:
    if folded.isascii():
        return np.zeros(0, np.uint32)
    points = words.codes(folded)
    mask = words.run_on(points)
    if not mask.any():
        return np.zeros(0, np.uint32)
    pair = words.gram_hashes(points, 2)[mask[:-1] & mask[1:]]
    return np.concatenate([words.gram_hashes(points, 1)[mask], pair])


def build(sources: Sequence[Source], memo: Memo) -> Index:
    leaves = [memo.get((b"recall.leaf", s.key), lambda text=s.text: _leaf(text), lambda leaf: 8 * len(leaf.words) + 8 * len(leaf.grams) + 400) for s in sources]
    quotes = tuple(Quote(i, a, b) for i, leaf in enumerate(leaves) for a, b in leaf.spans)
    join = lambda arrays, kind: np.concatenate(arrays) if arrays else np.zeros(0, kind)  # noqa: E731
    return Index(
        quotes,
        tuple(sorted({leaf.language for leaf in leaves if leaf.spans})),
        Field(join([x.words for x in leaves], np.uint32), join([x.word_lengths for x in leaves], np.int64)),
        Field(join([x.grams for x in leaves], np.uint32), join([x.gram_lengths for x in leaves], np.int64)),
        join([x.costs for x in leaves], np.float64),
        np.array([q.source for q in quotes], np.int64),
    )


# ---------------------------------------------------------------- score


def score(index: Index, text: str, tuning: Tuning = TUNING) -> Floats:
    folded = words.fold(text)
    asked = [w for w in dict.fromkeys(words.words(folded)) if w not in words.ALL_FUNCTION_WORDS and (len(w) > 1 or not w.isascii() or w.isdigit())]
    by_language = [words.stemmed(asked, name) for name in index.languages]
    groups = [sorted({terms[w] for terms in by_language}) for w in asked]
    groups += [[int(t)] for t in dict.fromkeys(run_on_terms(folded).tolist())]
    tf = index.words.frequencies(groups)
    total = idf(tf) @ saturated(tf, index.words, tuning.k1, tuning.b)
    grams = [[int(t)] for t in dict.fromkeys(gram_terms(" ".join(asked) if asked else folded).tolist())]
    gf = index.grams.frequencies(grams)
    gram_total = idf(gf) @ saturated(gf, index.grams, tuning.k1, tuning.b)
    total = total / (total.max(initial=0) or 1) + tuning.gram_share * gram_total / (gram_total.max(initial=0) or 1)
    lent = total.copy()
    for distance, share in enumerate(tuning.lend, 1):
        lent[distance:] += share * total[:-distance]
        lent[:-distance] += share * total[distance:]
    return lent


# ---------------------------------------------------------------- choice


def recall(
    sources: Sequence[Source],
    question: Question,
    budget: int,
    present: Sequence[str],
    count: Callable[[str], int],
    memo: Memo,
    *,
    fill: bool = False,
) -> tuple[Quote, ...]:
    """The passages of ``sources`` that bear on the question, in order of the conversation.

    Args:
        sources: folded messages, oldest first.
        question: what is asked now.
        budget: tokens that :func:`fence.render` of the result may take at most.
        present: texts that the request holds already; a passage that is wholly in one of them is not quoted again.
        count: counts the tokens of a text.
        memo: keeps what is derived from single messages.
        fill: use the budget up as long as anything bears on the question at all, not only what clearly does.
    """
    if budget <= 0 or not sources:
        return ()
    index = memo.get((b"recall.index", digest(*(s.key.hex() for s in sources))), lambda: build(sources, memo), lambda x: 8 * len(x.words.terms) + 8 * len(x.grams.terms))
    if not index.quotes:
        return ()
    scores = score(index, question.text)
    held = "\0".join(present)
    order = np.argsort(-scores, kind="stable")
    chosen: list[Quote] = []
    used = float(count(fence.OPEN + "\n" + fence.CLOSE))
    floor = 0.0 if fill else 0.35 * float(scores.max())
    for i in order.tolist():
        if scores[i] <= floor or used > budget:
            break
        quote = index.quotes[i]
        text = sources[quote.source].text[quote.start : quote.end]
        if used + index.costs[i] * 0.7 > budget or (held and text in held):
            continue
        cost = count(text) + 3
        if used + cost <= budget:
            chosen.append(quote)
            used += cost
    while chosen and count(fence.render(sources, chosen)) > budget:
        chosen.pop()
    return tuple(sorted(chosen))
