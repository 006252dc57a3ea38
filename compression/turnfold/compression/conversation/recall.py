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
    hop_passages: int = 3
    hop_names: int = 8
    head_share: float = 0.3
    block_share: float = 0.3
    label_weight: float = 0.3
    asking: float = 0.7


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
    """What is known of one message: its passages, and their terms in order.

    Attributes:
        spans: the passages.
        language: of the text, as the stemmer names it.
        words, grams, heads: terms by passage; heads are those of the label or title that the passage stands under.
        blocks: for each passage, the index of the first passage of its paragraph.
        costs: estimated tokens of each passage.
        stamp: terms of a bracketed header such as a date; they hold for the messages after it too.
    """

    spans: tuple[tuple[int, int], ...]
    language: str
    words: Field
    grams: Field
    heads: Field
    blocks: npt.NDArray[np.int64]
    costs: Floats
    stamp: words.Hashes
    asking: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Index:
    """All passages of the sources, side by side; the fields are those of the leaves."""

    quotes: tuple[Quote, ...]
    languages: tuple[str, ...]
    words: Field
    grams: Field
    heads: Field
    blocks: npt.NDArray[np.int64]
    costs: Floats
    asking: npt.NDArray[np.bool_]


_STAMP: Final = re.compile(r"\s*\[([^\]\n]{4,60})\]")
_LABEL: Final = re.compile(r"\s*([^\W\d_][\w.' -]{0,40}):\s")
_TITLE: Final = 60


def _field(arrays: list[words.Hashes]) -> Field:
    return Field(np.concatenate(arrays) if arrays else np.zeros(0, np.uint32), np.array([len(a) for a in arrays], np.int64))


