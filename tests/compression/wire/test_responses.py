"""Responses: items are read into messages that a fold can work on, and changes come out as what they say."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import conversations as chat
from tests.support.cases import each
from tests.support.drawn_changes import drawn_changes
from tests.support.effort import costly, every
from tests.support.responses import HOSTED, Item, bodies, inputs, items_of, reasoning
from tests.support.responses_rules import rule_faults
from tests.support.warm import WARM
from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.fit import fit
from turnfold.compression.fit.overflow import Overflow
from turnfold.compression.fit.recover import recover
from turnfold.compression.fold import fold, unfold
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import apply, invert
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.responses import RESPONSES

CASES = Path(__file__).parent / "cases"

short = inputs(chat.conversations(1, 3, sizes=("short", "middle")))


def body_of(items: Sequence[Item] | str, **keys: Any) -> bytes:
    return json.dumps({"model": "gpt-5", "store": False, "input": items, **keys}).encode()


def read(items: Sequence[Item] | str, **keys: Any) -> Conversation:
    return RESPONSES.read(body_of(items, **keys), WARM)


def user(text: str) -> Item:
    return {"role": "user", "content": text}


def said(text: str, **keys: Any) -> Item:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}], **keys}


def call(name: str, arguments: str = "{}") -> Item:
    return {"type": "function_call", "call_id": name, "name": "count", "arguments": arguments}


def result(name: str, output: Any = "7") -> Item:
    return {"type": "function_call_output", "call_id": name, "output": output}


DEVELOPER = {"type": "message", "role": "developer", "content": "Answer in Dutch."}


# -- what is one message -------------------------------------------------------------------------------------------------------

LISTED: Item = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "desk", "tools": [{"name": "count"}]}
RUNS: dict[str, tuple[list[Item], str]] = {
    "text and calls are one turn": (
        [user("a"), said("b"), call("c"), call("d"), result("c"), result("d"), user("e")],
        "u att u",
    ),
    "reasoning goes with what follows": ([user("a"), reasoning(1), call("c"), result("c"), reasoning(2), said("b")], "u at a"),
    "hosted tools are the assistant's": ([user("a"), *HOSTED, said("b"), user("c")], "u a u"),
    "a server's tools are an instruction": ([user("a"), LISTED, reasoning(1), *HOSTED, said("b"), user("c")], "u s a u"),
    "instructions part no reasoning": ([user("a"), reasoning(1), DEVELOPER, said("b"), user("c")], "u asa u"),
    "a late result binds what is before it": (
        [user("a"), call("c"), call("d"), result("d"), said("b"), result("c"), user("e")],
        "u atat u",
    ),
    "even a user's words": ([user("a"), call("c"), user("hurry"), result("c"), said("b")], "u aut a"),
    "ids may be used again": ([user("a"), call("c"), result("c"), said("b"), call("c"), result("c"), user("d")], "u at at u"),
    "a program holds its calls": (
        [
            user("a"),
            {"type": "program", "call_id": "p", "code": "x"},
            {**call("c"), "caller": {"type": "program", "caller_id": "p"}},
            result("c"),
            {**call("d"), "caller": {"type": "program", "caller_id": "p"}},
            result("d"),
        ],
        "u atat",
    ),
    "an approval holds what it allows": (
        [
            user("a"),
            {"type": "mcp_approval_request", "id": "q", "name": "f", "arguments": "{}"},
            {"type": "mcp_approval_response", "approval_request_id": "q", "approve": True},
            said("b"),
            {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}", "output": "9", "approval_request_id": "q"},
            user("c"),
        ],
        "u ata u",
    ),
    "a configuration is an instruction": ([user("a"), {"type": "configuration_update", "id": "k"}, said("b")], "u s a"),
}


@each("name", RUNS)
def test_items_become_messages_and_units(name: str) -> None:
    items, wanted = RUNS[name]
    found = read(items).messages
    letters = {"user": "u", "assistant": "a", "tool": "t", "developer": "s"}
    cut = ["".join(letters[m.role] for m in found[u.start : u.end]) for u in units(found)]
    assert " ".join(cut) == wanted


@each("item", [reasoning(1), *HOSTED])
def test_what_is_whole_or_gone_seals_its_turn(item: Item) -> None:
    assert read([user("a"), said("b"), call("c")]).messages[1].sealed is False
    assert read([user("a"), item, said("b"), call("c")]).messages[1].sealed is True


def test_what_the_assistant_cites_keeps_its_places() -> None:
    cited = said("Bay 7, says the register.")
    cited["content"][0]["annotations"] = [{"type": "url_citation", "start_index": 0, "end_index": 5, "url": "https://x.example"}]
    assert read([cited]).messages[0].sealed


def test_instructions_are_a_system_message_outside_of_the_history() -> None:
    found = read([user("a")], instructions="Be brief.")
    assert [(m.role, m.own, m.pinned) for m in found.messages] == [("system", "Be brief.", True), ("user", "a", False)]
    assert found.text[slice(*found.spans[0])] == '"Be brief."'
    assert not found.history[0] <= found.spans[0][0] < found.history[1]
    assert [m.role for m in read([user("a")], instructions=None).messages] == ["user"]


def test_a_text_is_one_message_of_the_users() -> None:
    found = read("How many crates?")
    assert [(m.role, m.sole) for m in found.messages] == [("user", "How many crates?")]
    after = found.with_changes(Changes(beside={0: Beside(("before",), ("behind",))}, apart=frozenset({0})), WARM)
    assert json.loads(after.body)["input"] == "before\n\nHow many crates?\n\nbehind"
    assert found.with_changes(Changes(texts={0: {(0,): "Less."}}), WARM).messages[0].own == "Less."


def test_settings_that_count() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
    found = read(
        [user("a")], tools=[{"type": "function"}], text={"format": form}, max_output_tokens=70, stream=True, truncation="auto"
    )
    assert found.schema == '[{"type": "function"}]' + json.dumps(form)
    assert (found.model, found.output, found.streams, found.keeps_history) == ("gpt-5", 70, True, True)
    assert found.settings["truncation"] == "auto"
    assert read([user("a")], text={"format": {"type": "text"}}).schema == ""
    assert not read([user("a")], store=True).keeps_history


@each("size", [0, 1000, 40_000])
def test_media_count_by_their_size_in_pixels_and_reasoning_by_what_it_holds(size: int) -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * size, "detail": "auto"}
    assert read([{"role": "user", "content": [{"type": "input_text", "text": "a"}, picture]}]).messages[0].tokens == 3 + 1 + 765
    low = {**picture, "detail": "low"}
    assert read([{"role": "user", "content": [{"type": "input_text", "text": "a"}, low]}]).messages[0].tokens == 3 + 1 + 85
    one = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "A" * size}
    assert read([one, said("a")]).messages[0].tokens == 3 + 1 + max(0, (size * 3 // 4 - 650) // 4)
    image = {"type": "image_generation_call", "id": "i", "result": "A" * (size + 1)}
    assert [one.kind for one in read([image]).messages[0].attached] == ["image"]
    assert read([image]).messages[0].tokens == 3 + 765


@costly(5)
@given(chat.conversations(1, 3, sizes=("short", "middle")))
def test_messages_count_as_on_chat(messages: list[chat.Message]) -> None:
    unlike = {"reasoning_content", "reasoning_details", "thinking_blocks", "refusal", "name"}
    plain = [m for m in messages if unlike.isdisjoint(m)]
    plain = [m for m in plain if not isinstance(m.get("content"), list)]
    there = CHAT.read(json.dumps({"messages": plain}).encode(), WARM).messages
    here = [read(items).messages[0] for m in plain if (items := items_of(m))]
    for a, b in zip(there, here, strict=True):
        assert abs(a.tokens - b.tokens) <= 1 + len(a.calls)
        assert (a.role, a.call_ids, a.answers) == (b.role, b.call_ids, b.answers)
        assert (a.own or "") == b.own


def rendered(body: bytes) -> str:
    """A line for each message: its unit, role, what it is, and its text."""
    found = RESPONSES.read(body, WARM)
    unit_of = {i: n for n, unit in enumerate(units(found.messages)) for i in range(unit.start, unit.end)}
    lines = []
    for i, message in enumerate(found.messages):
        flags = [name for name in ("pinned", "sealed", "bound", "has_calls") if getattr(message, name)]
        attached = [one.label for one in message.attached]
        lines.append(json.dumps([unit_of[i], message.role, flags, [*message.call_ids, message.answers], attached, message.text]))
    return "\n".join([*lines, f"schema {found.schema}", f"keeps history {found.keeps_history}", ""])


@pytest.mark.parametrize("case", sorted(CASES.glob("*.json")), ids=lambda case: case.stem)
def test_what_clients_send(case: Path) -> None:
    body = case.read_bytes()
    assert rendered(body) == case.with_suffix(".txt").read_text()
    assert rule_faults(body, fold(RESPONSES.read(body, WARM), FoldOptions(budget=100), WARM).body) == []


# -- what is no request, what is not to be folded --------------------------------------------------------------------------------


@each(
    "body",
    [
        *(b"[]", b"{}", b'{"input":[', b'{"input":7}', b'{"input":null}', b'{"input":[1]}', b'{"input":["x"]}'),
        *(b'{"input":[{"content":"x"}]}', b'{"input":[{"type":"message"}]}', b'{"input":[{"type":3}]}'),
        *(b'{"input":[],"input":[]}', b'{"input":"x","instructions":[]}'),
    ],
)
def test_what_is_no_request_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(FoldRejected, match="unparsable"):
        RESPONSES.read(body, WARM)


LONG = [
    item
    for i in range(60)
    for item in (
        user(f"Note {i}: crane {i} was moved to berth {i % 7}. " * 12),
        said(f"Noted {i}: the crane stands at {i % 5}. " * 12),
    )
]
QUESTION = user("Where does crane 12 stand?")
FREE = FoldOptions(prices=CachePrices(1.0, 1.0))
HELD: dict[str, tuple[list[Item], Item, str]] = {
    "a response upstream": ([QUESTION], {"previous_response_id": "resp_1"}, "server-history"),
    "a conversation upstream": ([QUESTION], {"conversation": {"id": "conv_1"}}, "server-history"),
    "compaction upstream": ([QUESTION], {"context_management": [{"type": "compaction"}]}, "server-history"),
    "a reference": ([{"type": "item_reference", "id": "msg_1"}, QUESTION], {}, "server-history"),
    "a bare reference": ([{"id": "msg_1"}, QUESTION], {}, "server-history"),
    "a compaction asked for": ([QUESTION, {"type": "compaction_trigger"}], {}, "server-history"),
    "a background response": ([QUESTION], {"background": True}, "background"),
}


@each("name", HELD)
def test_history_that_lies_upstream_is_never_folded_against(name: str) -> None:
    more, keys, reason = HELD[name]
    body = body_of([*LONG, *more], **keys)
    conversation = RESPONSES.read(body, WARM)
    for options in (FREE, FoldOptions(budget=500)):
        folded = fold(conversation, options, WARM)
        assert (folded.folded, folded.reason, folded.body) == (False, reason, body)
    fitted = fit(conversation, FoldOptions(window=4000), WARM)
    assert not fitted.fitted
    assert fitted.forwarded.body == body
    with pytest.raises(StopIteration):
        next(recover(conversation, Overflow("prompt", limit=4000), FREE, WARM))


@pytest.mark.parametrize(
    "keys", [{"store": True}, {"previous_response_id": None, "conversation": None, "context_management": []}]
)
def test_a_request_with_its_whole_history_is_folded(keys: Item) -> None:
    assert fold(read([*LONG, QUESTION], **keys), FREE, WARM).folded


@each("begin", ["", "[INFO] ", "{ "])
def test_a_local_shells_plain_output_is_folded_like_any_other(begin: str) -> None:
    """The specification has JSON there, but clients send plain text; a fold's own marks begin with a bracket too."""
    output = begin + "\n".join(f"src/f{i}.ts:{i}: const quota = limit{i}" for i in range(60))
    ran: list[Item] = [
        {
            "type": "local_shell_call",
            "call_id": "",
            "status": "completed",
            "action": {"type": "exec", "command": ["rg"], "env": {}},
        },
        {"type": "local_shell_call_output", "call_id": "", "output": output},
    ]
    items = [user("Where is the quota read?")]
    for number in range(12):
        items += [
            *({**item, "call_id": f"call_{number}"} for item in ran),
            said("It is read in `src`."),
            user(f"Look again, {number}."),
        ]
    folded = fold(read(items), FREE, WARM)
    assert folded.folded
    assert folded.tokens_after < folded.tokens_before / 3
    assert unfold(folded) == body_of(items)
    assert not rule_faults(body_of(items), folded.body)


