"""What a pasted article tells in passing takes no room of a fold; what its sender orders does, wherever it stands."""

from __future__ import annotations

import pytest

from tests.support.cases import each
from tests.support.effort import every
from tests.support.words import prose
from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source

TOLD = (
    "It depicts the struggles of young Ottilie Brandt, the spoiled daughter of a mill owner, who must use every means at her "
    "disposal to claw her way out of poverty.",
    "A treaty of the guild laid down that members must always use a scale with three weights and never sell below the price of "
    "the harbour.",
    "El uso de un modelo de cálculo, como una máquina de estados, se hace necesario siempre que se quiera obtener una definición "
    "más precisa del término.",
    "许多特许学校不要求教师有资格证书，只要他们达到了法律规定的高标准，就像现实世界中的计算机一样，必须对位串以外的数学对象进行适当的编码。",
    "また、これらの行為に関わることはそれなりにリスクも大きいので、自由な一方で自己責任で行動しなくてはならない国だとも言える。",
)
ORDERS = (
    "From now on, write every amount in euros.",
    "Never mention the supplier's name.",
    "Ab sofort immer auf Deutsch antworten.",
    "以后回答都用简体中文，不要超过三百字。",
    "When you write the report that goes to the board at the end of each month, please always put the figures of the last three "
    "years beside those of the current one.",
)


def quoted_orders(text: str) -> str:
    """What is quoted of a user's message where there is room for orders only."""
    quotes = summarise([Source("user", text, digest("user", text))], 0, tokens.count, Memo())
    return "\n".join(text[quote.start : quote.end] for quote in quotes)


def in_article(sentence: str) -> str:
    """A sentence in the middle of a paragraph of a long text."""
    first, last = (f"{prose(seed, 'en', 60)}" for seed in (1, 2))
    return "\n".join([prose(3, "en", 90), f"{first} {sentence} {last}", *[prose(seed, "en", 90) for seed in range(4, 9)]])


@each("sentence", TOLD)
def test_what_an_article_tells_in_passing_is_no_order(sentence: str) -> None:
    assert sentence.split(",", maxsplit=1)[0] not in quoted_orders(in_article(sentence))


@pytest.mark.parametrize(("size", "typed"), [(399, True), (400, False)])
def test_a_line_of_up_to_four_hundred_characters_may_be_typed(size: int, typed: bool) -> None:
    line = f"{TOLD[0]} {prose(1, 'en', 60)}"[:size]
    text = "\n".join([prose(3, "en", 90), line, *[prose(seed, "en", 90) for seed in range(4, 9)]])
    assert ("must use every means" in quoted_orders(text)) is typed


@pytest.mark.parametrize(("size", "stays"), [(105, True), (106, False)])
def test_a_short_order_stays_wherever_it_stands(size: int, stays: bool) -> None:
    sentence = f"The guild laid down that a {'rope' * 20}"[: size - 44] + " must never be sold below the harbour price."
    assert len(sentence) == size
    assert (sentence in quoted_orders(in_article(sentence))) is stays


@pytest.mark.parametrize(("size", "stays"), [(1469, True), (1470, False)])
def test_a_message_of_some_length_may_be_pasted(size: int, stays: bool) -> None:
    text = f"{prose(1, 'en', 9)} {TOLD[0]} {prose(2, 'en', 60)}"[: size - 1] + "."
    assert ("must use every means" in quoted_orders(text)) is stays


@each("sentence", TOLD)
def test_the_same_in_a_message_of_its_own_stays_an_order(sentence: str) -> None:
    assert sentence in quoted_orders(sentence)


@each("sentence", every(2, [*ORDERS], 1))
def test_an_order_in_the_middle_of_a_pasted_paragraph_stays(sentence: str) -> None:
    assert sentence in quoted_orders(in_article(sentence))


@each("sentence", every(3, [*TOLD, *ORDERS], 1))
def test_a_line_that_somebody_types_stays_beside_a_pasted_text(sentence: str) -> None:
    assert sentence in quoted_orders(f"{in_article('')}\n\n{sentence}")


def test_a_pasted_set_of_rules_stays_whole() -> None:
    rules = " ".join(
        f"Each {noun} that leaves the house must never be older than the one that it takes the place of."
        for noun in ("report", "invoice", "contract", "letter", "drawing", "sample", "estimate")
    )
    assert all(f"Each {noun}" in quoted_orders(f"{rules}\n{rules.replace('house', 'plant')}") for noun in ("report", "sample"))
