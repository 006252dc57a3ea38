"""A user's own words beside a pasted text: told apart, kept at FACTS, first in a summary, and kept while a budget has room."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.support.cases import each
from tests.support.effort import every
from tests.support.growth import assert_linear
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.dialogue.own_words import own_words
from turnfold.compression.text.kinds import parts
from turnfold.compression.tokens import count


def _lines(make: Callable[[int], str], number: int) -> str:
    return "\n".join(map(make, range(number)))


PASTED = {
    "log": _lines(lambda i: f"2026-03-01T12:00:{i % 60:02}Z INFO worker-{i % 7} request {i * 97} took {i * 13 % 97} ms", 80),
    "json": json.dumps([{"id": i, "name": f"item {i}", "price": i / 8, "tags": ["a", "b"]} for i in range(40)], indent=1),
    "trace": "Traceback (most recent call last):\n"
    + _lines(lambda i: f'  File "/srv/app/m{i}.py", line {i * 3}, in run_{i}\n    return call_{i}(request, key={i})', 40)
    + "\nValueError: bad key",
    "code": _lines(lambda i: "    " * (i % 3) + f"value_{i} = compute({i * 7}, name='x{i}')", 90),
    "csv": "id,name,price\n" + _lines(lambda i: f"{i},item {i},{i * 3}", 150),
    "diff": "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,9 +1,9 @@\n"
    + _lines(lambda i: " +-"[i % 3] + f"value_{i} = {i * 3}", 110),
    "yaml": "services:\n" + _lines(lambda i: f"  app{i}:\n    image: registry/app{i}:{i}\n    replicas: {i % 4}", 50),
    "shell": _lines(lambda i: f"$ kubectl get pod app-{i}\napp-{i}   1/1   Running   {i}   {i}d", 50),
}
SAID = (
    "why does the third worker fail so often?",
    "don't touch the retry logic, it is shared with billing",
    "this broke after we moved to the new cluster on Tuesday",
    "bitte nur die Tabelle reparieren, sonst nichts",
    "我们只需要修复价格列,不要改动编号",
    "rename everything to snake case and keep the comments",
)


@each(("kind", "said"), every(2, [(kind, said) for i, kind in enumerate(PASTED) for said in SAID[i % 2 :: 2]]))
def test_what_is_said_beside_a_pasted_text_stays(kind: str, said: str) -> None:
    pasted = PASTED[kind]
    lines = pasted.split("\n")
    middle = len(lines) // 2
    for text in (
        f"{said}\n\n{pasted}",
        f"{pasted}\n\n{said}",
        f"{said}\n{pasted}\nthanks a lot",
        "\n".join([*lines[:middle], "", said, "", *lines[middle:]]),
    ):
        short = facts(text, role="user", words=frozenset(), known=(), count=count)
        assert said in short
        assert count(short) < count(text)


PROSE = "\n\n".join(
    " ".join(
        f"The {thing} of {place} was built in {1700 + 7 * n + i} and has {12 + n} rooms."
        for i, thing in enumerate(("mill", "hall", "inn"))
    )
    for n, place in enumerate(("Oslo", "Graz", "Cork", "Bern", "Ghent", "Turin"))
)


@each("said", SAID)
def test_what_is_said_beside_pasted_prose_stays(said: str) -> None:
    for text in (f"{said}\n\n{PROSE}", f"{PROSE}\n\n{said}"):
        short = facts(text, role="user", words=frozenset(), known=(), count=count)
        assert said in short
        assert count(short) < 0.75 * count(text)


def test_a_request_right_below_output_is_told_from_it() -> None:
    lines = [
        "Applied edit to tests/test_main.py",
        "Commit b272bcc feat: add tests for --map-tokens option",
        "Commit bb25264 style: apply formatting to test_main.py",
        "Commit cc25264 style: apply formatting to test_io.py",
        "don't use --no-git in those tests",
        "0 errors",
        "1 warning",
    ]
    assert 4 in own_words(lines)
    assert own_words(["GET /a 200", "GET /b 200", "GET /c 500", "GET /d 200", "GET /e 200"]) == set()


def test_text_behind_json_is_no_part_of_it() -> None:
    text = PASTED["json"] + "\n\nkeep the ids, please"
    assert [(span.kind, span.of(text)) for span in parts(text)][-1][1] == "keep the ids, please"
    assert parts(text)[0].kind == "json"
    assert [span.kind for span in parts(PASTED["json"][:-40])] == ["json"]  # one that breaks off


def _conversation(turns: int) -> tuple[bytes, list[str]]:
    messages = []
    said = [f"{SAID[i % len(SAID)]} ({i})" for i in range(turns)]
    for i, ask in enumerate(said):
        lines = PASTED[list(PASTED)[i % len(PASTED)]].split("\n")
        pasted = "\n".join(lines[: len(lines) // 2])
        messages.append({"role": "user", "content": f"{ask}\n\n{pasted}" if i % 2 else f"{pasted}\n\n{ask}"})
        messages.append({"role": "assistant", "content": f"The cause is in module {i}; I changed it as you said."})
    messages.append({"role": "user", "content": "what is still open?"})
    return json.dumps({"model": "gpt-4o", "messages": messages}).encode(), said


def test_a_fold_keeps_what_was_asked_beside_what_was_pasted() -> None:
    body, said = _conversation(20)
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    sent = "\n".join(message["content"] for message in json.loads(folded.body)["messages"])
    assert folded.tokens_after < folded.tokens_before / 2
    assert sum(one in sent for one in said) >= 19


@each("share", [0.3, 0.2, 0.1])
def test_a_budget_is_used_where_the_question_bears_on_nothing(share: float) -> None:
    body, _ = _conversation(32)
    before = fold_request(body, FoldOptions(model="gpt-4o"), WARM).tokens_before
    folded = fold_request(body, FoldOptions(model="gpt-4o", budget=int(share * before)), WARM)
    assert 0.35 * share * before < folded.tokens_after <= share * before


@each("unit", ["use it now\n", "a\n", "INFO x\n", "why?\n\n", "please do it "])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(lambda text: own_words(text.split("\n")), lambda size: unit * (size // len(unit)), 8_000)
