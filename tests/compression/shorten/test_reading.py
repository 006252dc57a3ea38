"""Texts read together say what they say alone, and sums in columns are those of ``fsum``."""

from __future__ import annotations

from math import fsum, log

from hypothesis import given
from hypothesis import strategies as st

from tests.support import odd_texts
from tests.support.cases import each
from turnfold.compression.shorten.reading import Reader, read
from turnfold.compression.shorten.sift import _centres, sift
from turnfold.compression.text.dialogue.standing.languages import ORDER_CUES
from turnfold.compression.text.dialogue.standing.order_signs import ORDER_SIGNS
from turnfold.compression.text.dialogue.standing.orders import is_standing_order

_ROLES = ("user", "assistant")
#: Each is told by other words: of manner, of a constraint, of rule, at its end, in two words that stand apart.
_ORDERS = (
    "Always use tabs.",
    "From now on the answer comes in French.",
    "Keep the tests as they are.",
    "There must be no new file in it.",
    "Nothing outside src may change.",
    "Shorter please.",
    "In this project always use pnpm.",
    "You must never push to main.",
    "Nie auf main pushen.",
    "Her zaman Türkçe yaz.",
    "Ask me before you deploy.",
    "Make sure that every test has a name.",
    "Hands off the lock file.",
    "Deploys need my approval.",
    "Finger weg von der Datenbank.",
)
_WORDS = sorted(word for word in ORDER_CUES | ORDER_SIGNS if word.isascii() and word.isalpha())
_SAID = st.lists(st.sampled_from((*_WORDS, "we", "the", "it", "you", "use", "write", "pump")), min_size=1, max_size=9)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=12), st.sampled_from((0.05, 0.3)))
def test_texts_read_together_are_chosen_from_as_texts_read_apart(seeds: list[int], share: float) -> None:
    texts = [(odd_texts.text(seed) if seed % 3 else odd_texts.glued(seed), _ROLES[i % 2]) for i, seed in enumerate(seeds)]
    together, apart = Reader().read(texts), [read(text, role) for text, role in texts]
    for one, other in zip(together, apart, strict=True):
        assert (one.must, one.blocks, one.facts, one.musts) == (other.must, other.blocks, other.facts, other.musts)
        assert one.figures == other.figures
        for name in ("costs", "bases", "factors", "sizes"):
            assert getattr(one.columns, name).tolist() == getattr(other.columns, name).tolist()
    assert sift(together, share, keep_figures=True) == sift(apart, share, keep_figures=True)


@given(st.lists(_SAID, min_size=1, max_size=6))
def test_every_standing_order_is_kept_among_words_of_orders(said: list[list[str]]) -> None:
    text = " ".join(f"{' '.join(words).capitalize()}." for words in said)
    one = read(text, "user")
    alone = [j for j, size in enumerate(one.parts.sizes) if size == 1]
    assert {j for j in alone if is_standing_order(one.spans.piece(text, j))} <= one.must


@each("order", _ORDERS)
def test_a_standing_order_is_kept_among_prose(order: str) -> None:
    around = "The pump ran at nine bar. It can be made to work in the morning."
    assert order in "\n".join(read(f"{around} {order} {around}", "user").musts)


def test_a_name_is_found_wherever_it_stands() -> None:
    """Behind a letter that begins its sentence too, and in one of several texts that are read together."""
    texts = ["It rained on the roof. A Pump came. It is the Ching.", "I Ching is old. It rained."]
    assert [one.facts for one in Reader().read([(text, "user") for text in texts])] == [
        {1: ("Pump",), 2: ("Ching",)},
        {0: ("Ching",)},
    ]


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=12))
def test_centres_are_sums_without_rounding(seeds: list[int]) -> None:
    reads = Reader().read([(odd_texts.text(seed), "user") for seed in seeds])
    again: list[frozenset[int]] = [frozenset()] * len(reads)
    said = [
        one.columns.words[sum(one.columns.sizes[:j]) :][: one.columns.sizes[j]].tolist()
        for one in reads
        for j in range(len(one.spans))
    ]
    times: dict[int, int] = {}
    for word in (word for some in said for word in some):
        times[word] = times.get(word, 0) + 1
    distinct = sum(len(one.spans) - len(one.blocks) for one in reads)
    weight = {word: log(n) / (1 + 10 * n / distinct) if n > 1 else 0.0 for word, n in times.items()}
    sums = [fsum(weight[word] for word in some) / (len(some) + 4) for some in said]
    top = max(sums, default=0.0)
    assert _centres(reads, again).tolist() == [round(one / top, 6) if top else 0.0 for one in sums]


def test_of_no_texts_nothing_is_kept() -> None:
    assert sift([], 0.5, keep_figures=True) == []
