"""Signals in a conversation: decisions, commitments, findings, questions, and facts that people state about themselves.

The words of each signal, and their weights. Standing orders are in ``standing.orders``, scores of whole texts in ``scorers``.

Word lists rather than patterns: this runs over every sentence of a long conversation.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise
from math import fsum
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.heard import HeardWords
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.spans import ASKS, Span

_WEIGHTS: Final = {"decision": 0.6, "commitment": 0.4, "finding": 0.35, "fact": 0.25, "question": 0.1}
_WORDS: Final = {
    "decision": (
        "decide decided decides decision decisions agreed chose chosen opted approved confirmed finalised finalized "
        "conclude concluded conclusion "
        "recommend recommended recommendation settled agree agrees disagree disagrees accept accepted reject rejected refuse "
        "refused cancel cancelled canceled postponed vetoed "
        "entschieden beschlossen entscheidung einverstanden abgelehnt abgesagt verschoben décidé décision convenu accepté refusé "
        "annulé reporté decidimos decidido decisión acepto aceptado rechazado cancelado aplazado "
        "acordamos acordado decidiu deciso решили решил решение договорились"
    ),
    "commitment": (
        "deadline todo promise promised owner assigned monday tuesday wednesday thursday friday tomorrow i'll we'll "
        "frist échéance plazo prazo "
        "scadenza срок"
    ),
    "finding": (
        "because fixed fix fixes resolved resolves found discovered therefore result results error errors fail fails "
        "failed failing failure cause "
        "caused causes solution prevents requires required limit threshold increased decreased reduced mandatory "
        "weil ursache gelöst parce raison "
        "porque causa porquê perché потому причина"
    ),
    "fact": "named called favorite favourite birthday married born moved lives i'm i've",
}
# Pairs of consecutive words.
_PAIRS: Final = {
    "decision": (
        "let's go|let's use|let's do|let's keep|let's take|let's stick|will use|go with|going with|the plan|final choice"
        "|we'll use"
    ),
    "commitment": (
        "i will|we will|going to|due by|due on|action item|action items|next step|next steps|ich werde|wir werden|je vais"
        "|nous allons|voy a|vamos a|я сделаю"
    ),
    "finding": (
        "root cause|turned out|turns out|due to|so that|works now|issue is|problem is|problem was|must not|at least|at most"
    ),
    "fact": (
        "my name|i am|i live|i work|i have|we have|my wife|my husband|my son|my daughter|my dog|my cat|my job|my mom"
        "|my dad|my friend"
    ),
}
# For scripts without spaces.
_DENSE: Final = {
    "decision": "决定 确定 同意 就用 拒绝 取消 推迟 决議 決め 決定 合意 賛成 反対 延期 결정 동의 취소 연기",
    "commitment": "我会 我们会 将会 予定 할게",
    "finding": "因为 原因 解决 发现 なぜなら 解決 때문",
    "fact": "我叫 我是 我的 私は 私の",
}
_BY_WORD: Final[dict[str, str]] = {word: name for name, listed in _WORDS.items() for word in listed.split()}
_LISTED: Final = frozenset(_BY_WORD)
_BY_PAIR: Final[dict[tuple[str, str], str]] = {
    (first, second): name
    for name, listed in _PAIRS.items()
    for first, _, second in (pair.partition(" ") for pair in listed.split("|"))
}
_PAIRED: Final = frozenset(_BY_PAIR)
_SECOND_WORDS: Final = {first: frozenset(b for a, b in _BY_PAIR if a == first) for first, _ in _BY_PAIR}
_FIRST_WORDS: Final = frozenset(_SECOND_WORDS)
_TELLING: Final = _LISTED | _FIRST_WORDS  # most sentences have none of these
_BY_PIECE: Final = tuple((piece, name) for name, listed in _DENSE.items() for piece in listed.split())
#: Characters at the end of a sentence that show whether it asks.
LAST: Final = 12
#: The weight of a question without any other signal.
QUESTION: Final = _WEIGHTS["question"]
_RULE: Final = 0.35
_TIES: Final = lexicon("ties")
#: Words that require, forbid, limit or deny.
_BINDING: Final = frozenset().union(*(_TIES[name] for name in ("limiting", "requires", "excluding", "negative"))) - {"later"}
_BINDING_DENSE: Final = lazy.pattern("不|没有|未|除外|如果|必|须|なければ|ません|場合|ない|경우|않|해야|수 없|필요|동의")


def _cue_bits() -> dict[str, tuple[int, int]]:
    alone = 1 << len(_SECOND_WORDS)
    bits = {word: [alone, alone] for word in _LISTED}
    for n, (first, seconds) in enumerate(_SECOND_WORDS.items()):
        bits.setdefault(first, [0, 0])[0] |= 1 << n
        for second in seconds:
            bits.setdefault(second, [0, 0])[1] |= 1 << n
    return {word: (first, second) for word, (first, second) in bits.items()}


#: For each word of the lists, two sets of bits. If no bit is in both the first sets and the second sets of a sentence's words, an
#: ASCII sentence has no signal except a question or an open item.
CUES: Final = _cue_bits()


def asks(sentence: str) -> bool:
    """Whether a sentence ends with a question mark, quoted or not."""
    return ASKS.search(sentence[-LAST:]) is not None


def signals(sentence: str, known: Sequence[str] | None = None) -> tuple[str, ...]:
    """The signals in a sentence, in a fixed order: decision, commitment, finding, fact, question.

    `known` are its words (``words(lower_text(sentence))``), if the caller has them already.
    """
    said = words(lower_text(sentence)) if known is None else known
    found: set[str] = set()
    if not _TELLING.isdisjoint(said):
        found.update([_BY_WORD[word] for word in _LISTED.intersection(said)])
        if False in [_SECOND_WORDS[first].isdisjoint(said) for first in _FIRST_WORDS.intersection(said)]:
            found.update([_BY_PAIR[pair] for pair in _PAIRED.intersection(pairwise(said))])
    if not sentence.isascii():
        found.update(name for piece, name in _BY_PIECE if piece in sentence)
    if "[ ]" in sentence:  # an open item of a checklist
        found.add("commitment")
    end = sentence[-LAST:]
    if ("?" in end or not end.isascii()) and ASKS.search(end):
        found.add("question")
    return tuple(name for name in _WEIGHTS if name in found) if found else ()


def signal_weight(sentence: str, known: Sequence[str] | None = None) -> float:
    """Weight of a sentence's signals, from 0 to 1."""
    found = signals(sentence, known)
    return min(1.0, fsum([_WEIGHTS[name] for name in found])) if found else 0.0


