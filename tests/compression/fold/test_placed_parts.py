"""Parts that a message names by their place ("the second stanza") are quoted, though they share no word with it."""

from __future__ import annotations

import json
from itertools import product
from random import Random

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import FoldOptions

WORDS = ["river", "amber", "lantern", "quiet", "copper", "meadow", "ferry", "cinder", "hollow", "velvet", "harbour", "thistle"]


def line(seed: int) -> str:
    return " ".join(Random(seed).sample(WORDS, 7)).capitalize() + "."


POEM = "The Ferry\n\n" + "\n\n".join("\n".join(line(4 * s + i) for i in range(4)) for s in range(12))
ESSAY = "# The Ferry\n\n" + "\n\n".join(" ".join(line(100 + 6 * p + i) for i in range(6)) for p in range(10))
STEPS = "\n".join(f"Step {n}: {line(200 + n)} {line(300 + n)}" for n in range(1, 25))
TASKS = "Exercises\n\n" + "\n".join(f"{n}) {line(400 + n)} {line(500 + n)}" for n in range(1, 25))
ANSWERS = "\n\n".join(f"Q{n}. {line(600 + n)[:-1]}?\nA{n}. {line(700 + n)}" for n in range(1, 25))
OUTLINE = "Outline\n\n" + "\n".join(f"{n}. {line(800 + n)}" for n in range(1, 25))


def stanza(n: int) -> str:
    return POEM.split("\n\n")[n]


def talk(turns: int) -> list[Message]:
    texts = ((f"Tell me about berth {i}.", prose(i, "en", 6)) for i in range(turns))
    return [{"role": role, "content": text} for pair in texts for role, text in zip(("user", "assistant"), pair, strict=True)]


def forwarded(text: str, ask: str, share: float | None, *, last: str = "") -> str:
    made: list[Message] = [{"role": "user", "content": "Please go ahead."}, {"role": "assistant", "content": text}]
    said: list[Message] = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": last}] if last else []
    body = encode([*made, *talk(80), *said, {"role": "user", "content": ask}], model="gpt-4o")
    tokens = fold_request(body, FoldOptions(), WARM).tokens_before
    folded = fold_request(body, FoldOptions(budget=None if share is None else int(share * tokens)), WARM)
    assert folded.tokens_after < 0.8 * tokens
    return "\n".join(m["content"] for m in json.loads(folded.body)["messages"])


@each(
    ("share", "text", "ask", "needed"),
    crosswise(
        [
            (share, *row)
            for share in [None, 0.2]
            for row in [
                (POEM, "Please rewrite the second stanza.", [stanza(2)]),
                (POEM, "What happens in the last verse?", [stanza(12)]),
                (POEM, "Gefällt dir die dritte Strophe?", [stanza(3)]),
                (POEM, "La deuxième strophe est trop longue, non ?", [stanza(2)]),
                (ESSAY, "Shorten the third paragraph.", [ESSAY.split("\n\n")[3]]),
                (ESSAY, "Kürze den letzten Absatz.", [ESSAY.split("\n\n")[10]]),
                (ESSAY, "¿Qué dice el segundo párrafo?", [ESSAY.split("\n\n")[2]]),
                (STEPS, "What comes after step 16?", [STEPS.split("\n")[16]]),
                (STEPS, "Was kommt nach Schritt 7?", [STEPS.split("\n")[7]]),
                (STEPS, "What was step 4 again, and what comes after?", STEPS.split("\n")[3:5]),
                (STEPS, "Was war nochmal Schritt 24 und was kommt danach?", STEPS.split("\n")[23:]),
                (TASKS, "The last three exercises, please.", TASKS.split("\n")[-3:]),
                (TASKS, "Solve the 5th exercise.", [TASKS.split("\n")[6]]),
                (ANSWERS, "What is the answer to question 9?", ANSWERS.split("\n\n")[8].split("\n")),
            ]
        ],
        14,
    ),
)
def test_a_part_that_is_named_by_its_place_is_there(text: str, ask: str, needed: list[str], share: float | None) -> None:
    found = forwarded(text, ask, share)
    assert [part for part in needed if part not in found] == []


@each(
    ("share", "ask"),
    product([None, 0.2], ["Great. Next chapter, please.", "Write the next chapter.", "Weiter mit dem nächsten Kapitel."]),
)
def test_the_next_of_a_list_is_the_one_behind_the_last_answer(ask: str, share: float | None) -> None:
    noun = "Kapitel" if "Kapitel" in ask else "Chapter"
    found = forwarded(OUTLINE, ask, share, last=f"## {noun} 14: {WORDS[3]}\n\n{prose(900, 'en', 3)}")
    assert OUTLINE.split("\n")[2 + 14] in found


def test_a_place_in_time_names_no_part() -> None:
    found = forwarded(TASKS, "What did we do last week, on the first day?", None)
    assert TASKS.split("\n")[-1] not in found
