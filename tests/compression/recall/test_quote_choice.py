"""Quotes chosen many at once are those that are chosen one by one."""

from __future__ import annotations

import random

import numpy as np

from tests.support.cases import each
from tests.support.effort import every
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall import fence, passage_index
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.held import Held
from turnfold.compression.recall.needed_quotes import ChosenQuote, complete, needs
from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.quote_choice import Quoted, QuoteTokens, fit_quotes
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.text.quotes import Quotable, Quote, Source
from turnfold.compression.tokens import BORDER_COUNTER, ModelCounter, counter_for_model

WORDS = ["harbour", "crane", "ledger", "cabinet", "market", "€", "lantern", "12.5", "manifest", "ok"]
HELD = "The harbour crane.\nok market ledger\nharbou ledger\ncrane ledger"


def talk(draw: random.Random, messages: int) -> list[Source]:
    """Short messages, some of which say the same or a part of another, and long ones of several passages."""
    texts = ["The harbour crane.", "ok", '"ok"  "market"', '"harbou"  "ledger"', '"crane"  "ledger"', "ledger\0cabinet"]
    for _ in range(messages - len(texts)):
        size = draw.choice([1, 3, 8, 20, 20, 250])
        again = draw.random() < 0.15
        texts.append(draw.choice(texts) if again else " ".join(draw.choice(WORDS) for _ in range(size)).capitalize() + ".")
    draw.shuffle(texts)
    return [Source(("user", "assistant")[n % 2], text, digest(text)) for n, text in enumerate(texts)]


def fitted(sources: list[Quotable], chosen: list[Quote], budget: int, index: PassageIndex, count: ModelCounter) -> list[Quote]:
    """As many of the chosen quotes, the best first, as the fence has room for with what they need."""

    def tokens(quotes: list[Quote]) -> int:
        return count(fence.render(sources, quotes)) if quotes else 0

    numbers = {quote: number for number, quote in enumerate(index.quotes)}
    if needed := needs(np.array([numbers[quote] for quote in chosen if quote in numbers], np.int64), index, sources):
        costs = [count(sources[quote.source].text[quote.start : quote.end]) + FRAME for quote in chosen]
        wanted = [needed.get(numbers.get(quote, -1), ()) for quote in chosen]
        asked = list(map(ChosenQuote, chosen, costs, wanted))
        room = budget - count(fence.enclose(()))
        while (left := budget - tokens(found := complete(asked, sources, room, count))) < 0:
            room += left
        return found
    while tokens(chosen) > budget:
        chosen = chosen[:-1]
    return sorted(chosen)


def one_by_one(ranked: list[Quote], budget: int, held: str, index: PassageIndex, count: ModelCounter) -> list[Quote]:
    """The same choice, written down as it is meant."""
    sources = list(index.sources)

    def text(quote: Quote) -> str:
        return sources[quote.source].text[quote.start : quote.end]

    def bare(text: str) -> str:
        return text.translate(str.maketrans("", "", '" \t\r\n'))

    def holds(said: str) -> bool:
        return bool(held) and (said in held or ('"' in said and len(bare(said)) >= 12 and bare(said) in bare(held)))

    def take(quotes: list[Quote], room: float, taken: str) -> list[Quote]:
        chosen: list[Quote] = []
        for quote in quotes:
            said, cost = text(quote), count(text(quote)) + FRAME
            if room < FRAME + 2:
                break
            if len(said) > 8 * room or cost > room or said in map(text, chosen) or holds(said):
                continue
            if taken and (said in taken or ("\0" in said and said in f"{held}\0{taken}")):
                continue
            chosen.append(quote)
            room -= cost
        return chosen

    def tokens(chosen: list[Quote]) -> int:
        return count(fence.render(sources, chosen)) if chosen else 0

    chosen = take(ranked, budget - count(fence.enclose(())), "")
    if (left := budget - tokens(chosen)) > 2 * FRAME:
        others = [quote for quote in ranked if quote not in chosen]
        chosen += take(others, left, "\0".join(map(text, chosen)))
    return fitted(sources, chosen, budget, index, count)


def best_first(index: PassageIndex, ranking: RankedQuotes) -> list[Quote]:
    quotes = (*index.quotes, *ranking.more)
    return [quotes[n] for n in sorted(ranking.numbers.tolist(), key=lambda n: (-ranking.worth[n], n))]


def worth(draw: random.Random, size: int) -> Floats:
    """Some of it equal."""
    return np.array([draw.choice([draw.random(), 0.5]) for _ in range(size)])


@each(("seed", "model"), every(3, [*zip(range(8), ["gpt-4o", "unknown"] * 4, strict=True)], 2))
def test_many_at_once_are_those_that_are_chosen_one_by_one(seed: int, model: str) -> None:
    draw, memo, count = random.Random(seed), Memo(), counter_for_model(model)
    sources = talk(draw, 110)
    for end in (40, 70, 70, 110):  # what an earlier question asked is known to the next one
        index = passage_index.build(sources[:end], memo)
        beginnings = tuple(Quote(q.source, q.start, (q.start + q.end + 1) // 2) for q in draw.sample(index.quotes, 5))
        more = draw.choice([(), beginnings])
        total = len(index.quotes) + len(more)
        numbers = np.array(sorted(draw.sample(range(total), draw.randint(1, total))), np.int64)
        ranking = RankedQuotes(numbers, worth(draw, total), more)
        held = draw.choice(["", HELD])
        for budget in (20, 45, 200, 1500, 100_000):
            found = fit_quotes(ranking, budget, QuoteTokens(sources, count, index, Held(held), more))
            assert list(found.quotes) == one_by_one(best_first(index, ranking), budget, held, index, count)
            assert found.text == fence.render(sources, found.quotes)
            assert list(found.passages) == fence.passages(sources, found.quotes)
            assert found.tokens == (count(found.text) if found.text else 0)


def everything(sources: list[Source], memo: Memo) -> Quoted:
    index = passage_index.build(sources, memo)
    ranking = RankedQuotes(np.arange(len(index.quotes)), np.zeros(len(index.quotes)))
    return fit_quotes(ranking, 10_000, QuoteTokens(sources, BORDER_COUNTER, index, Held()))


def test_of_two_branches_neither_is_answered_with_what_is_known_of_the_other() -> None:
    one, other, stem = Memo(), Memo(), talk(random.Random(1), 20)
    everything(stem, one)
    name = (b"recall.index", *[source.key for source in stem[:4]])
    other.put(name, one.find(name), lambda _: 1)  # as two threads have it that go on from the same index at once
    for word, memo in (("lantern", one), ("cabinet", other)):
        own = [Source("user", f"The {word} number {n} stands here.", digest(word, str(n))) for n in range(20)]
        found = everything([*stem, *own], memo)
        assert found.text == fence.render([*stem, *own], found.quotes)
        assert f"The {word} number 19" in found.text
