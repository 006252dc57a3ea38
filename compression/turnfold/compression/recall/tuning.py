"""The parameters of recall.

Lives here: what a passage's score and the choice among passages are weighed with. Does not belong here: either of
them (``recall``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Tuning:
    """The figures of score and choice, found by trial on public question sets (``benchmarks/recall_offline.py``).

    Attributes:
        k1, b: of BM25.
        grams: share of the score over character grams.
        beside: share of the score over neighbouring words of the question.
        paragraph, head: shares of the paragraph's words and of its title's, or of the speaker's name.
        chat, block, across: what neighbours at distance 1, 2, ... lend: messages, chunks of one paragraph, of two paragraphs.
        label: weight of a word that labels the question ("Question: ..."), or only tells that people spoke ("discussed").
        asking: factor for passages that ask: the answer stands elsewhere.
        points_back: the same for those that point at what was told before, where the question does.
        answered: how many times as much a message that asks lends to the one after it.
        kana: weight of what is written in hiragana alone, and seldom names a thing.
        identifier: factor for words with digits and for compound identifiers.
        exact: the same for identifiers that name one thing: an order's number, no year and no time.
        kind: weight of what belongs to a kind of thing that a word of the question names, as a share of the word's.
        feedback, feedback_passages, feedback_terms: share and sizes of the relevance feedback.
        hop_chat, hop_document: share of the second hop for messages and for chunks of longer texts.
        hop_passages, hop_names: where its names are taken from, and how many.
        hop_most: share of all passages above which those that name something are too many to lead to.
        full_name: share of names of several words that lead from one document to another.
        link, link_passages, link_steps: share of identifiers that lead on, passages that one stands in at most, and how far.
        region: tokens over which the worth of a region spreads, as the deviation of a Gaussian.
        region_words: share of what a region has of the question's words, beside that of what its passages are worth.
        region_least: messages up to which a conversation has no regions.
        region_short, region_long: median tokens of a message at which regions count fully, and not at all.
        unnamed: what passages of others lose where the question names one who speaks.
        unnamed_uncached: the same where no token is ever cached.
        unasked: what passages of the other side lose where people ask about themselves.
        titled: what the first passage under a title gains that stands in the question.
        called: share of the greatest worth that a result gains whose call the question names.
        named_result: the same for the passages of a result that hold what the question names and asks of it.
        likeness: share of what sentence vectors say, where there are any.
        usual_likeness: percentile of the passages up to which a likeness to the question counts for nothing.
        before: weight of words taken from the exchange before.
        lent_most: the most that these weigh together, as a multiple of what the question's own words do.
        preamble: the same of what is said before a question in its own message.
        hinted: without fill, share of the question's weight that the best passage must hold for anything to be quoted.
        covered: the share from which all that bears on it is quoted; in between only what comes close to the best.
        lone: factor for the share where the best passage holds one word of several: chance finds one anywhere.
        known: share of the question's weight below which what stands somewhere is too little: the rest may fit by chance.
        full: without fill, share from which a question may take all of the budget; from `hinted` on its part grows evenly.
        room_borrowed: part of the budget for a question whose words are those of the exchange before.
        room_beside_talk: what a question keeps of its room whose message says something else too: much of that is small talk.
        room_least: tokens that any question may take of the budget.
        covered_borrowed: the same for a question whose words are those of the exchange before.
        topical: share that a passage must hold for a request to summarise to have a topic.
        bearing: without fill, share of the best score below which a passage no longer bears on the question.
        given: without fill, tokens in which a covered question takes what reaches half of that share: where a second hop leads to
            shares few words with it.
        surely, surely_most: without fill, share of the conversation, and tokens at most, that a covered question may take in any
            case, whatever its floor.
        bearing_uncached: the same where no token is ever cached, so that each one is paid, and waited for, in full.
        bearing_hinted: the same where the question is hardly covered.
        bearing_borrowed: the same for a question whose words are those of the exchange before.
        own_borrowed: weight of such a question's own words; those of the exchange have 1.
        told: part of an explicit budget for what users told, where something is to be written or nothing bears on the question.
        topic: part of the room for what bears on the words of a request about everything.
        cover_least, cover_parts: for a cover of everything, the room that makes one more part, and parts up to which it does.
        cover_tokens: the room that makes one more part beyond these.
        cover_asking: factor for passages that ask in a cover.
    """

    k1: float = 0.9
    b: float = 0.4
    grams: float = 0.4
    beside: float = 0.5
    paragraph: float = 0.15
    head: float = 1.1
    chat: tuple[float, ...] = (0.36, 0.24, 0.12, 0.12)
    block: tuple[float, ...] = (0.2, 0.1)
    across: tuple[float, ...] = (0.1,)
    label: float = 0.3
    asking: float = 0.85
    points_back: float = 0.3
    answered: float = 1.6
    kana: float = 0.3
    identifier: float = 1.5
    exact: float = 3.0
    kind: float = 0.95
    feedback: float = 0.3
    feedback_passages: int = 5
    feedback_terms: int = 12
    hop_chat: float = 0.25
    hop_document: float = 1.0
    hop_passages: int = 3
    hop_names: int = 12
    hop_most: float = 0.3
    full_name: float = 0.45
    link: float = 1.0
    link_passages: int = 5
    link_steps: int = 5
    region: float = 250
    region_words: float = 1.0
    region_least: int = 40
    region_short: float = 16
    region_long: float = 30
    unnamed: float = 0.3
    unnamed_uncached: float = 0.5
    unasked: float = 0.3
    titled: float = 0.8
    called: float = 1.0
    named_result: float = 1.0
    likeness: float = 0.6
    usual_likeness: float = 80
    before: float = 0.5
    lent_most: float = 0.5
    preamble: float = 0.1
    hinted: float = 0.14
    covered: float = 0.25
    lone: float = 0.5
    known: float = 0.6
    full: float = 0.45
    room_borrowed: float = 0.5
    room_beside_talk: float = 0.5
    room_least: int = 160
    covered_borrowed: float = 0.1
    topical: float = 0.4
    bearing: float = 0.205
    given: float = 500
    surely: float = 0.1
    surely_most: float = 800
    bearing_uncached: float = 0.25
    bearing_hinted: float = 0.5
    bearing_borrowed: float = 0.25
    own_borrowed: float = 0.2
    told: float = 0.4
    topic: float = 0.4
    cover_least: float = 25
    cover_parts: int = 12
    cover_tokens: float = 60
    cover_asking: float = 0.5


TUNING: Final = Tuning()
#: Where a provider caches nothing.
UNCACHED: Final = replace(TUNING, bearing=TUNING.bearing_uncached, unnamed=TUNING.unnamed_uncached)
#: Where a token read from the cache costs next to nothing: quotes, which no cache holds, cost many times as much there.
CACHED_CHEAPLY: Final = replace(TUNING, surely=0.0)
