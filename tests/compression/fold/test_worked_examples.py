"""Worked examples at the head of a conversation stay, whole and in pairs: they are what the model learns from."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.support.bodies import Message, cuts, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import FoldOptions
from turnfold.compression.options import CachePrices

MOODS = ("glad", "angry", "worried", "calm")


def pairs(asked: Callable[[int], str], answered: Callable[[int], str], count: int) -> list[Message]:
    """So many inputs, each with its answer."""
    texts = ((("user", asked(i)), ("assistant", answered(i))) for i in range(count))
    return [{"role": role, "content": text} for pair in texts for role, text in pair]


def labelled(at: int) -> str:
    return f"Review: {prose(at, 'en', 8)}"


def bare(at: int) -> str:
    return prose(at, "en", 8)


def told(at: int) -> str:
    rest = labelled(at)
    return rest if at else f"Say which mood the review is in, with one word.\n\n{rest}"


def mood(at: int) -> str:
    return MOODS[at % 4]


def record(at: int) -> str:
    return json.dumps({"mood": MOODS[at % 4], "stars": at % 5})


def element(at: int) -> str:
    return f"<mood>{MOODS[at % 4]}</mood>"


def query(at: int) -> str:
    return f"```sql\nSELECT name FROM berths\nWHERE number = {at}\n```"


def tagged(at: int) -> str:
    return f"<review>\n{prose(at, 'en', 8)}\n</review>"


def german(at: int) -> str:
    return f"Deutsch: Das ist der Satz mit der Nummer {at}. Er steht hier nur als Beispiel."


def step(at: int) -> str:
    return json.dumps({"action": "open", "berth": at})


def reply(at: int) -> str:
    return json.dumps({"reply": prose(at, "en", 1), "mood": MOODS[at % 4]})


FORMS = [
    (labelled, mood),
    (labelled, record),
    (bare, record),
    (told, mood),
    (told, record),
    (labelled, element),
    (tagged, query),
    (labelled, german),
]
SYSTEM: Message = {"role": "system", "content": "You label what customers write."}


@each(("asked", "answered"), FORMS)
def test_a_prompt_of_examples_goes_out_as_it_came(asked: Callable[[int], str], answered: Callable[[int], str]) -> None:
    body = encode([SYSTEM, *pairs(asked, answered, 90), {"role": "user", "content": asked(91)}], model="gpt-4o")
    folded = fold_request(body, FoldOptions(), WARM)
    assert folded.tokens_before > 8_000
    assert (folded.body, folded.reason) == (body, "unfoldable")


@each(("asked", "answered"), every(3, [*FORMS], 1))
def test_what_is_said_behind_examples_is_folded_and_they_are_not(
    asked: Callable[[int], str], answered: Callable[[int], str]
) -> None:
    shown = pairs(asked, answered, 12)
    talk = pairs(lambda i: f"What stands in berth {i}?", lambda i: prose(i + 200, "en", 9), 60)
    body = encode([SYSTEM, *shown, *talk, {"role": "user", "content": "And in berth 3?"}], model="gpt-4o")
    folded = fold_request(body, FoldOptions(), WARM)
    assert folded.tokens_after < 0.7 * folded.tokens_before
    assert json.loads(folded.body)["messages"][: len(shown) + 1] == [SYSTEM, *shown]


@each(
    ("asked", "answered"),
    every(
        3,
        [
            (labelled, lambda at: prose(at, "en", 2)),  # answers for people
            (bare, mood),  # nothing tells the messages from those of a talk
            (labelled, step),  # steps of an agent
            (bare, step),
            (lambda at: f"Observation: {prose(at, 'en', 8)}", step),
            (bare, reply),  # a talk in data
            (lambda at: f"User: {prose(at, 'en', 8)}", reply),
            (lambda at: f"Customer: {prose(at, 'en', 8)}", mood),
        ],
        2,
    ),
)
def test_a_talk_or_an_agent_is_folded_as_ever(asked: Callable[[int], str], answered: Callable[[int], str]) -> None:
    body = encode([SYSTEM, *pairs(asked, answered, 90), {"role": "user", "content": asked(91)}], model="gpt-4o")
    folded = fold_request(body, FoldOptions(), WARM)
    assert folded.tokens_after < 0.8 * folded.tokens_before


def test_a_growing_conversation_of_examples_never_rewrites_what_it_sent() -> None:
    messages = [SYSTEM, *pairs(labelled, record, 30), *pairs(bare, lambda at: prose(at + 60, "en", 4), 30)]
    sent: list[list[Message]] = []
    for end in cuts(messages):
        folded = fold_request(encode(messages[:end], model="gpt-4o"), FoldOptions(), WARM)
        assert folded.events == 0 or end > 60
        sent.append(json.loads(folded.body)["messages"][:61])
    assert all(after[: len(before)] == before for before, after in pairwise(sent))
    assert sent[-1] == messages[:61]


def test_a_budget_without_room_takes_examples_too() -> None:
    body = encode([SYSTEM, *pairs(labelled, record, 90), {"role": "user", "content": labelled(91)}], model="gpt-4o")
    folded = fold_request(body, FoldOptions(budget=3_000), WARM)
    assert folded.tokens_after <= 3_000
    assert fold_request(body, FoldOptions(budget=2 * folded.tokens_before), WARM).body == body


def test_a_budget_cuts_examples_in_pairs() -> None:
    examples = pairs(labelled, record, 60)
    messages = [SYSTEM, *examples, {"role": "user", "content": labelled(91)}]
    body = encode(messages, model="gpt-4o")
    before = fold_request(body, FoldOptions(), WARM).tokens_before
    folded = fold_request(body, FoldOptions(budget=int(0.9 * before)), WARM)
    assert folded.tokens_after <= 0.9 * before
    sent = json.loads(folded.body)["messages"]
    whole = 0
    while sent[1 + whole] == examples[whole]:
        whole += 1
    assert whole >= 40


def translated(at: int) -> str:
    return f"Translate: {prose(at, 'en', 2)}"


def free(at: int) -> str:
    return prose(at + 500, "de", 2)


def article(at: int) -> str:
    return f"Article: {prose(at, 'en', 45)}"


@each(
    ("asked", "answered", "count"),
    every(
        2,
        [(translated, free, 20), (lambda at: f"Satz: {prose(at, 'de', 2)}", free, 20), (article, free, 8), (article, mood, 8)],
        1,
    ),
)
def test_examples_may_be_long_and_answered_in_free_text(
    asked: Callable[[int], str], answered: Callable[[int], str], count: int
) -> None:
    shown = pairs(asked, answered, count)
    talk = pairs(lambda i: f"What stands in berth {i}?", lambda i: prose(i + 200, "en", 9), 60)
    body = encode([SYSTEM, *shown, *talk, {"role": "user", "content": "And in berth 3?"}], model="gpt-4o")
    folded = fold_request(body, FoldOptions(), WARM)
    assert folded.tokens_after < 0.8 * folded.tokens_before
    assert json.loads(folded.body)["messages"][: len(shown) + 1] == [SYSTEM, *shown]


@pytest.mark.parametrize(("asked", "answered", "count"), every(2, [(labelled, mood, 260), (translated, free, 120)], 1))
def test_a_stream_of_inputs_is_folded_behind_its_first_ones(
    asked: Callable[[int], str], answered: Callable[[int], str], count: int
) -> None:
    body = encode([SYSTEM, *pairs(asked, answered, count), {"role": "user", "content": asked(count)}], model="gpt-4o")
    folded = fold_request(body, FoldOptions(), WARM)
    assert folded.tokens_after < 0.85 * folded.tokens_before
    assert json.loads(folded.body)["messages"][:49] == [SYSTEM, *pairs(asked, answered, 24)]


@each(("one", "other"), every(2, [("John", "Tim"), ("Ana", "Bot"), ("Léa", "Hugo"), ("小明", "小红")]))
def test_a_talk_in_which_each_message_names_who_speaks_is_folded(one: str, other: str) -> None:
    messages: list[Message] = []
    for at in range(60):
        messages.append({"role": "user", "content": f"{one}: {prose(at, 'en', 4)}"})
        messages.append({"role": "assistant", "content": f"{other}: {prose(at + 300, 'en', 3)}"})
    body = encode([*messages, {"role": "user", "content": f"{one}: what now?"}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert len(folded.body) < 0.6 * len(body)


def test_examples_whose_answers_reason_are_examples() -> None:
    shown: list[Message] = []
    for at in range(60):
        shown.append({"role": "user", "content": f"Q: A ship has {at} crates and takes {at + 2} more. How many are there?"})
        shown.append(
            {"role": "assistant", "content": f"A: It had {at} crates. Then {at + 2} came on board, which makes {2 * at + 2}."}
        )
    asked = "Q: A ship has 9 crates and loses 4. How many are there?"
    body = encode([*shown, {"role": "user", "content": asked}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert json.loads(folded.body)["messages"] == [*shown, {"role": "user", "content": asked}]
