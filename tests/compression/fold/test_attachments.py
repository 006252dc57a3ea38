"""What is attached stays with its message, at every level; only a budget that can't be met otherwise takes it."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import replace
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import costly, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.calibration import Learned, learn_from_refusal
from turnfold.compression.fit.fit import fit
from turnfold.compression.fold import LEFT_OUT, Folded, fold, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Item = dict[str, Any]

FREE = FoldOptions(model="gpt-4o", prices=CachePrices(1.0, 1.0))
PRICES = {
    "gpt-4o": CachePrices(0.5, 1.0),
    "gpt-5": CachePrices(0.1, 1.0),
    "claude": CachePrices(0.1, 1.25),
    "none": CachePrices(),
}


def image(number: int) -> Item:
    return {"type": "image_url", "image_url": {"url": f"https://pictures.example/shots/plan-{number}.png?size=large"}}


def contract(number: int = 0) -> Item:
    return {
        "type": "file",
        "file": {"filename": f"contract-{number}.pdf", "file_data": "data:application/pdf;base64," + "QUJD" * 400},
    }


def voice(_: int = 0) -> Item:
    return {"type": "input_audio", "input_audio": {"data": "UklGRg==" * 40, "format": "wav"}}


def odd(number: int) -> Item:
    return {"type": "scene_graph", "scene_graph": {"nodes": number}}


def user(number: int, *parts: Item) -> Item:
    text = prose(number, "en", 4)
    return {"role": "user", "content": [*parts, {"type": "text", "text": text}] if parts else text}


def chat(turns: int, attached: dict[int, tuple[Item, ...]], size: int = 10) -> list[Item]:
    messages: list[Item] = []
    for turn in range(turns):
        messages += [user(turn, *attached.get(turn, ())), {"role": "assistant", "content": prose(1000 + turn, "en", size)}]
    return [*messages, user(turns)]


def forward(messages: list[Item], options: FoldOptions = FREE) -> tuple[Folded, list[Item]]:
    body = json.dumps({"model": options.model, "messages": messages}).encode()
    folded = fold_request(body, options, WARM)
    assert unfold(folded) == body
    return folded, json.loads(folded.body)["messages"]


def parts_of(messages: list[Item]) -> list[Item]:
    return [p for m in messages if isinstance(m["content"], list) for p in m["content"] if p["type"] != "text"]


def alternate(messages: list[Item]) -> bool:
    roles = [m["role"] for m in messages if m["role"] in ("user", "assistant")]
    return all(a != b for a, b in pairwise(roles))


@each(
    ("prices", "part"),
    every(2, [*((prices, image) for prices in PRICES), *(("gpt-4o", part) for part in (contract, voice, odd))]),
)
def test_what_the_first_message_attaches_is_there_after_many_turns(prices: str, part: Any) -> None:
    messages = chat(64, {0: (part(0),)}, size=18)
    folded, sent = forward(messages, FoldOptions(model="gpt-4o", prices=PRICES[prices]))
    assert folded.folded
    assert len(sent) < len(messages) * 0.6
    assert sent[0]["content"][-2:] == messages[0]["content"]
    assert alternate(sent)


def test_twelve_images_stay_twelve_with_their_own_texts() -> None:
    messages = chat(72, {3 * n: (image(n),) for n in range(12)})
    folded, sent = forward(messages)
    assert folded.folded
    assert parts_of(sent) == parts_of(messages)
    texts = json.dumps(sent)
    assert all(json.dumps(m["content"][-1]["text"]) in texts for m in messages if isinstance(m["content"], list))
    assert folded.tokens_after < folded.tokens_before * 0.8


@pytest.mark.parametrize("at", [1, 3])
def test_instructions_in_between_part_no_two_messages_of_the_user(at: int) -> None:
    messages = chat(40, {at: (contract(),)})
    messages.insert(2 * at + 2, {"role": "developer", "content": "From here on in short."})
    folded, forwarded = forward(messages)
    assert folded.folded
    assert parts_of(forwarded) == [contract()]
    assert alternate(forwarded)


def test_an_assistants_attachment_keeps_the_message_that_it_answers() -> None:
    messages = chat(80, {})
    messages[21]["content"] = [{"type": "text", "text": "Here it is."}, image(7)]
    _, sent = forward(messages)
    at = next(i for i, m in enumerate(sent) if isinstance(m["content"], list) and image(7) in m["content"])
    assert sent[at]["content"] == messages[21]["content"]
    assert messages[20]["content"] in json.dumps(sent[at - 1]["content"]).encode().decode("unicode_escape")
    assert alternate(sent)


@pytest.mark.parametrize("audio", [{"id": "audio_777"}, {"id": "audio_777", "expires_at": 9, "transcript": "Yes, on Monday."}])
def test_what_an_assistant_said_aloud_stays(audio: Item) -> None:
    """It has no text that a fold could tell: of its words the provider keeps all."""
    messages = chat(80, {})
    messages[21] = {"role": "assistant", "content": None, "audio": audio}
    folded, sent = forward(messages)
    assert folded.folded
    assert messages[21] in sent
    assert alternate(sent)
    messages[21] = {"role": "assistant", "content": "Yes.", "audio": None}
    assert messages[21] not in forward(messages)[1]


@costly(4)
@given(st.dictionaries(st.integers(0, 39), st.sampled_from([image, contract, voice, odd]), max_size=8), st.integers(0, 2))
def test_without_a_budget_nothing_attached_is_lost(where: dict[int, Any], marked: int) -> None:
    messages = chat(40, {turn: (part(turn),) for turn, part in where.items()}, size=20)
    if marked:
        messages[2 * marked]["content"] = [{"type": "text", "text": "mark", "cache_control": {"type": "ephemeral"}}]
    _, sent = forward(messages)
    assert parts_of(sent) == parts_of(messages)
    assert alternate(sent)


@costly(2)
@given(st.lists(st.integers(0, 23), max_size=5, unique=True), st.sampled_from(sorted(PRICES)))
def test_the_prefix_stays_while_a_conversation_with_attachments_grows(where: list[int], prices: str) -> None:
    messages = chat(24, {turn: (image(turn),) for turn in where}, size=30)
    options, memo = FoldOptions(model="gpt-4o", prices=PRICES[prices]), WARM
    before: Folded | None = None
    for end in range(1, len(messages) + 1, 2):
        body = json.dumps({"model": "gpt-4o", "messages": messages[:end]}).encode()
        now = fold_request(body, options, memo)
        if end % 8 == 1:
            assert now == fold_request(body, options, Memo())
        if before is not None and now.events == before.events:
            old, new = before.forwarded.messages, now.forwarded.messages
            assert [m.raw for m in old[:-1]] == [m.raw for m in new[: len(old) - 1]]
        before = now


def test_a_budget_takes_attachments_last_and_the_oldest_first() -> None:
    messages = chat(60, {n: (contract(n), image(n)) for n in (2, 20, 40)})
    roomy, sent = forward(messages, FoldOptions(model="gpt-4o", prices=CachePrices(), budget=6000))
    assert roomy.reason == ""
    assert parts_of(sent) == parts_of(messages)
    tight, sent = forward(messages, FoldOptions(model="gpt-4o", prices=CachePrices(), budget=2200))
    assert tight.reason == LEFT_OUT
    assert tight.tokens_after <= 2200
    kept = parts_of(sent)
    assert kept == parts_of(messages)[len(parts_of(messages)) - len(kept) :]
    said = json.dumps(sent)
    assert all(f"contract-{n}.pdf" in said for n in (2, 20, 40))
    assert "1,200 bytes left out]" in said
    gone = messages[4]
    assert any(json.loads(raw) == gone for section in tight.sections for raw in section.messages)


def test_a_window_takes_attachments_last_too() -> None:
    messages = chat(60, {n: (image(n),) for n in (2, 20, 40)})
    conversation = CHAT.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), WARM)
    for window, kept in ((8000, 3), (3500, None)):
        fitted = fit(conversation, FREE, WARM, learn_from_refusal(Learned(), window, None))
        sent = json.loads(fitted.forwarded.text)["messages"]
        assert fitted.tokens <= window
        assert kept is None or len(parts_of(sent)) == kept


def test_screenshots_of_an_agent_fold_like_its_results() -> None:
    messages: list[Item] = [{"role": "user", "content": "Find the failing pump. " + prose(1, "en", 6)}]
    for step in range(40):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": prose(step, "en", 10), "tool_calls": [call]})
        shown = [{"type": "text", "text": "screen"}, image(step)]
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": shown})
    folded, sent = forward(messages)
    assert folded.folded
    kept = parts_of(sent)
    assert kept == [image(step) for step in range(40)][-len(kept) :]
    assert 5 <= len(kept) <= 12
    assert "plan-3.png left out]" in json.dumps(sent)


_HEAD = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 1280, 800)


def clicks(steps: int) -> list[Item]:
    """An agent that uses a computer: each step's result is a screenshot and nothing else."""
    items: list[Item] = [{"role": "user", "content": "Book a table at the Heron for two. Never pay in advance."}]
    for step in range(steps):
        call = {"id": f"cu_{step}", "call_id": f"call_{step}", "pending_safety_checks": [], "status": "completed"}
        seen = base64.b64encode(_HEAD + bytes([step])).decode()
        picture = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{seen}"}
        items += [
            {"type": "reasoning", "id": f"rs_{step}", "summary": [], "encrypted_content": "g" * 900},
            {"type": "computer_call", **call, "action": {"type": "click", "x": step, "y": 5, "button": "left"}},
            {"type": "computer_call_output", "call_id": f"call_{step}", "output": picture},
        ]
    return items