def test_a_local_shells_json_is_left_as_it_is() -> None:
    output = json.dumps({"output": "src/f1.ts: const quota = limit1\n" * 60, "metadata": {"exit_code": 0}})
    found = read([user("Where?"), {"type": "local_shell_call_output", "call_id": "c", "output": output}]).messages[1]
    assert (found.sealed, found.texts) == (True, ())


@pytest.mark.parametrize("kind", every(2, ["compaction", "compaction_summary"], 1))
def test_what_stands_before_a_compaction_is_left_alone(kind: str) -> None:
    before = [*LONG[:40], call("c"), result("c", "bay 7\n" * 4000), said("Counted.")]
    compaction = {"type": kind, "id": "cmp_1", "encrypted_content": "gAAAAA" + "q" * 400}
    folded = fold(read([*before, compaction, *LONG[40:], QUESTION]), FREE, WARM)
    assert folded.folded
    sent = json.loads(folded.body)["input"]
    assert sent[: len(before) + 1] == [*before, compaction]
    assert len(sent) < len(before) + 1 + len(LONG[40:])
    alone = fold(read([*before, compaction, QUESTION]), FREE, WARM)
    assert not alone.folded
    cut = fit(read([*before, compaction, *LONG[40:], QUESTION]), FoldOptions(window=9000), WARM)
    assert json.loads(cut.forwarded.body)["input"][: len(before) + 1] == [*before, compaction]