def _leaf(text: str) -> Leaf:
    spans = passages(text)
    folded = [words.fold(text[a:b]) for a, b in spans]
    name = words.language(words.fold(text[:4000]))
    found = [words.words(f) for f in folded]
    terms = words.stemmed(dict.fromkeys(w for ws in found for w in ws), name)
    hashed = [np.concatenate([np.fromiter(map(terms.__getitem__, ws), np.uint32, len(ws)), run_on_terms(f)]) for ws, f in zip(found, folded, strict=True)]
    blocks: list[int] = []
    heads: list[words.Hashes] = []
    whole = len(spans) == 1
    for i, (start, _) in enumerate(spans):
        if i and "\n" not in text[spans[i - 1][1] : start]:
            blocks.append(blocks[-1])
            heads.append(heads[-1])
            continue
        blocks.append(i)
        if whole:
            label = _LABEL.match(_STAMP.sub("", text[:120], count=1))
            title = label.group(1) if label else ""
        else:
            title = text[start : start + _TITLE]
        f = words.fold(title)
        ws = [w for w in words.words(f) if w not in words.ALL_FUNCTION_WORDS]
        t = words.stemmed(ws, name)
        heads.append(np.concatenate([np.array([t[w] for w in ws], np.uint32), run_on_terms(f)]))
    stamp = _STAMP.match(text)
    stamped = words.words(words.fold(stamp.group(1))) if stamp else []
    st = words.stemmed(stamped, name)
    return Leaf(
        tuple(spans), name, _field(hashed), _field([gram_terms(f) for f in folded]), _field(heads), np.array(blocks, np.int64),
        np.array([estimate(text[a:b]) for a, b in spans]), np.array([st[w] for w in stamped], np.uint32),
        np.array([text[a:b].endswith(("?", "？", "؟")) for a, b in spans], bool),
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
    leaves = [memo.get((b"recall.leaf", s.key), lambda text=s.text: _leaf(text), lambda leaf: 8 * len(leaf.words.terms) + 8 * len(leaf.grams.terms) + 400) for s in sources]
    quotes = tuple(Quote(i, a, b) for i, leaf in enumerate(leaves) for a, b in leaf.spans)
    heads: list[words.Hashes] = []
    stamp = np.zeros(0, np.uint32)
    base = 0
    blocks = []
    for leaf in leaves:
        if len(leaf.stamp):
            stamp = leaf.stamp
        heads += [np.concatenate([h, stamp]) for h in (leaf.heads.of(i) for i in range(len(leaf.spans)))]
        blocks.append(leaf.blocks + base)
        base += len(leaf.spans)
    join = lambda fields: Field(np.concatenate([f.terms for f in fields]), np.concatenate([f.lengths for f in fields]))  # noqa: E731
    return Index(
        quotes,
        tuple(sorted({leaf.language for leaf in leaves if leaf.spans})),
        join([x.words for x in leaves]),
        join([x.grams for x in leaves]),
        _field(heads),
        np.concatenate(blocks),
        np.concatenate([x.costs for x in leaves]),
        np.concatenate([x.asking for x in leaves]),
    )


# ---------------------------------------------------------------- score


_NAME: Final = re.compile(r"\b[^\W\d_a-z][\w’'-]*\w")


def norm(x: Floats) -> Floats:
    return x / (x.max(initial=0) or 1)


def lend(total: Floats, tuning: Tuning) -> Floats:
    lent = total.copy()
    for distance, share in enumerate(tuning.lend, 1):
        lent[distance:] += share * total[:-distance]
        lent[:-distance] += share * total[distance:]
    return lent


def by_terms(index: Index, groups: Sequence[Sequence[int]], weights: Floats, tuning: Tuning) -> Floats:
    tf = index.words.frequencies(groups)
    w = idf(tf) * weights
    total = w @ saturated(tf, index.words, tuning.k1, tuning.b)
    if tuning.block_share:
        count = int(index.blocks.max()) + 1
        btf = np.stack([np.bincount(index.blocks, row, count) for row in tf]) if len(tf) else np.zeros((0, count))
        blen = np.bincount(index.blocks, index.words.lengths, count)
        mean = max(1.0, float(blen[blen > 0].mean()))
        sat = btf * (tuning.k1 + 1) / (btf + tuning.k1 * (1 - tuning.b + tuning.b * blen / mean))
        total = total + tuning.block_share * (w @ sat)[index.blocks]
    if tuning.head_share:
        hf = index.heads.frequencies(groups)
        total = total + tuning.head_share * ((idf(hf) * weights) @ (hf > 0))
    return total


def asked_words(text: str, tuning: Tuning) -> dict[str, float]:
    folded = words.fold(text)
    label = re.match(r"\s*(\w+):\s", folded)
    asked = {w: 1.0 for w in words.words(folded) if w not in words.ALL_FUNCTION_WORDS and (len(w) > 1 or not w.isascii() or w.isdigit())}
    if label and label.group(1) in asked and len(asked) > 1:
        asked[label.group(1)] = tuning.label_weight
    return asked


def score(index: Index, sources: Sequence[Source], text: str, tuning: Tuning = TUNING) -> Floats:
    folded = words.fold(text)
    asked = asked_words(text, tuning)
    by_language = [words.stemmed(asked, name) for name in index.languages]
    groups = [sorted({terms[w] for terms in by_language}) for w in asked]
    weights = list(asked.values())
    extra = [[int(t)] for t in dict.fromkeys(run_on_terms(folded).tolist())]
    groups += extra
    weights += [1.0] * len(extra)
    total = by_terms(index, groups, np.array(weights), tuning)
    grams = [[int(t)] for t in dict.fromkeys(gram_terms(" ".join(asked) if asked else folded).tolist())]
    gf = index.grams.frequencies(grams)
    gram_total = idf(gf) @ saturated(gf, index.grams, tuning.k1, tuning.b)
    total = norm(total) + tuning.gram_share * norm(gram_total)
    total *= np.where(index.asking, tuning.asking, 1.0)
    first = lend(total, tuning)
    if tuning.feedback or tuning.second_hop:
        first = norm(first)
        known = {t for g in groups for t in g}
        if tuning.feedback:
            total = total + tuning.feedback * norm(by_terms(index, *feedback(index, first, known, tuning), tuning))
        if tuning.second_hop:
            total = total + tuning.second_hop * norm(by_terms(index, *second_hop(index, sources, first, known, tuning), tuning))
        first = lend(total, tuning)
    return first


def feedback(index: Index, scores: Floats, known: set[int], tuning: Tuning) -> tuple[list[list[int]], Floats]:
    best = np.argsort(-scores, kind="stable")[: tuning.feedback_passages]
    weight: dict[int, float] = {}
    for i in best.tolist():
        terms = index.words.of(i)
        for t in dict.fromkeys(terms.tolist()):
            if t not in known:
                weight[t] = weight.get(t, 0.0) + float(scores[i])
    found = list(weight)
    value = idf(index.words.frequencies([[t] for t in found])) * np.array([weight[t] for t in found])
    top = np.argsort(-value, kind="stable")[: tuning.feedback_terms].tolist()
    return [[found[i]] for i in top], np.array([weight[found[i]] for i in top])


def second_hop(index: Index, sources: Sequence[Source], scores: Floats, known: set[int], tuning: Tuning) -> tuple[list[list[int]], Floats]:
    best = np.argsort(-scores, kind="stable")[: tuning.hop_passages]
    weight: dict[tuple[int, ...], float] = {}
    for i in best.tolist():
        q = index.quotes[i]
        for name in dict.fromkeys(_NAME.findall(sources[q.source].text[q.start : q.end])):
            f = words.fold(name)
            if f in words.ALL_FUNCTION_WORDS:
                continue
            g = tuple(sorted({words.stemmed([f], lang)[f] for lang in index.languages}))
            if not known & set(g):
                weight[g] = weight.get(g, 0.0) + float(scores[i])
    found = list(weight)
    value = idf(index.words.frequencies(found)) * np.array([weight[t] for t in found])
    top = np.argsort(-value, kind="stable")[: tuning.hop_names].tolist()
    return [list(found[i]) for i in top], np.array([weight[found[i]] for i in top])


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
    scores = score(index, sources, question.text)
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