@each(("budget", "steps"), product([12_000, 30_000], [5, 9, 16, 29]))
def test_a_budget_with_room_keeps_the_newest_screenshots(budget: int, steps: int) -> None:
    body = json.dumps({"model": "computer-use-preview", "input": clicks(steps)}).encode()
    options = FoldOptions(model="computer-use-preview", prices=CachePrices(1.0, 1.0), budget=budget)
    folded = fold(RESPONSES.read(body, WARM), options, WARM)
    kept = [item["call_id"] for item in json.loads(folded.body)["input"] if item.get("type") == "computer_call_output"]
    assert len(kept) >= 5
    assert kept == [f"call_{step}" for step in range(steps)][-len(kept) :]
    assert folded.tokens_after <= budget


def tool_clicks(steps: int, tasks: int, words: int) -> list[Item]:
    """The same in Anthropic's format, with or without text beside the pictures."""
    messages: list[Item] = []
    for step in range(steps * tasks):
        if step % steps == 0:
            messages.append({"role": "user", "content": f"Book table {step} at the Heron for two. Never pay in advance."})
        data = base64.b64encode(_HEAD + struct.pack(">I", step)).decode()
        source = {"type": "base64", "media_type": "image/png", "data": data}
        shown = [{"type": "text", "text": prose(step, "en", words)}] if words else []
        use = {"type": "tool_use", "id": f"toolu_{step}", "name": "computer", "input": {"action": "left_click", "x": step}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{step}", "content": [*shown, {"type": "image", "source": source}]}
        messages += [{"role": "assistant", "content": [*shown, use]}, {"role": "user", "content": [result]}]
        if step % steps == steps - 1 and step < steps * tasks - 1:
            messages.append({"role": "assistant", "content": "The table is booked."})
    return messages


_PICTURE = 1400  # tokens of a screenshot of 1280 x 800 pixels, and of what says that it left


# Every fifth of them meets each budget, each length, with and without text; the long ones once.
@each(("budget", "steps", "tasks", "words"), every(5, [*product([4000, 8000, 12_000], [6, 13, 29, 60], [1, 3], [0, 12])], 2))
def test_a_budget_with_room_keeps_the_five_newest_screenshots_of_tool_results(
    budget: int, steps: int, tasks: int, words: int
) -> None:
    messages = tool_clicks(steps, tasks, words)
    sent = {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": messages}
    options = FoldOptions(model="claude-sonnet-4-6", prices=CachePrices(1.25, 0.1), budget=budget)
    folded = fold(MESSAGES.read(json.dumps(sent).encode(), WARM), options, WARM)
    shown = [data for m in json.loads(folded.body)["messages"] for data in pictures_of(m)]
    assert shown == [data for m in messages for data in pictures_of(m)][-len(shown) :]
    assert folded.tokens_after <= budget
    assert len(shown) >= 5 or folded.tokens_after + (5 - len(shown)) * _PICTURE > budget


def pictures_of(message: Item) -> list[str]:
    results = [block for block in message["content"] if isinstance(block, dict) and block["type"] == "tool_result"]
    return [part["source"]["data"] for block in results for part in block["content"] if part["type"] == "image"]


def shot(size: int, name: str = "") -> Item:
    url = f"https://pictures.example/shots/{name}" if name else "data:image/png;base64," + "QUJD" * size
    return {"type": "image_url", "image_url": {"url": url}}


def browser(shots: list[Item]) -> list[Item]:
    """An agent that looks at pages: the text of each tells a price, and beside it is a picture."""
    messages: list[Item] = [{"role": "user", "content": "Find out what the twelve hotels cost."}]
    for step, picture in enumerate(shots):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "open", "arguments": f'{{"page": "hotel{step}"}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said = f"Hotel {step}. {prose(step, 'en', 20)}\nA double room costs {3000 + 7 * step} kr.\n{prose(-step, 'en', 20)}"
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": [{"type": "text", "text": said}, picture]})
    return [*messages, {"role": "user", "content": "What does a double room cost in hotel 7?"}]


@each(
    ("shots", "said"),
    [
        ([shot(100) for _ in range(30)], " × image image/png, 300 bytes left out]"),
        ([shot(100 + n) for n in range(30)], " × image image/png, 300 to "),
        ([shot(100), *[shot(0, f"page-{n}.png") for n in range(29)]], "image page-3.png left out]"),
        ([shot(0, f"page-{n}.png") for n in range(30)], " more left out]"),
    ],
)
def test_pictures_that_left_alike_are_named_once_and_leave_room_for_facts(shots: list[Item], said: str) -> None:
    folded, sent = forward(browser(shots), FoldOptions(model="gpt-4o", budget=1500))
    assert folded.tokens_after <= 1500
    written = json.dumps(sent, ensure_ascii=False)
    assert said in written
    assert "3049 kr" in written
    marked = [line for line in written.split("\\n") if "left out]" in line]
    assert len(marked) <= 21
    originals = "".join(raw for section in folded.sections for raw in section.messages)
    assert all(json.dumps(one)[1:-1] in originals for one in shots[:20])


NULLS: Item = {"audio": None, "reasoning_content": None, "thinking_blocks": None, "reasoning_details": [], "signature": ""}


def test_null_and_empty_seals_are_none() -> None:
    """What ``model_dump()`` of an SDK's answer writes beside its content."""
    messages = chat(60, {})
    dumped = [{**m, **NULLS, "refusal": None, "tool_calls": None} if m["role"] == "assistant" else m for m in messages]
    plain, stored = forward(messages)[0], forward(dumped)[0]
    assert plain.tokens_before == stored.tokens_before
    assert stored.tokens_after == pytest.approx(plain.tokens_after, rel=0.01)  # ids of sections differ
    sealed = [{**m, "reasoning_content": "thought"} if m["role"] == "assistant" else m for m in messages]
    assert forward(sealed)[0].tokens_after != plain.tokens_after


@each(("body", "budget"), product([b'{"messages":[]}', b'{"model":"gpt-4o","messages":[],"tools":[]}'], [None, 10]))
def test_a_request_without_messages_is_short(body: bytes, budget: int | None) -> None:
    folded = fold(CHAT.read(body, WARM), FoldOptions(budget=budget), WARM)
    assert (folded.folded, folded.reason, folded.body) == (False, "short", body)


@each(
    ("attached", "budget"),
    [(dict.fromkeys(range(20), (image(1),)), 1500), (dict.fromkeys(range(20), (image(1),)), 3000), ({2: (image(1),)}, 700)],
)
def test_what_attachments_leave_of_a_budget_is_used(attached: dict[int, tuple[Item, ...]], budget: int) -> None:
    """Once they are gone the rest is folded no further than it must."""
    folded = fold_request(json.dumps({"messages": chat(30, attached, 20)}).encode(), replace(FREE, budget=budget), WARM)
    assert folded.reason == LEFT_OUT
    assert 0.45 * budget < folded.tokens_after <= budget
