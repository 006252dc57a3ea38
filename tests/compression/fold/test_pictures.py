"""A newest message that is only a picture: the words that it belongs to stay beside it, however small the budget.

These tests cover the question in front of a picture. They leave out attachments in older turns (``test_attachments``).
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.warm import WARM
from turnfold.compression.fit.fit import fit
from turnfold.compression.fold import LEFT_OUT, fold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.formats.chat import CHAT

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
QUESTION = "Which valve is broken in the picture that I send next, and what does part KX-881 cost?"
SENT = {"role": "user", "content": [PICTURE]}
OLD: list[dict[str, Any]] = [
    {
        "role": ("user", "assistant")[n % 2],
        "content": f"{n}. Pump {n % 7} held {40 + n} bar, and the second line got a valve. " * 3,
    }
    for n in range(60)
]


@each(("budget", "between"), product([100, 300, 800, 2000], [[], [{"role": "assistant", "content": "Please send it."}]]))
def test_the_question_in_front_of_a_picture_stays(budget: int, between: list[dict[str, Any]]) -> None:
    messages = [{"role": "system", "content": "Be brief."}, *OLD, {"role": "user", "content": QUESTION}, *between, SENT]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold(CHAT.read(body, WARM), FoldOptions(model="gpt-4o", budget=budget), WARM)
    sent = json.loads(folded.body)["messages"]
    assert sent[-1]["content"][0] == PICTURE
    assert any(message["role"] == "user" and QUESTION in str(message["content"]) for message in sent)


def shots(count: int) -> list[dict[str, Any]]:
    urls = (f"data:image/png;base64,iVBORw0KGgo{n}" for n in range(count))
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]} for url in urls]


def sent_under(budget: int, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold(CHAT.read(body, WARM), FoldOptions(model="gpt-4o", budget=budget), WARM)
    sent: list[dict[str, Any]] = json.loads(folded.body)["messages"]
    return sent


def pictures_in(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for m in messages if isinstance(m["content"], list) for part in m["content"] if part["type"] == "image_url"]


@each(("budget", "count"), crosswise(product([100, 800, 2000, 5000], [2, 3, 9]), 3))
def test_the_question_in_front_of_several_pictures_stays_and_the_oldest_of_them_go_last(budget: int, count: int) -> None:
    question = f"{QUESTION} Compare it with the ones before it, part by part. " * 9
    sent = sent_under(
        budget, [{"role": "system", "content": "Be brief."}, *OLD, {"role": "user", "content": question}, *shots(count)]
    )
    kept = pictures_in(sent)
    assert kept == [shot["content"][0] for shot in shots(count)][-len(kept) :]
    assert len(kept) >= min(count, max(1, budget // 1300))  # of 765 tokens each
    assert any(message["role"] == "user" and question in str(message["content"]) for message in sent)


@each("budget", [100, 800, 2000])
def test_the_question_stays_where_each_picture_was_asked_for(budget: int) -> None:
    asked = [m for shot in shots(4) for m in ({"role": "assistant", "content": "Next, please."}, shot)]
    sent = sent_under(budget, [*OLD, {"role": "user", "content": QUESTION}, *asked])
    assert shots(4)[-1]["content"][0] in sent[-1]["content"]
    assert any(message["role"] == "user" and QUESTION in str(message["content"]) for message in sent)


@pytest.mark.parametrize("window", every(2, [1200, 2500]))
def test_a_window_leaves_the_question_in_front_of_the_pictures_too(window: int) -> None:
    pictures = shots(3)
    body = json.dumps({"model": "ours", "messages": [*OLD, {"role": "user", "content": QUESTION}, *pictures]}).encode()
    fitted = fit(CHAT.read(body, WARM), FoldOptions(model="ours", window=window), WARM)
    sent = json.loads(fitted.forwarded.body)["messages"]
    assert any(message["role"] == "user" and QUESTION in str(message["content"]) for message in sent)


@pytest.mark.parametrize(("budget", "least"), [(9000, 8), (5500, 4), (4000, 4)])  # of 765 tokens each
def test_a_budget_takes_hardly_more_attachments_than_it_must(budget: int, least: int) -> None:
    seen = [m for n, shot in enumerate(shots(16)) for m in (shot, {"role": "assistant", "content": f"Picture {n} shows a pump."})]
    sent = sent_under(budget, [*OLD[:6], *seen, {"role": "user", "content": "Which of the pictures shows the leak?"}])
    kept = pictures_in(sent)
    assert kept == [shot["content"][0] for shot in shots(16)][-len(kept) :]
    assert len(kept) >= least


@each(("budget", "words"), every(3, [*product([1000, 2000, 4000, 6000], ["What is this?", ""])], 2))
def test_a_budget_is_kept_where_pictures_are_nearly_all_there_is(budget: int, words: str) -> None:
    text = [{"type": "text", "text": words}] if words else []
    seen = [{"role": "user", "content": [*text, *shot["content"]]} for shot in shots(10)]
    answer = {"role": "assistant", "content": "A pump."}
    messages = [*(m for shot in seen for m in (shot, answer)), {"role": "user", "content": "Which one leaks?"}]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold(CHAT.read(body, WARM), FoldOptions(model="gpt-4o", budget=budget), WARM)
    assert folded.reason == LEFT_OUT
    assert folded.tokens_after <= budget


def test_attachments_stay_where_taking_them_meets_no_budget() -> None:
    rules = {"role": "system", "content": "Name the pump, its pressure and its line in each answer. " * 400}
    voices = [{"type": "input_audio", "input_audio": {"data": "UklGRg==" * n, "format": "wav"}} for n in range(1, 9)]
    said = [{"role": "user", "content": [{"type": "text", "text": "Note this."}, voice]} for voice in voices]
    messages = [rules, *(m for one in said for m in (one, {"role": "assistant", "content": "Noted."})), *OLD[:1]]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    sent = json.loads(fold(CHAT.read(body, WARM), FoldOptions(model="gpt-4o", budget=800), WARM).body)["messages"]
    assert [m for m in sent if m in said] == said
