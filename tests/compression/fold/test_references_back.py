"""Whoever refers to a thing by its place, its label or its version gets it sent along, however long ago that was.

These tests cover such references, through folds. They leave out versions that share most of their words (``test_versions``),
parts of one text (``test_placed_parts``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.cases import each
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.wholes.code_changes import code_changes
from turnfold.compression.recall.wholes.offers import find_labelled
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.text.dialogue.wanted.offers import ALTERNATIVE, NamedOffer, named_labels, named_offer
from turnfold.compression.text.dialogue.wanted.versions import asked_versions, asks_to_revise
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

_TALK: Final = [message for n in range(40) for message in exchange(prose(n, "en", 3) + "?", prose(900 + n, "en", 5))]
_LAKES: Final = exchange(
    "Which lakes near Bled could we swim in?",
    "These are clean and easy to reach:\n\n1. Bohinj, cold and clear\n2. Zovnek, with a jetty\n3. Kreda, small and quiet\n"
    f"4. Podpec, deep in the middle\n\n{prose(71, 'en', 20)}",
)
_FERRY: Final = exchange(
    "What is the best way to the island?",
    f"Take the rowing boat. Alternatively swim, it is 400 metres. {prose(72, 'en', 20)}",
)
_TASKS: Final = exchange(
    "Task 1: factor 91",
    f"Try the primes in order: it is 7 times 13. {prose(73, 'en', 30)}",
    "Task 2: is 2027 prime?",
    f"Test divisors up to the root, 45: none fits, so it is. {prose(74, 'en', 30)}",
    "Task 3: the sum of the digits of 2 to the 10",
    f"Write it out, 1024, and add: 7. {prose(75, 'en', 30)}",
)
_TOASTS: Final = [
    f"{said} {prose(n, 'en', 15)}"
    for n, said in enumerate(
        (
            "Dear guests, when Olga first came to the yard she could not hold a plane, and now half the fleet has her planks.",
            "Friends, I once saw Olga glue a boat to her own sleeve, and it floated better than the sleeve.",
            "To Olga: she measures twice, laughs three times, and the rest of us just hand over the varnish.",
            "Captain Bruno the parrot asked me to say that nobody else feeds him walnuts at launchings.",
        )
    )
]
_REVISED: Final = [
    *exchange("Write a toast for Olga's farewell", _TOASTS[0], "funnier please", _TOASTS[1]),
    *exchange("Make it shorter", _TOASTS[2], "now add the parrot", _TOASTS[3]),
]
_CONFIG: Final = [
    *exchange(
        "Give me a haproxy file for two servers",
        "```haproxy\nfrontend entry\n    bind *:8000\n    default_backend pool\nbackend pool\n    server east 10.0.0.1:80\n"
        f"    server west 10.0.0.2:80\n```\n\n{prose(76, 'en', 20)}",
    ),
    *exchange(
        "check whether they live", f"Add this to it:\n\n```haproxy\n    option httpchk GET /ready\n```\n\n{prose(77, 'en', 20)}"
    ),
    *exchange(*[prose(500 + n, "en", 4) for n in range(8)]),
    *exchange("spare ones first", f"Replace `default_backend pool` by `default_backend spare`.\n\n{prose(78, 'en', 20)}"),
    *exchange("And write me a line for the wiki", "The wiki gets: `Ask Tom before a deploy`."),
]


def _sent(told: list[dict[str, str]], question: str, share: float | None = None) -> str:
    return forwarded([*_TALK[:8], *told, *_TALK[8:]], question, share)


@each(
    ("share", "question", "needed"),
    [
        (share, *row)
        for share in [None, 0.1]
        for row in [
            ("Let's take the third lake. What did you say of it?", "Kreda, small and quiet"),
            ("Where is the last but one of the lakes?", "Kreda, small and quiet"),
            ("what was the alternative to the rowing boat?", "Alternatively swim"),
        ]
    ],
)
def test_what_was_offered_is_there_by_its_place(question: str, needed: str, share: float | None) -> None:
    assert needed in _sent([*_LAKES, *_FERRY], question, share)


def test_a_place_of_something_else_gets_no_list() -> None:
    assert "Zovnek" not in _sent(_LAKES, "What happened in the third chapter of Middlemarch?")


@pytest.mark.parametrize("question", ["The same method as in task 2, please", "Go about the new one as in number 2"])
def test_a_labelled_exchange_is_there_by_its_label(question: str) -> None:
    sent = _sent(_TASKS, question, 0.1)
    assert "Test divisors up to the root" in sent


@each(
    ("question", "wanted"),
    [
        ("Combine version 1's opening with version 3's ending", (0, 2)),
        ("Restore the opening of the first version of the toast", (0, 3)),
        ("Go back to the version before the parrot came in", (2,)),
        ("How did the toast start originally? Show me", (0,)),
        ("Show me the toast again", (3,)),
    ],
)
def test_versions_that_share_few_words_are_told_by_the_requests_between_them(question: str, wanted: tuple[int, ...]) -> None:
    sent = _sent(_REVISED, question)
    assert [n for n in wanted if _TOASTS[n] not in sent] == []


@pytest.mark.parametrize("share", [None, 0.1])
def test_what_changed_a_block_of_code_in_a_line_is_there_with_it(share: float | None) -> None:
    sent = _sent(_CONFIG, "Show the whole haproxy file as it is now", share)
    assert [
        one for one in ("server west 10.0.0.2:80", "option httpchk GET /ready", "default_backend spare") if one not in sent
    ] == []


def test_changes_of_a_block_are_what_names_something_of_it_or_stands_right_behind_in_its_language() -> None:
    messages = [Source(one["role"], one["content"], digest(one["role"], one["content"])) for one in _CONFIG]
    block = messages[1].text
    found = code_changes(messages, 1, [(0, block.index("\n```\n") + 4)])
    changes = [messages[n].text[slice(*ranges[0])] for n, ranges in found.items()]
    assert ["httpchk" in changes[0], "default_backend spare" in changes[1]] == [True, True]
    assert len(found) == 2


def test_a_label_finds_its_exchange_in_a_series_of_such_alone() -> None:
    messages = [Source(one["role"], one["content"], digest(one["role"], one["content"])) for one in _TASKS]
    found = find_labelled(WholeRequest(messages, (), "as in number 2", 1000, count, Memo()))
    assert [quote.source for quote in found.quotes] == [2, 3]
    assert not find_labelled(WholeRequest(messages[:2], (), "as in task 1", 1000, count, Memo())).quotes
    assert not find_labelled(WholeRequest(messages, (), "as in task 2", 20, count, Memo())).quotes


def test_code_that_names_nothing_of_the_block_changes_nothing() -> None:
    assert "Ask Tom before a deploy" not in _sent(_CONFIG, "Show the whole haproxy file as it is now")


@each(
    ("folded", "named"),
    [
        ("what was the second option for the present?", NamedOffer(2)),
        ("the last but one on your list", NamedOffer(-2)),
        ("your 3rd hike", NamedOffer(3, "hike")),
        ("and the alternative?", NamedOffer(ALTERNATIVE)),
        ("der zweite vorschlag von dir", NamedOffer(2)),
        ("who came second?", None),
    ],
)
def test_an_offer_is_named_by_its_place(folded: str, named: NamedOffer | None) -> None:
    assert named_offer(folded) == named


def test_a_year_in_a_date_or_a_version_is_no_label() -> None:
    assert named_labels("python 3.11 or ruby 2.7?") == ()
    assert [one.number for one in named_labels("as in problem 2")] == [2]


@each(
    ("folded", "versions"),
    [
        ("combine version 2's ending with version 4's start", (1, 3)),
        ("restore the title of the first draft", (-1, 0)),
        ("how did the letter begin originally?", (0,)),
        ("upgrade to version 3", ()),
        ("is python version 3 faster?", ()),
    ],
)
def test_versions_are_named_by_number(folded: str, versions: tuple[int, ...]) -> None:
    assert asked_versions(folded) == versions


@each(
    ("folded", "is_revision"),
    [
        ("shorter", True),
        ("now firm, with the law in it", True),
        ("etwas kürzer bitte", True),
        ("what is a ferry?", False),
        ("thanks, that helps", False),
        ("explain that to me line by line", False),
    ],
)
def test_a_request_for_another_version_is_short_and_asks_nothing(folded: str, is_revision: bool) -> None:
    assert asks_to_revise(folded) == is_revision
