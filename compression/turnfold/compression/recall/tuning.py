"""The parameters of recall.

They weigh a passage's score and the choice among passages; the modules of ``recall`` use them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Tuning:
    """Parameters of scoring and selection, found by experiments on public question sets (``benchmarks/recall_offline.py``).

    Attributes:
        k1, b: of BM25.
        grams: share of the score by character grams.
        beside: share of the score by adjacent words of the question.
        paragraph, head: shares of the score by the paragraph's words, and by its title or the speaker's name.
        chat, block, across: what neighbours at distance 1, 2, ... lend: messages, chunks of one paragraph, chunks of different
            paragraphs.
        label: weight of a word that labels the question ("Question: ...") or only says that people spoke ("discussed").
        asking: factor for passages that ask, since the answer is elsewhere.
        points_back: factor for passages that refer to an earlier statement, if the question does too.
        answered: factor for what a message that asks lends to the next one.
        kana: weight of words in hiragana alone, which rarely name a thing.
        identifier: factor for words with digits and for compound identifiers.
        exact: factor for identifiers that name one thing: an order number, but no year or time.
        kind: weight of things of a kind that a word of the question names, as a share of the word's weight.
        feedback, feedback_passages, feedback_terms: relevance feedback: its share, and its numbers of passages and terms.
        hop_chat, hop_document: share of the second hop for messages and for chunks of longer texts.
        hop_passages, hop_names: numbers of passages and of names that the second hop starts from.
        hop_most: a name leads nowhere if more than this share of all passages has it.
        full_name: share of names of several words that lead from one document to another.
        link, link_passages, link_steps: identifiers that lead to other passages: their share, most passages that may have one,
            and most steps.
        region: standard deviation of a region's Gaussian, in tokens.
        region_words: share of a region's match with the question's words, beside the worth of its passages.
        region_least: a conversation with at most this many messages has no regions.
        region_short, region_long: median tokens of a message at which regions count fully, and not at all.
        unnamed: what passages of others lose if the question names a speaker.
        unnamed_uncached: `unnamed` for providers that cache nothing.
        unasked: what passages of the other side lose if people ask about themselves.
        titled: what the first passage under a title gains if the question contains the title.
        called: share of the greatest worth that a result gains if the question names its call.
        named_result: share of the greatest worth that passages gain if they have what the question names and asks of a result.
        likeness: share of the similarity by sentence vectors, if there are any.
        usual_likeness: percentile of similarities to the question up to which they count nothing.
        before: weight of words taken from the previous exchange.
        lent_most: limit for their total weight, as a multiple of that of the question's own words.
        preamble: the same limit for words said before a question in its own message.
        hinted: without fill, nothing is quoted unless the best passage has this share of the question's weight.
        covered: the share from which everything relevant is quoted; below it, only passages close to the best.
        lone: factor for the share where the best passage holds one word of several: chance finds one anywhere.
        known: if less than this share of the question's weight occurs anywhere, matches may be chance.
        full: without fill, share from which a question may take the whole budget; from `hinted` on its part grows linearly.
        room_borrowed: part of the budget for a question whose words come from the previous exchange.
        room_beside_talk: part of its room that a question keeps if its message says something else too, which is often small
            talk.
        room_least: tokens that any question may take of the budget.
        covered_borrowed: `covered` for a question whose words come from the previous exchange.
        topical: share that a passage must have for a request for a summary to have a topic.
        bearing: without fill, share of the best score below which a passage no longer bears on the question.
        given: without fill, tokens for passages that reach half of that share, for a covered question: those found by the second
            hop share few words with it.
        surely, surely_most: without fill, share of the conversation, and most tokens, that a covered question may always take.
        bearing_uncached: `bearing` for providers that cache nothing, where each token costs its full price and time.
        bearing_hinted: `bearing` for a question that is hardly covered.
        bearing_borrowed: `bearing` for a question whose words come from the previous exchange.
        own_borrowed: weight of such a question's own words; those of the exchange weigh 1.
        told: part of an explicit budget for users' statements, if something is to be written or nothing bears on the question.
        topic: part of the room for passages on the words of a request about everything.
        cover_least, cover_parts: for a cover of everything, the room that adds one more part, up to this many parts.
        cover_tokens: the room that adds one more part beyond these.
        cover_asking: factor, in a cover, for passages that ask.
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
#: For providers that cache nothing.
UNCACHED: Final = replace(TUNING, bearing=TUNING.bearing_uncached, unnamed=TUNING.unnamed_uncached)
#: For providers whose cached tokens are nearly free: quotes, which are never cached, cost many times as much.
CACHED_CHEAPLY: Final = replace(TUNING, surely=0.0)
