"""What messages are compressed to under many options, byte for byte (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support import golden, odd_bodies, odd_texts, small_talk
from tests.support.cases import each
from turnfold.compression import CompressOptions, InvalidInput, compress, strip_provenance, uncompress
from turnfold.compression.roundtrip.condense import LEVELS, OutputText, condense, is_spoken, merge, pieces
from turnfold.compression.shorten.reading import Read
from turnfold.compression.shorten.reading import read as read_text

FILES = Path(__file__).parent / "golden"

#: Options, and how many of the newest messages are given: each shows another way of compressing.
OPTIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "window 0": {"recency_window": 0, "embed_summary_id": True, "source_version": 3},
    "near": {"recency_window": 2, "fuzzy_dedup": True, "fuzzy_threshold": 0.5, "preserve": ["assistant"]},
    "no references": {"recency_window": 6, "dedup": False},
    "half": {"token_budget": 3000, "min_recency_window": 2},
    "tight": {"token_budget": 900, "force_converge": True, "preserve": []},
    "tightest": {"token_budget": 150, "force_converge": True, "embed_summary_id": True},
    "out of reach": {"token_budget": 40, "fuzzy_dedup": True},
}


def with_repeats(messages: list[golden.Message]) -> list[golden.Message]:
    """Some texts said again, word for word or nearly so, names and ids on some messages, parts in one, a call in another."""
    found = [dict(one) for one in messages]
    said = sorted(found[1:], key=lambda one: -len(one["content"]))
    nearly = said[3]["content"].replace("\n", "\n\n", 1) + "\nOne line more."
    again = [{**said[2]}, {**said[3], "content": nearly}, {**said[0], "name": "ines"}]
    parts = {"role": "user", "content": [{"type": "text", "text": said[1]["content"]}, {"type": "text", "text": "Both?"}]}
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    call = {"role": "assistant", "content": said[4]["content"], "tool_calls": calls}
    found[5:5] = [{**again[0], "id": "m-7"}, parts]
    found[9:9] = [again[1], call, {"role": "tool", "tool_call_id": "c", "content": small_talk.FENCE}]
    return [*found, again[2], {"role": "user", "content": "And now?", "index": 4}]


def inputs() -> dict[str, list[golden.Message]]:
    found = {name: with_repeats(messages) for name, messages in golden.conversations().items() if name != "radio_en"}
    found["radio_en"] = golden.conversations()["radio_en"][:44]
    found["chat"] = [*small_talk.talk(12, "Never call the night desk. The code is R-0417.", 4), *small_talk.chat(6)]
    return found


@each("name", OPTIONS)
def test_options(name: str) -> None:
    lines = []
    mine = [*inputs().items()][0 if name == "usual" else list(OPTIONS).index(name) % 2 :: 1 if name == "usual" else 2]
    for key, messages in golden.some(mine, 2):
        made = compress(messages, CompressOptions(**OPTIONS[name], trace=True))
        actions = " ".join(f"{one.action[:2]}{one.after}" for one in made.trace or ())
        lines.append(f"{key}: {golden.name_of(json.dumps(made.as_dict(), ensure_ascii=False))} {made.fits} {actions}")
        assert uncompress(made).messages == messages
    golden.agrees_in(FILES / f"{name.replace(' ', '_')}.txt", lines)


@pytest.mark.parametrize("name", ["oncall_en", "tenants_de"])
def test_in_full(name: str) -> None:
    made = compress(inputs()[name], {"recency_window": 4, "fuzzy_dedup": True})
    golden.agrees(FILES / f"{name}.txt", [json.dumps(one, ensure_ascii=False) for one in made.messages])


def odd_messages(seed: int) -> list[golden.Message]:
    """Odd texts, some said twice or nearly so, as parts, with calls, ids and results of tools."""
    random, found = Random(seed), list[golden.Message]()
    known = [odd_texts.json_text(seed), small_talk.FENCE, odd_texts.text(seed)]
    for i in range(random.randrange(4, 26)):
        text = odd_texts.output(50 * seed + i, known) if random.random() < 0.3 else odd_texts.text(50 * seed + i)
        if random.random() < 0.2 and found:
            text = str(random.choice(found)["content"])[random.randrange(2) :] + random.choice(("", " x"))
        role = random.choice(("user", "user", "assistant", "assistant", "tool", "system")) if i else "system"
        message: golden.Message = {"role": role, "content": text or "-"}
        if random.random() < 0.2:
            message["content"] = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": "x"}}][: i % 2 + 1]
        if role == "tool":
            call = {"id": f"c{i}", "type": "function", "function": {"name": "read", "arguments": odd_texts.json_text(i)}}
            found.append({"role": "assistant", "content": None if i % 2 else text[:90], "tool_calls": [call]})
            message["tool_call_id"] = f"c{i}"
        if random.random() < 0.2:
            message[random.choice(("name", "id", "index", "index"))] = random.choice(("ines", "m-7"))
        found.append(message)
    return [*found, {"role": "user", "content": odd_texts.text(seed)}]


def test_odd_messages() -> None:
    lines = []
    for seed in golden.some(range(36)):
        options = {**OPTIONS[list(OPTIONS)[seed % len(OPTIONS)]], "recency_window": (0, 4, 1)[seed % 3]}
        if "token_budget" in options:
            options["token_budget"] = (90, 400, 1500)[seed % 3]
        if seed % 5 == 0:
            options["preserve"] = ["system", "tool"]
        made = compress(odd_messages(seed), CompressOptions(**options, trace=True))
        assert uncompress(made).messages == odd_messages(seed)
        lines.append(f"{seed}: {made.fits} {golden.name_of(json.dumps(made.as_dict(), ensure_ascii=False))}")
    golden.agrees_in(FILES / "odd.txt", lines)


def test_messages_that_are_none() -> None:
    """Among others: without a role, of another type, sealed, with what no store could keep; spoiled, some told again."""
    lines = []
    sealed = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}], "id": "m-1"}
    odd: list[Any] = [None, 7, "text", [], {}, {"content": "x"}, {"role": 3, "content": "x"}, {"role": "user"}, sealed]
    odd += [{"role": "user", "content": "lone \ud800 surrogate " * 9}, {"role": "user", "content": [{"type": "text"}]}]
    for seed in golden.some(range(60)):
        told: list[Any] = odd_bodies.spoiled([*small_talk.talk(9, "The code is R-0417.", seed % 9)], seed)
        told = [*told[:4], *odd[seed % 11 :: 3], *told[4:], odd[seed % 11]]
        options = CompressOptions(
            recency_window=seed % 3,
            token_budget=(None, 300)[seed % 2],
            embed_summary_id=seed % 5 == 0,
            trace=True,
            preserve=("system", "assistant")[: 1 + (seed % 7 == 0)],
        )
        made = compress(told, options)
        kept = json.loads(json.dumps(made.as_dict()))
        again = compress([*made.messages, *small_talk.chat(3)], options)
        back = [
            uncompress(made),
            uncompress(again, recursive=True),
            uncompress(made.messages[::-1], made.verbatim.get),
            uncompress(made.messages[2:], {}),
        ]
        spoiled_back = uncompress(odd_bodies.spoiled(made.messages, seed), made.verbatim)
        assert back[0].messages == told
        names = " ".join(map(golden.name_of, (kept, strip_provenance(made.messages), [one.as_dict() for one in back])))
        lines.append(f"{seed}: {made.fits} {len(made.messages)} {names} {golden.name_of(spoiled_back.as_dict())}")
    golden.agrees_in(FILES / "none.txt", lines)


SECRETS = (
    "api_key = 7f3b9c2e41d8a6f05b1c",
    "password: hunter2hunter2",
    "SELECT token FROM keys;",
    '{"secret": "x"}',
    "a bearer of news",
)


def test_texts_alone_and_together() -> None:
    """The parts that stay of each, with secrets in front, behind and between; each at every level, and as one of a run."""
    lines, reads = list[str](), list[Read]()
    for seed in range(60):
        said = (odd_texts.text(seed), odd_texts.glued(seed), odd_texts.rare(seed))[seed % 3]
        secret = SECRETS[seed % 5]
        text = (f"{secret}\n{said}", f"{said}\n{secret}", f"{said} {secret} {said}", said)[seed % 4] * (1 + 3 * (seed % 8 == 0))
        reads = [*reads[-4:], read_text(text, ("user", "assistant", "system")[seed % 3])]
        made = [[condense(known, level) for level in LEVELS] for known in (reads[-1], OutputText(text))]
        runs = [merge(reads, [f"name {i}" for i in range(len(reads))], level) for level in LEVELS[seed % 2 :: 2]]
        parted = [(len(piece), stays) for piece, stays in pieces(text)]
        assert "".join(piece for piece, _ in pieces(text)) == text
        lines.append(
            f"{seed}: {is_spoken(text)} {parted[:4]} {golden.name_of(parted)} {golden.name_of(made)} {golden.name_of(runs)}"
        )
    golden.agrees(FILES / "texts.txt", lines)


def test_under_a_budget_program_output_goes_down_to_a_twenty_fifth_and_then_to_its_ends() -> None:
    rows = (f"2031-05-{i % 28 + 1:02} INFO berth {i * 7919 % 1000} took {i * 31 % 997} ms for crane {i}" for i in range(300))
    log = OutputText("\n".join(rows))
    shares = [len(condense(log, level)) / len(log.text) for level in LEVELS]
    assert shares[1] > 0.4, "every figure stays"
    assert 0.02 < shares[2] < 0.05
    assert shares[3] < 0.02


def test_options_that_are_refused() -> None:
    """Every option with every value that is near a right one."""
    lines = []
    values: tuple[Any, ...] = (None, True, 0, 1, -1, 2.5, 0.0, 1.0, 1.01, "", "a", (), ["user"], [3], {})
    for name in (*(field.name for field in fields(CompressOptions)), "nothing"):
        for value in values:
            try:
                made = CompressOptions.of({name: value})
                lines.append(f"{name} {value!r} {getattr(made, name)!r}")
            except InvalidInput as refused:
                lines.append(f"{name} {value!r} {refused}")
    golden.agrees(FILES / "refused.txt", lines)
