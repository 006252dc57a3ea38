"""Folds, replays and recall of fixed conversations, byte for byte (``tests.support.golden`` says when to write them anew)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest

from tests.support import golden, odd_bodies, odd_texts
from tests.support.block_conversations import Kind, conversation
from tests.support.cases import each
from tests.support.three_wires import WIRES, with_marks
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold import conversation_name, fold, lean, state_written, unfold
from turnfold.compression.fold.course import course
from turnfold.compression.fold.likeness import likeness, passage_texts, private_parts, question_text
from turnfold.compression.fold.pieces import recall_tokens
from turnfold.compression.fold.replay import start, step
from turnfold.compression.fold.replaying.state import Replay, thresholds_at
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import (
    CachePrices,
    FoldDecision,
    FoldOptions,
    Keep,
    Likeness,
    Prose,
    StateBlocks,
    Warmth,
    WrittenSummary,
)
from turnfold.compression.wire.conversation import Conversation

T = TypeVar("T")
FILES = Path(__file__).parent / "golden"
FREE, HALF, OPENAI, CLAUDE = CachePrices(1.0, 1.0), CachePrices(0.5, 1.0), CachePrices(0.25, 1.0), CachePrices(0.1, 1.25)
MEMO = Memo()


# ---------------------------------------------------------------- replays of sizes


def sizes(seed: int, number: int) -> tuple[Unit, ...]:
    """Units as a chat, an agent's run or something between has them; now and then one is marked, attached, or reasons."""
    random = Random(seed)
    loops, long, odd = random.choice([0.0, 0.3, 0.9]), random.choice([60, 250, 900]), random.choice([0.0, 0.0, 0.05])
    found: list[Unit] = []
    at = 0

    def add(tokens: int, share: float, width: int = 1, **flags: bool) -> None:
        nonlocal at
        usual: dict[str, Any] = dict.fromkeys(("is_user", "pinned", "asks", "marked", "attached", "reasons"), False)
        found.append(Unit(at, at + width, tokens, int(tokens * share), **{**usual, **flags}))
        at += width

    if random.random() < 0.7:
        add(40 + random.randrange(800), 1.0, pinned=True, marked=random.random() < 0.3)
    while len(found) < number:
        odd_one = random.random() < odd
        add(20 + random.randrange(long), 0.4 + random.random() / 2, is_user=True, asks=True, marked=odd_one, attached=odd_one)
        while random.random() < loops:
            add(60 + random.randrange(3 * long), 0.2 + random.random() / 2, width=2, asks=True, reasons=random.random() < odd)
        add(30 + random.randrange(2 * long), 0.3 + random.random() / 2)
    add(30, 1.0, is_user=True, asks=True)
    return tuple(found)


REPLAYED: dict[str, FoldOptions] = {
    "free": FoldOptions(prices=FREE),
    "half": FoldOptions(prices=HALF),
    "openai": FoldOptions(prices=OPENAI),
    "claude": FoldOptions(prices=CLAUDE),
    "claude cold": FoldOptions(prices=CLAUDE, cache_hit_share=0.2),
    "no recall": FoldOptions(prices=FREE, recall=False),
    "recall stays": FoldOptions(prices=OPENAI, recall_stays=True),
    "budget 9000": FoldOptions(prices=HALF, budget=9000),
    "budget 2500": FoldOptions(prices=OPENAI, budget=2500),
    "thinking": FoldOptions(prices=FREE, preserved_thinking=True),
    "drops thinking": FoldOptions(prices=FREE, preserved_thinking=True, drops_thinking=True),
    "believed": FoldOptions(prices=CLAUDE, belief=FoldDecision(Warmth(0.35, 0.9))),
    "cold": FoldOptions(prices=OPENAI, belief=FoldDecision(Warmth(0.0, 0.15))),
    "braked": FoldOptions(prices=FREE, belief=FoldDecision(Warmth(0.5, 0.9), brake=True)),
}


