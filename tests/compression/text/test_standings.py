"""Figures that are told anew, and answers that only repeat what was said."""

from __future__ import annotations

import random

from tests.support.cases import each
from tests.support.effort import every
from turnfold.compression.memo import Memo, digest
from turnfold.compression.text.dialogue.echoes import echoes, is_echo
from turnfold.compression.text.dialogue.standings import earlier_standings, standings, standings_behind
from turnfold.compression.text.quotes import Source


def _said(*texts: str, role: str = "assistant") -> list[Source]:
    return [Source(role, text, digest(f"{n} {text}")) for n, text in enumerate(texts)]


def _pairs(sources: list[Source]) -> list[tuple[int, int]]:
    return [(one.newer, one.older) for one in standings(sources, Memo())]


@each(
    "texts",
    [
        ("HP 24/24. What do you do?", "HP 15/24. The goblin snarls."),
        ("You have 18 arrows left.", "You have 28 arrows and 9 gold."),
        ("Total: 5,800, so there is a reserve.", "Total: 5,850."),
        ("Für 6: 600 g Spaghetti.", "Für 8: 640 g Spaghetti."),
        ("Vida 18/18.", "Vida 11/18."),
        ("吃饭2000元，合计5800元。", "合计5600元。"),
    ],
)
def test_a_figure_for_the_same_is_told_anew(texts: tuple[str, str]) -> None:
    assert _pairs(_said(*texts)) == [(1, 0)]


@each(
    "texts",
    [
        ("HP 15/24.", "HP 15/24. The goblin snarls."),
        ("Boil it for 5 minutes.", "The train takes 40 minutes."),
        ("See clause 4.2.", "Clause 7.1 is balanced."),
        ("Chapter 3 is short.", "Chapter 5 is long."),
        ("600 g flour.", "250 g butter."),
    ],
)
def test_other_figures_update_nothing(texts: tuple[str, str]) -> None:
    assert _pairs(_said(*texts)) == []


def test_of_several_the_newest_updates_all() -> None:
    assert _pairs(_said("20 arrows left.", "18 arrows left.", "28 arrows left.")) == [(2, 0), (2, 1)]


def test_figures_of_users_need_what_they_are_about() -> None:
    assert _pairs(_said("The mock test gave 12 points.", "Now 16 points in the mock test.", role="user")) == [(1, 0)]
    assert _pairs(_said("The mock test gave 12 points.", "We lost by 16 points yesterday.", role="user")) == []


@each(
    "answer",
    [
        "Noted: 5 July, 3 pm, 90 people.",
        "All right: 90 people.",
        "1) 5 July 2) 90 people",
    ],
)
def test_what_only_repeats_is_an_echo(answer: str) -> None:
    assert is_echo(answer, "We meet on 5 July at 3 pm, about 90 people.")


@each("answer", ["Noted: 6 July.", "5 July, but only until 8 pm.", "Noted.", "90 people need 300 chairs.", "Not on 5 July."])
def test_what_says_more_is_none(answer: str) -> None:
    assert not is_echo(answer, "We meet on 5 July at 3 pm, about 90 people.")


@each(
    ("said", "answer"),
    [
        ("Should I use Postgres or MySQL?", "Postgres."),
        ("Shall we meet at 5 or at 6", "At 6."),
        ("Pick one: tea, coffee or juice", "Coffee."),
        ("postgres or mysql", "Postgres."),
    ],
)
def test_an_answer_that_chooses_is_none(said: str, answer: str) -> None:
    assert not is_echo(answer, said)


def test_an_echo_stands_right_behind_what_it_repeats() -> None:
    user, other = Source("user", "Rent is 2,950.", digest("a")), Source("user", "Anything else?", digest("b"))
    answer = Source("assistant", "Noted: 2,950.", digest("c"))
    assert echoes([user, answer], Memo()) == [1]
    assert echoes([user, other, answer], Memo()) == []


def _talk(draw: random.Random, messages: int) -> list[Source]:
    """Talk in which few subjects have few values, of both sides and of two names; here and there nobody tells a figure."""
    said: list[Source] = []
    labelled = draw.choice((0.0, 0.1, 0.5))
    for n in range(messages):
        thing = draw.choice(("arrows", "coins"))
        told = [f"You have {draw.randint(1, 4)} {thing}", f"The oven needs {draw.randint(1, 4)} minutes"]
        text = ". ".join([*draw.sample(told, draw.randint(0, 2)), draw.choice(("The mock test", "Well"))])
        text = f"Anna: {text}" if draw.random() < labelled else text
        name = draw.choice(("", "", "Ben"))
        said.append(Source(draw.choice(("user", "assistant")), text, digest(f"{n} {text}"), name=name))
    return said


@each("seed", every(2, [*range(40)]))
def test_messages_behind_others_update_the_same_as_in_one_row(seed: int) -> None:
    draw = random.Random(seed)
    size, behind = draw.choice(((0, 9), (30, 0), (30, 1), (60, 25), (400, 12), (300, 190), (20, 420)))
    said = _talk(draw, size + behind)
    earlier = earlier_standings(said[:size], Memo())
    expected = [one for one in standings(said, Memo()) if one.older < size <= one.newer]
    assert standings_behind(earlier, said[size:], Memo()) == expected


def test_cases_of_messages_behind_others_update_some() -> None:
    found = [one for seed in range(9) for one in standings(_talk(random.Random(seed), 60), Memo()) if one.older < 40 <= one.newer]
    assert len(found) > 9