def rule_weight(sentence: str) -> float:
    """`_RULE` for a sentence that requires, forbids, limits or denies something; else 0.

    Rules and findings do so, and small talk rarely does.
    """
    said = words(lower_text(sentence))
    if not _BINDING.isdisjoint(said):
        return _RULE
    return _RULE if not sentence.isascii() and _BINDING_DENSE.search(sentence) else 0.0


def signal_weights(text: str, spans: Sequence[Span], heard: HeardWords) -> dict[int, float]:
    """The weight of the signals of each span that has any, by index; `heard` are the words of the spans."""
    if not text.isascii():
        asked: Iterable[int] = range(len(spans))
    else:
        cues = _cues(heard.distinct)
        asked = {*(heard.holding(cues) if cues else ()), *_holding_sign("?", text, spans), *_holding_sign("[ ]", text, spans)}
    weights = ((i, signal_weight(spans[i].of(text), heard.said[i])) for i in asked)
    return {i: weight for i, weight in weights if weight}


def _holding_sign(sign: str, text: str, spans: Sequence[Span]) -> Iterator[int]:
    """Indices of the spans with a sign, possibly repeated."""
    at = text.find(sign)
    starts = [span.start for span in spans] if at >= 0 else []
    while at >= 0:
        i = bisect_right(starts, at) - 1
        yield i
        at = text.find(sign, max(at + 1, spans[i].end - LAST))


def _cues(distinct: Set[str]) -> Set[str]:
    """The words of a text that indicate a signal, alone or before another of its words."""
    cues = _TELLING & distinct
    return {word for word in cues if word in _LISTED or not _SECOND_WORDS[word].isdisjoint(distinct)} if cues else cues
