"""Reversible compression of messages, case by case (system E).

These tests cover options, fields, what stays byte for byte, references, budgets, provenance, the trace. They leave out laws over
random messages (``test_roundtrip_laws``), summarizers (``flows/test_summarizers``).
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.effort import every
from tests.support.growth import assert_linear
from tests.support.small_talk import CHAT, FENCE, Message, chat, talk, text_of
from turnfold.compression import (
    CompressOptions,
    InvalidInput,
    compress,
    default_token_counter,
    strip_provenance,
    uncompress,
)
from turnfold.compression.roundtrip.provenance import KEY, provenance_of
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.spans import Span

# --- E1 ---------------------------------------------------------------------------------------------------------------


def test_defaults_and_fields() -> None:
    options = CompressOptions()
    assert (options.preserve, options.recency_window, options.source_version) == (("system",), 4, 0)
    assert (options.token_budget, options.min_recency_window, options.dedup) == (None, 0, True)
    assert (options.fuzzy_dedup, options.fuzzy_threshold, options.embed_summary_id) == (False, 0.85, False)
    assert (options.force_converge, options.token_counter) == (False, default_token_counter)
    body = compress(talk(20)).as_dict()
    assert set(body) == {"messages", "verbatim", "compression", "result_id"}
    assert set(body["compression"]) == {
        "original_version",
        "ratio",
        "token_ratio",
        "messages_compressed",
        "messages_preserved",
        "messages_deduped",
        "messages_fuzzy_deduped",
    }
    assert {"fits", "token_count", "recency_window"} <= set(compress(talk(20), {"token_budget": 100}).as_dict())


def test_the_default_counter_takes_four_characters_for_a_token() -> None:
    assert [default_token_counter({"role": "user", "content": "x" * n}) for n in (0, 1, 7, 8)] == [0, 1, 2, 3]
    called = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "read", "arguments": "{}"}}]}
    assert default_token_counter(called) == 2
    counted = compress(talk(30), {"token_counter": lambda message: len(str(message["content"]).split())})
    words = [len(text_of(messages).split()) for messages in (talk(30), counted.messages)]
    assert counted.compression.token_ratio == pytest.approx(words[0] / words[1], rel=1e-3)


def test_the_window_and_preserved_roles_stay() -> None:
    messages = [
        {"role": "system", "content": "Rules. " * 80},
        *talk(20),
        {"role": "developer", "content": "More. " * 80},
        *talk(6),
    ]
    result = compress(messages, {"recency_window": 6})
    assert result.messages[-7:] == messages[-7:]
    assert result.messages[0] == messages[0]
    assert compress(messages, {"recency_window": 100}).messages == messages
    kept = compress(messages, {"preserve": ["user"], "recency_window": 0}).messages
    assert [m for m in kept if m["role"] == "user"] == [m for m in messages if m["role"] == "user"]
    assert len(text_of(kept)) < len(text_of(messages))


@each(
    ("options", "field"),
    [
        ({"recency_window": -1}, "recency_window"),
        ({"recency_window": True}, "recency_window"),
        ({"token_budget": "many"}, "token_budget"),
        ({"fuzzy_threshold": 1.5}, "fuzzy_threshold"),
        ({"preserve": "system"}, "preserve"),
        ({"preserve": [1]}, "preserve"),
        ({"dedup": 1}, "dedup"),
        ({"token_counter": 3.5}, "token_counter"),
        ({"window": 4}, "window"),
        ({"summarizer": "gpt"}, "summarizer"),
    ],
)
def test_a_wrong_option_is_named(options: Any, field: str) -> None:
    with pytest.raises(InvalidInput, match=field) as raised:
        compress(talk(3), options)
    assert raised.value.field == field


def test_messages_must_be_a_list() -> None:
    with pytest.raises(InvalidInput, match="messages"):
        compress("hello")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="messages"):
        uncompress("hello")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="store"):
        uncompress([], ["hello"])  # type: ignore[arg-type]


# --- what is kept -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        "We decided not to deploy on Friday.",
        "The budget is $4.2 million, and Anna Berg signs for it.",
        "Pi is 3.14159, the release is v1.2.3, mail bert@nordlicht.example.",
        "See https://example.org/a.b?c=1.2 for the exact limits of 40 bar.",
    ],
)
@pytest.mark.parametrize("at", [0, 5, 12])
def test_what_weighs_survives_small_talk(said: str, at: int) -> None:
    messages = talk(30, said, at)
    result = compress(messages)
    assert said in text_of(result.messages)
    assert result.compression.ratio > 3


@pytest.mark.parametrize("budget", [None, 150, 60])
def test_standing_orders_of_users_survive_any_budget(budget: int | None) -> None:
    messages = talk(60, "From now on answer in French only.", 8)
    assert "From now on answer in French only." in text_of(compress(messages, {"token_budget": budget}).messages)


def test_roles_alternate_as_they_did() -> None:
    for turns in (*range(6, 24), 40, 41, 59):
        roles = [m["role"] for m in compress(talk(turns)).messages]
        assert all(one != other for one, other in pairwise(roles))
        assert roles[0] == "user"


EXACT = {
    "fence": FENCE,
    "tildes": "~~~\nraw  text   with   blanks\n~~~",
    "unclosed": "```\nleft open\n  and indented",
    "indented": "    total = sum(x)\n    print(total)",
    "json": '{"a": [1, 2.50, {"b": null}],  "c": "d"}',
    "json lines": '[\n  {"id": 1,   "name": "Anna"},\n  {"id": 2, "name": "Bert"}\n]',
    "sql": "SELECT id, name FROM users WHERE age > 30 ORDER BY name;",
    "table": "| city | rain |\n|---|---|\n| Bergen | 2250 |\n| Oslo | 763 |",
    "trace": 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    f()\nValueError: no such thing',
    "key": "-----BEGIN PRIVATE KEY-----\nMIIBVAIBADANBg\nkqhkiG9w0BAQEF\n-----END PRIVATE KEY-----",
    "secret": "The key is sk-Q9x7aBcD3fGh1jKlMnOpQrSt",
    "password": "password: hunter2-Blue",
    "lower-case sql": "select a.id, b.name from orders a join users b on a.uid = b.id where a.total > 100 order by 1;",
    "psql": " id | name \n----+------\n  1 | Ann\n  2 | Bob",
    "Ruby": "app.rb:3:in `divide': divided by 0 (ZeroDivisionError)\n\tfrom app.rb:7:in `<main>'",
    "PHP": "PHP Fatal error:  Uncaught Exception: bad in /app/a.php:3\nStack trace:\n#0 /app/a.php(7): f()\n#1 {main}",
    "connection": "It connects to postgres://app:3f9c-Blue@db.example.org:5432/prod from the office",
    "account key": "AccountName=acct;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq",
    "named password": "DB_PASSWORD=hunter2-Blue",
}


@pytest.mark.parametrize(
    ("name", "role"), every(8, [(name, role) for name in EXACT for role in ("user", "assistant", "tool")], 6)
)
def test_blocks_and_secrets_stay_byte_for_byte(name: str, role: str) -> None:
    prose = " ".join(CHAT * 4)
    behind = "" if name == "unclosed" else f"\n\n{prose}"
    message = {"role": role, "content": f"{prose}\n\n{EXACT[name]}{behind}", "tool_call_id": "c1"}
    for budget, force in ((None, False), (200, False), (150, True)):
        options = CompressOptions(token_budget=budget, force_converge=force, min_recency_window=0)
        (out, *_) = compress([message, *talk(6)], options).messages
        assert EXACT[name].strip("\n") in out["content"]
        assert len(out["content"]) < 0.8 * len(message["content"])


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_an_array_inside_a_sentence_stays_byte_for_byte(role: str) -> None:
    said = 'The list is ["eu",  "us"] for it.'
    messages = [{"role": role, "content": " ".join([*CHAT * 2, said, *CHAT * 2])}, *talk(6)]
    for budget in (None, 150):
        assert said in compress(messages, CompressOptions(token_budget=budget)).messages[0]["content"]


def test_only_prose_of_80_characters_beside_a_block_is_cut() -> None:
    short = f"Here is what I found, thanks.\n\n{FENCE}\n\nThat is all there is."
    assert compress([{"role": "assistant", "content": short}, *talk(4)]).messages[0]["content"] == short
    prose = " ".join(CHAT * 4)
    mixed = f"{prose}\n\n{FENCE}\n\nRight, so.\n\n{FENCE}\n\n{prose}"
    cut = compress([{"role": "assistant", "content": mixed}, *talk(4)]).messages[0]["content"]
    assert f"{FENCE}\n\nRight, so.\n\n{FENCE}" in cut
    assert len(cut) < 0.8 * len(mixed)


def test_tool_calls_and_results_keep_their_ids() -> None:
    log = "".join(f"2026-01-01 10:00:{n % 60:02} INFO request {n} served in {n % 7} ms\n" for n in range(200))
    unit = []
    for n in range(3):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "logs", "arguments": json.dumps({"page": n})}}
        unit += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        unit += [{"role": "tool", "tool_call_id": f"c{n}", "content": f"page {n}\n{log}"}]
    result = compress([*talk(2), *unit, *talk(4)])
    assert [m.get("tool_call_id") for m in result.messages if m["role"] == "tool"] == ["c0", "c1", "c2"]
    assert [m["tool_calls"] for m in result.messages if "tool_calls" in m] == [m["tool_calls"] for m in unit[::2]]
    assert result.compression.ratio > 2


# --- E4 ---------------------------------------------------------------------------------------------------------------

PAGE = "".join(f"Line {n} of the report says that sample {n * 7} was fine.\n" for n in range(30))
NEARLY = PAGE.replace("Line 3 of", "Row 3 of")


def read_page(number: int, text: str = PAGE) -> list[Message]:
    return [{"role": "user", "content": text, "id": f"u{number}"}, {"role": "assistant", "content": f"Read, number {number}."}]


def contents(messages: list[Any]) -> list[str]:
    return [m["content"] for m in messages if m.get("id", "").startswith("u")]


def test_the_first_inside_the_window_is_kept_else_the_latest() -> None:
    result = compress([m for n in range(4) for m in read_page(n)], {"recency_window": 4})
    assert [text == PAGE for text in contents(result.messages)] == [False, False, True, True]
    assert all("message u2" in text for text in contents(result.messages)[:2])
    result = compress([*(m for n in range(3) for m in read_page(n)), *talk(4)], {"recency_window": 4})
    assert [text == PAGE for text in contents(result.messages)] == [False, False, True]
    assert result.compression.messages_deduped == 2
    assert all("turnfold" not in text for text in contents(compress(result.messages[-2:], {"dedup": False}).messages))


def test_nearly_the_same() -> None:
    messages = [*read_page(0), *read_page(1, NEARLY), *talk(4)]
    assert compress(messages).compression.messages_fuzzy_deduped == 0
    result = compress(messages, {"fuzzy_dedup": True})
    assert result.compression.messages_fuzzy_deduped == 1
    first, second = contents(result.messages)
    assert second == NEARLY
    assert "nearly the same" in first
    assert "message u1" in first
    assert compress(messages, {"fuzzy_dedup": True, "fuzzy_threshold": 0.99}).compression.messages_fuzzy_deduped == 0


def _logs(count: int) -> list[Message]:
    line = "2026-02-03 04:05:06 INFO worker is idle and waits for the next job to come\n"
    texts = (f"{line * (9 + n % 3)}run {n} took {n % 17} s\n" for n in range(count))
    return [{"role": "tool", "tool_call_id": f"c{n}", "content": text} for n, text in enumerate(texts)]


def _reports(count: int) -> list[Message]:
    return [m for n in range(count) for m in read_page(n, PAGE.replace(f"sample {7 * (n % 29)} ", "sample of mine "))]


@pytest.mark.parametrize("share", [None, 0.5, 0.1])
@pytest.mark.parametrize("messages", [_logs(40), _reports(15), _reports(2), talk(30)], ids=["logs", "reports", "two", "talk"])
def test_near_references_never_make_it_larger(messages: list[Message], share: float | None) -> None:
    budget = None if share is None else int(share * sum(map(default_token_counter, messages)))
    sizes = []
    for fuzzy in (True, False):
        result = compress([*messages, *talk(4)], {"fuzzy_dedup": fuzzy, "token_budget": budget})
        sizes.append((result.fits is False, len(text_of(result.messages)) if budget is None else 0))
        assert uncompress(result).messages == [*messages, *talk(4)]
    assert sizes[0] <= sizes[1]


def test_a_reference_never_leads_to_a_reference() -> None:
    pages = [*read_page(0), *read_page(1, NEARLY), *read_page(2), *read_page(3, NEARLY), *talk(4)]
    result = compress(pages, {"fuzzy_dedup": True})
    texts = contents(result.messages)
    assert [text.startswith("[turnfold") for text in texts] == [True, True, True, False]
    assert all("message u3" in text for text in texts[:3])
    assert uncompress(result).messages == pages


def test_short_texts_are_no_references() -> None:
    result = compress([*read_page(0, "x" * 199), *read_page(1, "x" * 199), *talk(4)])
    assert result.compression.messages_deduped == 0


# --- ids, provenance, trace ---------------------------------------------------------------------------------------------


def test_duplicate_ids_destroy_nothing() -> None:
    messages = [{**m, "id": "same", "index": n, "content": f"{m['content']} It is day {n}."} for n, m in enumerate(talk(20))]
    result = compress(messages)
    assert len(result.verbatim) == 16
    assert uncompress(result).messages == messages


def test_provenance_and_its_chain() -> None:
    messages = [{**m, "id": f"m{n}"} for n, m in enumerate(talk(20))]
    result = compress(messages, {"source_version": 7})
    summary = result.messages[0]
    found = summary["metadata"]["turnfold"]
    assert found["ids"] == [f"m{n}" for n in range(15)]
    assert (found["version"], summary["id"]) == (7, found["summary_id"])
    assert "parent_ids" not in found
    assert set(result.verbatim) == {f"m{n}" for n in range(16)}
    assert strip_provenance(result.messages)[0].keys() == {"id", "role", "content"}
    again = compress([*result.messages, *talk(8)], {"source_version": 8, "recency_window": 2})
    chained = again.messages[0]["metadata"]["turnfold"]
    assert found["summary_id"] in chained["parent_ids"]
    assert uncompress(again).messages == [*result.messages, *talk(8)]
    deep = uncompress(again.messages, {**result.verbatim, **again.verbatim}, recursive=True)
    assert deep.messages == [*messages, *talk(8)]


def test_the_summary_id_can_stand_in_the_text() -> None:
    messages = [*talk(20), *read_page(0), *read_page(1), *talk(4)]
    result = compress(messages, {"embed_summary_id": True})
    made = [(m["content"], found) for m in result.messages if (found := provenance_of(m))]
    assert len(made) > 2
    assert all(found.summary_id in text for text, found in made)
    plain = [(m["content"], provenance_of(m)) for m in compress(messages).messages]
    assert not any(found.summary_id in text for text, found in plain if found)


def test_missing_originals_are_named_and_nothing_is_emptied() -> None:
    result = compress(talk(20))
    empty = uncompress(result.messages, {})
    assert empty.messages == result.messages
    assert set(empty.missing_ids) == set(result.verbatim)
    assert empty.messages_expanded == 0
    assert empty.messages_passthrough == len(result.messages)
    assert uncompress(result.messages, dict(result.verbatim).get).messages == talk(20)


def test_originals_that_refer_to_each_other_do_not_restore_for_ever() -> None:
    own = {"role": "user", "content": "x", "metadata": {"turnfold": {"ids": ["k"], "summary_id": "s", "version": 0}}}
    assert uncompress([own], {"k": own}, recursive=True).messages == [own]
    wide = [{**own, "metadata": {"turnfold": {"ids": [f"k{n}"] * 100, "summary_id": f"s{n}", "version": 0}}} for n in range(5)]
    with pytest.raises(InvalidInput, match="more than"):
        uncompress(wide[:1], {f"k{n}": wide[n + 1] for n in range(4)}, recursive=True)


def test_the_trace_says_what_was_done_and_why() -> None:
    tool = {"role": "tool", "tool_call_id": "c", "content": "2026-01-01 INFO all is well and fine here\n" * 90}
    messages = [{"role": "system", "content": "Rules."}, *talk(9), *read_page(0), *read_page(1), tool, *talk(4)]
    trace = compress(messages, {"trace": True}).trace
    assert trace is not None
    actions = {decision.action for decision in trace}
    assert actions == {"kept", "merged", "shortened", "reference"}
    assert trace[0].reason == "role system is preserved"
    assert trace[-1].reason == "inside the recency window"
    assert all(
        decision.reason and decision.after <= sum(d.before for d in trace if d.into == decision.into) for decision in trace
    )
    assert all(bool(decision.id) == (decision.action != "kept") for decision in trace)


def test_what_came_in_is_not_shared_with_what_is_kept() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": " ".join(CHAT * 9)}]}, *talk(4)]
    before = json.dumps(messages)
    result = compress(messages)
    messages[0]["content"][0]["text"] = "overwritten"
    assert json.dumps(uncompress(result).messages) == before


# --- E7 ---------------------------------------------------------------------------------------------------------------


def test_what_fits_is_unchanged() -> None:
    result = compress(talk(10), {"token_budget": 100_000})
    assert (result.messages, result.fits, result.recency_window, dict(result.verbatim)) == (talk(10), True, 10, {})


@pytest.mark.parametrize(("count", "share"), every(2, [(400, 0.7), (400, 0.4), (400, 0.2), (400, 0.05), (1600, 0.02)]))
def test_thousands_of_messages_fit(count: int, share: float) -> None:
    messages = chat(count)
    whole = sum(map(default_token_counter, messages))
    result = compress(messages, {"token_budget": int(share * whole)})
    assert result.fits
    assert result.token_count is not None
    assert 0.3 * share * whole <= result.token_count <= share * whole
    window = result.recency_window or 0
    assert result.messages[len(result.messages) - window :] == messages[count - window :]


def test_the_mildest_window_is_found() -> None:
    messages = chat(200)
    budget = sum(map(default_token_counter, messages)) // 2
    result = compress(messages, {"token_budget": budget})
    assert result.recency_window is not None
    assert (result.token_count or 0) <= budget
    wider = compress(messages, {"recency_window": result.recency_window + 2})
    assert sum(map(default_token_counter, strip_provenance(wider.messages))) > budget


def test_the_window_is_not_shrunk_below_its_bound() -> None:
    messages = chat(100)
    result = compress(messages, {"token_budget": 50, "min_recency_window": 6, "force_converge": True})
    assert not result.fits
    assert result.recency_window == 6
    assert result.messages[-6:] == messages[-6:]


def test_convergence_cuts_no_fence_and_no_pair() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    tools = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": " ".join(CHAT * 50)},
    ]
    answer = {"role": "assistant", "content": f"{' '.join(CHAT * 9)}\n\n{FENCE}\n\n{' '.join(CHAT * 9)}"}
    messages: list[Any] = [*talk(1), *tools, answer, *talk(4)]
    tight = compress(messages, {"token_budget": 300, "min_recency_window": 4})
    forced = compress(messages, {"token_budget": 300, "min_recency_window": 4, "force_converge": True, "trace": True})
    assert not tight.fits
    assert forced.trace is not None
    assert "cut" in {decision.action for decision in forced.trace}
    assert forced.messages[1] == tools[0]
    assert forced.messages[2]["tool_call_id"] == "c"
    assert FENCE in text_of(forced.messages)
    assert (forced.token_count or 0) < (tight.token_count or 0)
    assert uncompress(forced).messages == messages
    window = sum(default_token_counter(m) for m in messages[-4:])
    least = compress(messages, {"token_budget": window + 9, "min_recency_window": 4, "force_converge": True})
    assert least.fits
    assert text_of(least.messages).count("```") == 0
    assert all(message["content"] or message.get("tool_calls") for message in least.messages)


@pytest.mark.parametrize("options", [{}, {"fuzzy_dedup": True}, {"force_converge": True}])
@pytest.mark.parametrize("share", [None, 0.4, 0.02])
def test_work_is_linear(options: dict[str, Any], share: float | None) -> None:
    def compressed(messages: list[Message]) -> None:
        budget = None if share is None else int(share * sum(map(default_token_counter, messages)))
        compress(messages, CompressOptions(**options, token_budget=budget))

    assert_linear(compressed, chat, 24)


def test_output_is_read_once_for_all_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def reading(text: str) -> list[Span]:
        read.append(text)
        return parts(text)

    monkeypatch.setattr("turnfold.compression.shorten.registry.parts", reading)
    logs = ["\n".join(f"2026-01-01 10:00:{n:02} INFO pump {i}-{n} holds {n * i} bar" for n in range(60)) for i in range(20)]
    messages: list[Message] = [{"role": "tool", "tool_call_id": f"c{i}", "content": log} for i, log in enumerate(logs)]
    whole = sum(map(default_token_counter, messages))
    windows = [compress(messages, {"token_budget": int(share * whole)}).fits for share in (0.8, 0.5, 0.2)]
    assert windows == [True, True, True]
    read.clear()
    compress(messages, {"token_budget": int(0.2 * whole)})
    assert sorted(read) == sorted(set(read))
    assert set(read) == set(logs)


def test_one_giant_message_is_linear() -> None:
    assert_linear(
        lambda text: compress([{"role": "user", "content": text}], {"recency_window": 0}),
        lambda size: " ".join(chat(1)[0]["content"] for _ in range(size)),
        30,
    )


def test_what_stands_for_more_than_half_a_million_messages_is_refused_at_once() -> None:
    def standing_for(number: int) -> Message:
        name = {"ids": ["gone"] * number, "summary_id": "s", "version": 1, "result_id": "r"}
        return {"role": "user", "content": "All of it.", "metadata": {KEY: name}}

    assert uncompress([standing_for(100_000)], {}).missing_ids == ("gone",)
    with pytest.raises(InvalidInput, match="500,000"):
        uncompress([standing_for(1_000_001)], {})
