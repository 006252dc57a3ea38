"""What one message takes back of another: shown with it, in the summaries of a fold and of the round trip."""

from __future__ import annotations

import random
from itertools import product

from tests.support.cases import each
from tests.support.effort import crosswise
from turnfold.compression import CompressOptionsDict, compress
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.sift import read, sift
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import objection
from turnfold.compression.tokens import count

# Who claims what, who objects how, and the words of both that tell whether they are shown.
CASES = [
    ("assistant", "Your refund of $480 was sent to account DE-77 on 3 May.", "user", "No, it wasn't. Nothing arrived."),
    ("user", "Please delete the table billing_2019 tonight.", "user", "Wait, don't delete it, I need it for the audit."),
    ("user", "The deploy key of staging is kx-3391.", "user", "Scrap that key, it has been revoked."),
    ("assistant", "The capital of Burkina Faso is Bobo-Dioulasso.", "user", "Are you sure? I think that's wrong."),
    ("assistant", "parse_ledger() of v2.1 accepts None.", "assistant", "Correction: parse_ledger() raises TypeError on None."),
    ("assistant", "Die Firma Kranz GmbH zahlte 2023 an Uwe Lang 3 Millionen Euro.", "user", "Nein, das stimmt nicht."),
    ("assistant", "Орлов перевёл 3 миллиона рублей фирме «Вектор» 4 мая.", "user", "Нет, это неправда."),
    ("assistant", "长江公司在2020年向王明支付了300万元。", "user", "不对，这不是真的。"),
]
WORDS = ["harbour", "ledger", "crane", "berth", "invoice", "tide", "cargo", "permit", "engine", "rope", "pilot", "seal", "quay"]


def talk(seed: int, sentences: int) -> str:
    draw = random.Random(seed)
    return " ".join(" ".join(draw.choices(WORDS, k=9)).capitalize() + f" {seed}-{i}." for i in range(sentences))


def conversation(case: tuple[str, str, str, str], place: int) -> list[dict[str, str]]:
    speaker, claim, objector, objection_ = case
    messages = []
    for turn in range(24):
        messages += [
            {"role": "user", "content": talk(turn, 3)},
            {"role": "assistant", "content": talk(100 + turn, 4)},
        ]
        if turn == place:
            messages += [{"role": "user", "content": "Go on with the next point."}] * (speaker == "assistant")
            messages.append({"role": speaker, "content": claim})
            other = "assistant" if speaker == "user" else "user"
            messages += [{"role": other, "content": "One moment please, I look into that."}] * (speaker == objector)
            messages.append({"role": objector, "content": objection_})
            messages += [{"role": "assistant", "content": "Understood."}] * (objector == "user")
    return messages


@each(
    ("case", "place", "budget"),
    crosswise([(case, *row) for case in CASES for row in [(1, None), (6, None), (5, 2500), (11, 2500), (1, 1200), (6, 1200)]], 6),
)
def test_the_round_trip_shows_a_claim_with_what_takes_it_back(case: tuple[str, str, str, str], place: int, budget: int) -> None:
    options: CompressOptionsDict = {"recency_window": 4}
    if budget:
        options["token_budget"] = budget
    sent = "\n".join(str(m["content"]) for m in compress(conversation(case, place), options).messages)
    assert case[1] not in sent or case[3] in sent


@each(("case", "budget"), crosswise(product(CASES, [60, 120, 400]), 3))
def test_a_summary_quotes_a_claim_with_what_takes_it_back(case: tuple[str, str, str, str], budget: int) -> None:
    for place in (1, 5, 11):
        sources = [Source(m["role"], m["content"], str(i).encode()) for i, m in enumerate(conversation(case, place))]
        quoted = [sources[q.source].text[q.start : q.end] for q in summarise(sources, budget, count, Memo())]
        assert case[1] not in quoted or case[3] in " ".join(quoted)


@each(("between", "shown"), [(0, True), (1, True), (2, False)])
def test_an_objection_may_be_about_one_of_two_messages_before_it(between: int, shown: bool) -> None:
    said = ["Never show the ledger to the harbour office.", *(talk(n, 2) for n in range(between)), "No, that is wrong."]
    kept = sift([read(text, "user") for text in (talk(8, 2), talk(9, 2), *said)], 0.0)
    assert [part != "" for part in kept] == [False, False, True, *[False] * between, shown]


@each("case", CASES)
def test_an_objection_to_what_stands_before_a_block_is_in_the_block(case: tuple[str, str, str, str]) -> None:
    after = [(case[2], case[3]), *(("user", talk(seed, 3)) for seed in range(8))]
    sources = [Source(role, text, str(i).encode()) for i, (role, text) in enumerate(after)]
    quoted = [sources[q.source].text[q.start : q.end] for q in summarise(sources, 80, count, Memo())]
    assert case[3] in " ".join(quoted)
    assert sift([read(text, role) for role, text in after], 0.1)[0].startswith(case[3])


@each("text", ["The crane is at berth 4. No, wait.", "We need rope.", "Notes of 3 May:\n- No rope", ""])
def test_what_opens_with_something_else_objects_to_nothing(text: str) -> None:
    assert objection(text) is None
