"""What says what is to be done with each message to come stays as it was, and so does what belongs to a list of answers.

These tests cover conversations that begin with a rule book, procedures that are followed, answers to numbered questions. They
leave out examples with their answers (``test_worked_examples``), texts that are gone through (``test_next_parts``).
"""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.quoted_talk import exchange, forwarded
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.dialogue.announced_inputs import announces_inputs
from turnfold.compression.text.dialogue.wanted.steps import done_step, is_done
from turnfold.compression.tokens import count


def _book(lead: str) -> str:
    return f"{lead}\n\n" + "\n".join(f"{n}. {prose(600 + n, 'en', 3).strip()}" for n in range(1, 22))


def _series(book: str, inputs: int) -> list[Message]:
    told = exchange(book, "Understood. Send the first one.")
    return told + [one for n in range(inputs) for one in exchange(prose(1800 + n, "en", 4), f"Class {n % 21}")]


@each(
    ("lead", "share"),
    every(
        2,
        crosswise(
            product(
                [
                    "Classify each message that I send into one of these classes.",
                    "I'll send you reviews one after another. Score them by this rubric.",
                    "Ordne jede Nachricht, die ich dir schicke, einer dieser Klassen zu.",
                    "Pour chaque message que je t'envoie, réponds seulement par une de ces classes.",
                    "请把我发给你的每条消息归入下列类别之一。",
                ],
                [None, 0.3],
            ),
            2,
        ),
    ),
)
def test_a_rule_book_stays(lead: str, share: float | None) -> None:
    book = _book(lead)
    messages = [*_series(book, 110), {"role": "user", "content": prose(7777, "en", 3)}]
    budget = None if share is None else int(share * sum(count(str(one["content"])) for one in messages))
    folded = fold_request(encode(messages), FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget), WARM)
    sent = json.loads(folded.body)["messages"]
    assert len(sent) < len(messages)
    assert sent[0]["content"] == book


@pytest.mark.parametrize(
    "task",
    [
        """You help me write texts for our shop. Please always work like this:

1. First ask me which product it is, unless I name it.
2. Write exactly three variants, each at most 40 words.
3. Use British spelling; never use the word "premium".
4. Put the price at the end, in pounds.

Our audience: gardeners over 50. The first product is a copper trowel, 23 pounds.""",
        "Lass uns eine Geschichte spielen: ein Leuchtturm im Jahr 1893, drei Wärter, einer lügt. Du erzählst im Präsens. "
        "Schreibe nie mehr als 120 Wörter. Lass mich niemals vor Kapitel zehn sterben. Zähle das Öl mit: Es sind 40 Fässer.",
    ],
    ids=["en", "de"],
)
def test_a_task_with_rules_that_opens_a_talk_stays_under_a_budget(task: str) -> None:
    messages = [*_series(task, 110), {"role": "user", "content": prose(7777, "en", 3)}]
    budget = sum(count(str(one["content"])) for one in messages) // 10
    folded = fold_request(encode(messages), FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget), WARM)
    assert json.loads(folded.body)["messages"][0]["content"] == task
    assert folded.tokens_after <= budget


def test_a_rule_book_that_a_budget_does_not_hold_gives_way() -> None:
    book = _book("Classify each message that I send into one of these classes.")
    messages = [*_series(book, 60), {"role": "user", "content": prose(7777, "en", 3)}]
    folded = fold_request(encode(messages), FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=900), WARM)
    assert folded.tokens_after <= 900


@each(
    "message",
    [
        "I'll send you the contract tomorrow and then we can talk.",
        "Every time I go there it rains.",
        "Please write a letter for each of my three clients.",
        "Ich schicke dir morgen die Rechnung.",
        "每次去那里都下雨。",
    ],
)
def test_messages_that_announce_nothing(message: str) -> None:
    assert not announces_inputs(message)


@each(
    ("last", "share"),
    crosswise(product(["done", "ok, finished that one", "Step 9 is done. What now?", "that worked, go on"], [None, 0.2]), 2),
)
def test_the_next_step_of_a_procedure_is_there(last: str, share: float | None) -> None:
    steps = [f"{n}. {prose(60 + n, 'en', 6).strip()}" for n in range(1, 21)]
    told = exchange("How is the pump installed? All steps, please.", "\n".join(steps))
    for n in range(1, 10):
        told += exchange(last.replace("9", str(n)) if n < 9 else "Does the torque matter?", f"Fine. ({n})")
        told += exchange(prose(4000 + n, "en", 3), prose(4500 + n, "en", 6))
    told += [one for n in range(20) for one in exchange(prose(5000 + n, "en", 3), prose(5500 + n, "en", 6))]
    sent = forwarded(told, last, share)
    assert steps[9].removeprefix("10. ") in sent
    assert steps[15] not in sent


def test_what_says_that_a_step_is_done() -> None:
    assert all(map(is_done, ["done", "fertig", "c'est fait, et maintenant ?", "做完了，接下来呢？", "listo, ¿y ahora?"]))
    assert not any(map(is_done, ["I am done with the whole project of the harbour, thanks", "How is it done in Lisbon?"]))
    assert [done_step(one) for one in ("Step 8 is done", "done at 14:30", "done", "8 and 9 are done")] == [8, None, None, None]


@pytest.mark.parametrize(
    ("question", "numbers"), [("Please grade my answers.", range(1, 13)), ("Was my answer to question 7 correct?", [7])]
)
def test_questions_stand_beside_their_answers(question: str, numbers: range | list[int]) -> None:
    asked = {n: f"{n}. {prose(3300 + n, 'en', 1).strip()[:-1]}?" for n in range(1, 13)}
    answered = {n: f"{n}. {prose(3400 + n, 'en', 1).strip()}" for n in range(1, 13)}
    told = exchange("The exam:\n" + "\n".join(asked.values()), "Good luck!")
    told += [one for n in range(6) for one in exchange(prose(n, "en", 3), prose(500 + n, "en", 6))]
    told += exchange("My answers:\n" + "\n".join(answered.values()), "Thanks.")
    told += [one for n in range(6, 40) for one in exchange(prose(n, "en", 3), prose(500 + n, "en", 6))]
    sent = forwarded(told, question)
    assert [n for n in numbers if asked[n] not in sent or answered[n] not in sent] == []