def told(now: Replay) -> str:
    levels = Counter(p.level.value for p in now.pieces)
    pieces = ", ".join(f"{number} {level}" for level, number in sorted(levels.items()))
    return f"  at {now.moved} raw from {now.tail}: {pieces} {golden.name_of(now.pieces)}"


def replayed(units: Sequence[Unit], options: FoldOptions, squeeze: float) -> Iterator[str]:
    """A line for each fold event, and one for all that holds at every request."""
    path = course(units, options, squeeze)
    now, every = start(path), list[Any]()
    while now.turns < len(path.requests):
        limits = thresholds_at(path, now, path.requests[now.turns])
        before, now = now, step(path, now)
        if now.events > before.events:
            yield told(now)
        askers = [(one.unit, one.last, recall_tokens(one, options)) for one in now.askers]
        every.append((tuple(limits), round(now.saved, 2), round(now.spent, 2), askers, [at for at, _ in now.decided]))
    yield f"  {now.events} events in {now.turns} requests, {golden.name_of(every)}"


def test_replays() -> None:
    lines = []
    for seed in golden.some(range(10)):
        units = sizes(seed, 40 + 25 * (seed % 5))
        for number, (name, options) in enumerate(REPLAYED.items()):
            if (seed + number) % 2 == 0 or "thinking" in name:
                squeeze = 0.6 if (seed + number) % 6 == 0 else 1.2 if number % 5 == 0 else 1.0
                lines += [f"{seed} {name} x{squeeze}", *replayed(units, options, squeeze)]
    golden.agrees_in(FILES / "replays.txt", lines)


# ---------------------------------------------------------------- folds


def chat_body(messages: Sequence[golden.Message], model: str = "gpt-4o") -> bytes:
    return json.dumps({"model": model, "messages": messages}, ensure_ascii=False).encode()


def figures(body: bytes, wire: str, options: FoldOptions) -> tuple[str, bytes]:
    """What a fold comes to in a line, and its bytes."""
    folded = fold(WIRES[wire].wire.read(body, MEMO), options, MEMO)
    quoted = [(i, one.passages) for i, one in folded.recalls.items()]
    rest = golden.name_of((folded.sections, quoted, folded.account, folded.wanted, folded.open_questions, folded.decided))
    told = f"{folded.tokens_before} -> {folded.tokens_after}, {folded.events} events, {folded.fitting} fittings, {folded.outlook}"
    return f"{told} {folded.reason or '-'} {golden.name_of(folded.body)} {rest}", folded.body


@each("name", golden.some(sorted(golden.conversations()), 2))
def test_a_budget(name: str) -> None:
    body = chat_body([*golden.conversations()[name], {"role": "user", "content": "What did we agree on first, and why?"}])
    line, out = figures(body, "chat", FoldOptions(prices=OPENAI, budget=1500 if name == "radio_en" else 900))
    messages = json.loads(out)["messages"]
    golden.agrees(FILES / f"{name}.txt", [line, *(json.dumps(one, ensure_ascii=False) for one in messages)])


FOLDED: dict[str, FoldOptions] = {
    "free": FoldOptions(prices=FREE),
    "claude": FoldOptions(prices=CLAUDE),
    "4000": FoldOptions(prices=HALF, budget=4000, recall_tool_text=False),
    "2500": FoldOptions(prices=HALF, budget=2500),
    "1200 wants": FoldOptions(prices=OPENAI, budget=1200, wants_summaries=True, wants_likeness=True),
    "3000 keeps": FoldOptions(prices=FREE, budget=3000, keep=Keep(frozenset({"read_log"}), frozenset({"assistant"}))),
    "free stays": FoldOptions(prices=FREE, recall_stays=True),
    "free ultra": FoldOptions(prices=FREE, prose=Prose("ultra")),
    "600 bare": FoldOptions(prices=FREE, budget=600, recall=False, shape_results=False),
    "believed": FoldOptions(prices=FREE, belief=FoldDecision(Warmth(0.3, 0.9), summaries=(WrittenSummary(1, 9, "none", "No."),))),
}


