"""Chats in which users have things kept and ask over all of it again and again: all of it is there, and paid once.

These tests show what stands in a fold for such chats, what is quoted beside it. They leave out single questions over entries
(``test_kept_entries``), bills (``benchmarks.bills``).
"""

from __future__ import annotations

from functools import cache
from typing import Final

import pytest

from tests.support.bodies import Message, encode
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.quoted_talk import exchange
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold.engine import Folded
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.tokens import count

_ASKS: Final = "What's my total so far?"
_TURNS: Final = 160


def _entry(n: int) -> str:
    return f"{('tea', 'bus', 'soap', 'milk', 'rice')[n % 5]} {n}.{n % 90 + 10} euros"


def _talk(every: int) -> list[Message]:
    """Entries with long answers; each so many asks over all."""
    said = [(f"{_entry(n)}. {_ASKS}" if n % every == 0 else _entry(n), prose(n, "en", 12)) for n in range(_TURNS)]
    return [message for pair in said for message in exchange(*pair)]


def _fold(messages: list[Message]) -> Folded:
    body = encode([*messages, {"role": "user", "content": _ASKS}])
    return fold_request(body, FoldOptions(model="gpt-5", prices=CachePrices(0.1, 1.0), cache_hit_share=0.9), WARM)


@cache
def _folded(every: int) -> Folded:
    return _fold(_talk(every))


def _recalled(folded: Folded) -> str:
    return folded.recalls[max(folded.recalls)].text if folded.recalls else ""


@pytest.mark.parametrize("every", every(2, [1, 2, 4], 1))
def test_all_that_was_kept_is_there_in_the_fold_and_not_quoted_again(every: int) -> None:
    folded = _folded(every)
    assert folded.sections
    sent = folded.body.decode()
    assert [_entry(n) for n in range(_TURNS) if _entry(n) not in sent] == []
    assert sum(_entry(n) in _recalled(folded) for n in range(_TURNS)) < _TURNS // 10


def test_what_is_asked_over_once_is_quoted() -> None:
    folded = _fold(_talk(_TURNS + 1)[2:])
    sent = folded.body.decode()
    assert [_entry(n) for n in range(1, _TURNS) if _entry(n) not in sent] == []


@pytest.mark.parametrize("every", every(2, [1, 4], 1))
def test_what_the_request_holds_leaves_no_room_to_other_passages(every: int) -> None:
    other = encode([*_talk(every), {"role": "user", "content": f"What did {prose(3, 'en', 1)} mean?"}])
    options = FoldOptions(model="gpt-5", prices=CachePrices(0.1, 1.0), cache_hit_share=0.9)
    usual = _recalled(fold_request(other, options, WARM))
    assert count(_recalled(_folded(every))) < 2 * count(usual) + 200


@pytest.mark.parametrize(
    "said",
    every(
        2,
        [
            "lunch 12.50. What's the total so far?",
            "Squats 5 x 5 at 80 kg! How much is that altogether?",
            "ran 5 km; how far in total?",
        ],
        1,
    ),
)
def test_an_entry_that_asks_over_all_is_kept_too(said: str) -> None:
    told = [exchange(_entry(n), "Noted.") for n in range(8)]
    told.insert(4, exchange(said, "Noted, 80 so far."))
    noise = [exchange(prose(n, "en", 3) + "?", prose(900 + n, "en", 10)) for n in range(180)]
    messages = [message for pair in (*told, *noise) for message in pair]
    assert said in _fold(messages).body.decode()


def test_a_cache_that_costs_nothing_is_no_error() -> None:
    body = encode([*_talk(1), {"role": "user", "content": _ASKS}])
    options = FoldOptions(model="gpt-5", prices=CachePrices(0.0, 1.0), cache_hit_share=1.0)
    sent = fold_request(body, options, WARM).body.decode()
    assert [_entry(n) for n in range(_TURNS) if _entry(n) not in sent] == []