# -- read and written ------------------------------------------------------------------------------------------------------------


def _items(messages: Sequence[Any], skip: int) -> list[Item]:
    return [item for m in messages[skip:] for item in json.loads(f"[{m.raw}]")]


def _at(items: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        items = items[step]
    return items


@costly(4)
@given(bodies(short))
def test_every_message_stands_where_its_span_says(body: bytes) -> None:
    found = RESPONSES.read(body, WARM)
    data = json.loads(body)
    outside = int("instructions" in data)
    assert found.body == body
    assert [found.text[a:b] for a, b in found.spans] == [m.raw for m in found.messages]
    assert _items(found.messages, outside) == data["input"]
    for message in found.messages:
        items = json.loads(f"[{message.raw}]")
        assert all(_at(items, text.path) == text.text for text in (*message.texts, *message.arguments))
        assert all(isinstance(_at(items, one.path), dict) for one in message.attached)


@costly(4)
@given(short, st.integers(1, 9))
def test_what_is_known_of_the_beginning_changes_nothing(items: list[Item], grown: int) -> None:
    memo = Memo()
    padded = [user("word " * 7000), *items]
    for end in sorted({*range(0, len(padded), grown), len(padded)}):
        body = body_of(padded[:end], instructions="Be brief.", stream=True)
        assert RESPONSES.read(body, memo) == RESPONSES.read(body, Memo())


def part(text: str) -> Item:
    return {"type": "input_text", "text": text}


def _changed(found: Conversation, changes: Changes) -> list[Item]:
    """The same on parsed items: what the written body has to say."""
    gone = {i for a, b in changes.dropped for i in range(a, b)}
    out: list[Item] = []
    for i, message in enumerate(found.messages):
        if i in gone or not found.history[0] <= found.spans[i][0] < found.history[1]:
            continue
        items = copy.deepcopy(json.loads(f"[{message.raw}]"))
        for path, text in changes.texts.get(i, {}).items():
            _at(items, path[:-1])[path[-1]] = text
        one = changes.beside.get(i, Beside())
        content: Any = items[0].get("content")
        if i in changes.apart and isinstance(content, str):
            content = [part(content) | ({"prompt_cache_breakpoint": {"mode": "explicit"}} if i == changes.breakpoint else {})]
        if isinstance(content, list):
            items[0]["content"] = [*map(part, one.front), *content, *map(part, one.behind)]
        elif one.front or one.behind:
            items[0]["content"] = "\n\n".join([*one.front, content, *one.behind])
        out += items
    return out


@costly(4)
@given(bodies(short), st.data())
def test_changes_come_out_as_they_were_asked_for_and_go_back(body: bytes, data: st.DataObject) -> None:
    found = RESPONSES.read(body, WARM)
    changes = data.draw(drawn_changes(found))
    edits = RESPONSES.write(found, changes)
    after = apply(found.text, edits)
    now = json.loads(after)
    assert now == json.loads(body) | {"input": _changed(found, changes)}
    assert list(now) == list(json.loads(body))
    assert apply(after, invert(found.text, edits)).encode() == body


def test_an_attachment_gives_way_to_a_text_of_its_place() -> None:
    picture = {"type": "input_image", "image_url": "https://x.example/bay.png"}
    found = read([{"role": "user", "content": [part("a"), picture]}, call("c"), result("c", [picture])])
    changes = Changes(texts={i: {found.messages[i].attached[0].path: "gone"} for i in (0, 2)})
    after = json.loads(found.with_changes(changes, WARM).body)["input"]
    assert after[0]["content"] == [part("a"), part("gone")]
    assert after[2]["output"] == [part("gone")]


def test_a_refusal_counts_beside_the_text() -> None:
    refusal = "I can't help to open a door that is not yours."
    parts = [[part("a")], [part("a"), {"type": "refusal", "refusal": refusal}]]
    alone, refused = (read([{"role": "user", "content": one}]).messages[0] for one in parts)
    assert refused.other_tokens - alone.other_tokens == tokens.count(refusal)


def test_a_mark_that_moves_changes_no_fingerprint() -> None:
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    before = [{"role": "user", "content": [part("a") | mark]}, said("b"), user("c")]
    after = [{"role": "user", "content": [part("a")]}, said("b"), {"role": "user", "content": [part("c") | mark]}]
    assert RESPONSES.unmarked(read(before)) == RESPONSES.unmarked(read(after))
    assert RESPONSES.unmarked(read(before)) != RESPONSES.unmarked(read([*after[:2], user("d")]))
    assert b"Be brief" in RESPONSES.unmarked(read([user("a")], instructions="Be brief."))