def test_a_long_conversation_as_it_grows() -> None:
    messages = golden.conversations()["radio_en"]
    lines = []
    for name in golden.some(FOLDED, 2):
        options = FOLDED[name]
        for end in (44, len(messages)):
            if name in ("free", "claude", "believed") or end == len(messages):
                asked = max(i for i in range(end) if messages[i]["role"] in ("user", "tool")) + 1
                lines.append(f"{name} {asked}: {figures(chat_body(messages[:asked]), 'chat', options)[0]}")
    golden.agrees_in(FILES / "growing.txt", lines)


def test_pictures_between_what_is_folded() -> None:
    """They stay with their messages, in whatever a budget makes of those around them."""
    messages = list(golden.conversations()["radio_en"])
    asked = [i for i, one in enumerate(messages) if one["role"] == "user"]
    for i in asked[3::9]:
        url = f"data:image/png;base64,{'iVBORw0KGgo' * 9}{i}"
        parts = [
            {"type": "text", "text": messages[i]["content"]},
            {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        ]
        messages[i] = {"role": "user", "content": parts}
    lines = []
    for budget in golden.some((6000, 3500, 2500, 1200), 2):
        line, body = figures(chat_body(messages), "chat", FoldOptions(prices=HALF, budget=budget))
        places = [i for i, one in enumerate(json.loads(body)["messages"]) if isinstance(one["content"], list)]
        lines.append(f"{budget}: pictures at {places}, {line}")
    golden.agrees_in(FILES / "pictures.txt", lines)


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_thinking_images_marks_and_hosted_tools(wire: str) -> None:
    lines = []
    for seed in golden.some(range(4), 2):
        messages = conversation(seed, Kind(turns=5, loops=2, sentences=13, thinks=0.9 * (seed % 2), odd=seed > 0))
        if seed % 2:  # in a tool loop, whose thinking is bound to what was sent
            messages = messages[: 1 + max(i for i, one in enumerate(messages) if "tool_result" in str(one["content"]))]
        marked = with_marks(messages, [len(messages) - 1, len(messages) - 2]) if seed % 2 else messages
        body = WIRES[wire].encode(marked)
        for name, options in {
            "free": FoldOptions(prices=FREE, cache_breakpoints=seed == 0),
            "700": FoldOptions(prices=HALF, budget=700),
            "1400": FoldOptions(prices=CLAUDE, budget=1400, preserved_thinking=True, drops_thinking=seed == 3),
        }.items():
            lines.append(f"{seed} {name}: {figures(body, wire, options)[0]}")
    golden.agrees_in(FILES / f"wire.{wire}.txt", lines)


def odd_options(seed: int) -> FoldOptions:
    return FoldOptions(
        model=("", "gpt-4o", "claude-sonnet-4-5")[seed % 3],
        prices=(FREE, HALF, CLAUDE, OPENAI)[seed % 4],
        budget=(None, 1500, 4000)[seed % 3],
        recall=seed % 5 != 0,
        recall_stays=seed % 2 == 0,
        recall_tool_text=seed % 7 != 1,
        cache_breakpoints=seed % 2 == 1,
        preserved_thinking=seed % 3 == 1,
        drops_thinking=seed % 6 == 1,
        prose=Prose(("off", "lite", "ultra")[seed % 3]),
        keep=Keep(frozenset({"read"}), frozenset({"assistant"})) if seed % 8 == 3 else Keep(),
        wants_summaries=seed % 4 == 2,
        wants_likeness=seed % 4 == 1,
    )


#: Seeds that with the tests above run each line and branch of the engine that all of them run, if they can, twice.
SOME_ODD = {
    "chat": (0, 1, 2, 4, 5, 7, 11, 17, 20, 22, 23),
    "messages": (4, 5, 6, 7, 13, 16, 20, 23, 24),
    "responses": (0, 2, 4, 6, 7, 9, 13, 16, 17, 23),
}


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_bodies_of_odd_parts(wire: str) -> None:
    """Long enough to be folded; a body that can't be is left alone."""
    lines = []
    for seed in golden.chosen(range(28), SOME_ODD[wire]):
        body = odd_bodies.body(wire, 10 * (seed + seed % 7) + 2 * (seed % 2), 40 + 3 * seed)
        try:
            lines.append(f"{seed}: {figures(body, wire, odd_options(seed))[0]}")
        except FoldRejected as rejected:
            lines.append(f"{seed}: {rejected.reason}")
    golden.agrees_in(FILES / f"odd.{wire}.txt", lines)


def tool_run(seed: int) -> list[golden.Message]:
    """A chat with a system text whose tools say the same again and again, in results of their own."""
    random = Random(seed)
    texts = [odd_texts.text(4 * (9 * seed + i) + 1) * (1 + i % 3) for i in range(5)]
    found: list[golden.Message] = [{"role": "system", "content": "You run the harbour desk."}]
    for i in range(14 + seed % 7):
        found.append(
            {"role": "user", "content": random.choice((odd_texts.text(50 * seed + i), "continue", f"Which bay is {i}?"))}
        )
        for j in range(random.randrange(3)):
            arguments = json.dumps({"path": f"{'desk/' * random.choice((1, 40))}{random.randrange(2)}.log"})
            call = {
                "id": f"c{i}-{j}",
                "type": "function",
                "function": {"name": random.choice(("read_log", "ask")), "arguments": arguments},
            }
            result = {"role": "tool", "tool_call_id": call["id"], "content": random.choice(texts)}
            found += [{"role": "assistant", "content": None, "tool_calls": [call]}, result]
        found.append({"role": "assistant", "content": odd_texts.text(70 * seed + i)})
    return [*found, {"role": "user", "content": ("And the second one?", "Which bay is free?")[seed % 2]}]


def with_state(request: Conversation, seed: int) -> Conversation:
    users = [i for i, one in enumerate(request.messages) if one.role == "user"]
    pins = tuple((i - seed % 2, f"[state {i}: docker is used]") for i in users[seed % 3 :: 3])
    return request.with_state(StateBlocks(pins, lambda at: f"[state carried to {at}]" if at % 4 else ""))


def told_by_vectors(request: Conversation, user: int) -> Likeness:
    """Vectors that are as good as random, of all messages but a few."""

    def vector(key: bytes) -> bytes:
        return (key * 2)[:24]

    known = {
        one.key: b"".join(vector(digest(text).replace(b"\x80", b"\x7f")) for text in passage_texts(one.text))
        for i, one in enumerate(request.messages)
        if i % 7 and one.text
    }
    return likeness(request.messages, user, vector(digest(question_text(request.messages, user))), known)


def test_state_vectors_and_summaries() -> None:
    """What a fold is given beside the messages: blocks of a state, what vectors say, summaries of a model's."""
    lines = []
    for seed in golden.some(range(14)):
        request, options = WIRES["chat"].wire.read(chat_body(tool_run(seed)), MEMO), odd_options(seed)
        request = with_state(request, seed) if seed % 3 else request
        options = replace(
            options, budget=(None, 1500, 600)[seed % 3], recall=True, wants_likeness=True, wants_summaries=seed % 2 == 0
        )
        if seed % 4 == 1:
            options = replace(options, belief=FoldDecision(Warmth(0.4, 0.9)), wants_summaries=True)
        first = fold(request, options, MEMO)
        summaries = tuple(
            WrittenSummary(one.start, one.end, one.prefix, f"facts:\n- Bay {one.start} is free.") for one in first.wanted
        )
        belief = FoldDecision(Warmth(0.4, 0.9), summaries=summaries) if summaries else options.belief
        likenesses = tuple(told_by_vectors(request, user) for user in first.open_questions)
        second = fold(request, replace(options, likenesses=likenesses, belief=belief), MEMO)
        told = [
            (one.events, one.tokens_after, one.reason, one.outlook, one.decided, one.wanted, one.open_questions, one.account)
            for one in (first, second)
        ]
        private = private_parts(request.messages)
        parts = [passage_texts(one.text, private.get(one.key) or ()) for one in request.messages]
        beside = (
            private,
            parts,
            lean(request, options, MEMO).body,
            state_written(request, options, MEMO).body,
            conversation_name(request),
        )
        quoted = [(i, one.passages) for i, one in second.recalls.items()]
        names = " ".join(map(golden.name_of, (first.body, second.body, told, beside, quoted, likenesses)))
        sizes = f"{first.tokens_before} -> {first.tokens_after}, {second.tokens_after}"
        lines.append(f"{seed}: {sizes}, {len(likenesses)} asked, {len(summaries)} wanted, {second.outlook} {names}")
        assert unfold(second) == request.body
    golden.agrees_in(FILES / "given.txt", lines)


def test_a_decision_of_the_past_holds() -> None:
    """The files above are of one request each; here each request goes on with what the one before it decided."""
    messages = golden.conversations()["radio_en"]
    options = FoldOptions(prices=HALF, belief=FoldDecision(Warmth(0.6, 0.9)))
    lines = []
    for end in range(20, len(messages), 16):
        folded = fold(WIRES["chat"].wire.read(chat_body(messages[:end]), MEMO), options, MEMO)
        options = replace(
            options,
            precedents=(*options.precedents, *folded.decided),
            belief=FoldDecision(Warmth(1.0 - end / 100, 0.5), brake=end > 60),
        )
        lines.append(
            f"{end}: {folded.events} {[p.at for p in folded.decided]} {folded.tokens_after} {golden.name_of(folded.body)}"
        )
    golden.agrees(FILES / "decided.txt", lines)


# ---------------------------------------------------------------- work


class CountedMemo(Memo):
    """A memo that says what was made anew, and what that weighs."""

    def __init__(self) -> None:
        super().__init__()
        self.made, self.weight = Counter[str](), 0

    def _note(self, key: Hashable, weight: int) -> None:
        name = key[0] if isinstance(key, tuple) and isinstance(key[0], str) else type(key).__name__
        self.made[name] += 1
        self.weight += weight * (name not in WIRES)  # the size of a body in memory differs from Python to Python

    def get(self, key: Hashable, make: Callable[[], T], weigh: Callable[[T], int] = lambda _: 64) -> T:
        def noted() -> T:
            value = make()
            self._note(key, weigh(value))
            return value

        return super().get(key, noted, weigh)

    def put(self, key: Hashable, value: T, weigh: Callable[[T], int]) -> None:
        self._note(key, weigh(value))
        super().put(key, value, weigh)

    def passing(self) -> Memo:
        return CountedPassing(self)


class CountedPassing(Memo):
    """The same of what is made and not kept."""

    def __init__(self, memo: CountedMemo) -> None:
        self._counted, passing = memo, super(CountedMemo, memo).passing()
        self.find, self.put, self._get = passing.find, passing.put, passing.get  # type: ignore[method-assign]

    def get(self, key: Hashable, make: Callable[[], T], weigh: Callable[[T], int] = lambda _: 64) -> T:
        def noted() -> T:
            self._counted.made["passing"] += 1
            return make()

        return self._get(key, noted, weigh)


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_what_is_made_anew_as_a_conversation_grows(wire: str) -> None:
    """Whatever is remembered is made once: a memo that forgets shows in no output, only here."""
    messages = conversation(5, Kind(turns=12, loops=1, sentences=14))
    memo, lines = CountedMemo(), list[str]()
    asked = [i for i, one in enumerate(messages) if one["role"] == "user"][2::3]
    for options in (FoldOptions(prices=FREE, recall_stays=True), FoldOptions(prices=HALF, budget=900)):
        for end in (*asked, asked[-1]):
            memo.made.clear()
            memo.weight = 0
            fold(WIRES[wire].wire.read(WIRES[wire].encode(messages[: end + 1]), memo), options, memo)
            made = " ".join(f"{name} {number}" for name, number in sorted(memo.made.items()))
            lines.append(f"{options.budget} {end}: {made}, {memo.weight} in all")
    golden.agrees(FILES / f"made.{wire}.txt", lines)
