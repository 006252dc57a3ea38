"""The prefix classifier and the replay driver tell good folds from bad ones.

The folds are made for the purpose, each breaking or keeping law 4 in its own way. The product's fold is tested elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given

from tests.support.bodies import Message, cuts, encode, last_user, messages_of
from tests.support.cases import each
from tests.support.effort import draws
from tests.support.prefix import Kind, classify
from tests.support.replay import Move, play, replays, requests_of, rewrites, steps

CHAT: list[Message] = [
    {"role": "system", "content": "Be brief."},
    *(
        message
        for i in range(12)
        for message in (
            {"role": "user", "content": f"Question {i}: where is crate {i * 37}?"},
            {"role": "assistant", "content": f"In bay {i * 11}, since {2000 + i}."},
        )
    ),
]
AGENT: list[Message] = [
    {"role": "user", "content": "Find the leak."},
    *(
        message
        for i in range(6)
        for message in (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{i}", "type": "function", "function": {"name": "look"}}],
            },
            {"role": "tool", "tool_call_id": f"c{i}", "content": f"valve {i} is dry"},
        )
    ),
]


def editing(change: Callable[[list[Message]], list[Message]]) -> Callable[[bytes], bytes]:
    def fold(body: bytes) -> bytes:
        parsed: dict[str, Any] = json.loads(body)
        return encode(change(parsed["messages"]), model=parsed["model"])

    return fold


def behind_last_user(messages: list[Message]) -> list[Message]:
    """Recall behind the last user's own text; gone in the next request."""
    at = last_user(messages)
    return [m | {"content": m["content"] + "\n\n<quoted>bay 11</quoted>"} if i == at else m for i, m in enumerate(messages)]


def before_last_user(messages: list[Message]) -> list[Message]:
    at = last_user(messages)
    return [m | {"content": "<quoted>bay 11</quoted>\n\n" + m["content"]} if i == at else m for i, m in enumerate(messages)]


def by_epochs(messages: list[Message]) -> list[Message]:
    """Every tenth message the ten before it are dropped: rare events, a stable prefix between them."""
    return messages[:1] + messages[1 + (len(messages) - 2) // 10 * 10 :]


def by_window(messages: list[Message]) -> list[Message]:
    """The last five: every request is a rewrite."""
    return messages[:1] + messages[1:][-5:]


def stamped(messages: list[Message]) -> list[Message]:
    return [messages[0] | {"content": f"{messages[0]['content']} It is turn {len(messages)}."}, *messages[1:]]


def as_parts(messages: list[Message]) -> list[Message]:
    at = last_user(messages)
    recall = [{"type": "text", "text": "<quoted>bay 11</quoted>"}]
    return [
        m | {"content": [{"type": "text", "text": m["content"]}, *(recall if i == at else [])]} if m["role"] == "user" else m
        for i, m in enumerate(messages)
    ]


FOLDS: list[tuple[Callable[[list[Message]], list[Message]], int, bool]] = [
    # fold, rewrites in the twelve requests of CHAT, whether an extension drops something
    (lambda messages: messages, 0, False),
    (behind_last_user, 0, True),
    (as_parts, 0, True),
    (before_last_user, 11, True),
    (by_epochs, 2, False),
    (by_window, 9, False),
    (stamped, 11, False),
]


@each(("change", "events", "drops"), FOLDS)
def test_folds_are_told_apart(change: Callable[[list[Message]], list[Message]], events: int, drops: bool) -> None:
    exchanges = play(requests_of(CHAT), editing(change))
    assert len(exchanges) == 12
    assert len(rewrites(exchanges)) == events
    kept = [step for step in steps(exchanges) if step.kind is not Kind.REWRITE]
    assert any(step.lost for step in kept) == (drops and bool(kept))


def test_a_tool_loop_keeps_what_stands_under_its_user_message() -> None:
    exchanges = play(requests_of(AGENT), editing(behind_last_user))
    assert len(exchanges) == 7
    assert {step.kind for step in steps(exchanges)} == {Kind.EXTENSION}
    assert not any(step.lost for step in steps(exchanges))


def test_results_that_change_under_a_user_message_are_lost() -> None:
    def counted(messages: list[Message]) -> list[Message]:
        return [m | {"content": f"{len(messages)} {m['content']}"} if m["role"] == "tool" else m for m in messages]

    assert all(step.lost for step in steps(play(requests_of(AGENT), editing(counted)))[1:])


def test_requests_are_cut_where_a_client_sends() -> None:
    assert cuts(CHAT) == list(range(2, 26, 2))
    assert cuts(AGENT) == [1, 3, 5, 7, 9, 11, 13]


@each(
    ("move", "kinds", "parents"),
    [
        (Move("retry", 5), [Kind.IDENTICAL], [5]),
        (Move("regenerate", 5, "In no bay."), [Kind.IDENTICAL], [5]),
        (Move("edit", 5, "Where is the cat?"), [Kind.EXTENSION], [4]),
        (Move("branch", 5, "And the cat?", back=3), [Kind.EXTENSION, Kind.EXTENSION], [2, 6]),
    ],
)
def test_each_move_of_a_client_is_paired_with_its_predecessor(move: Move, kinds: list[Kind], parents: list[int]) -> None:
    exchanges = play(requests_of(CHAT, [move]), lambda body: body)
    added = exchanges[6 : 6 + len(kinds)]
    assert [one.parent for one in added] == parents
    assert [
        classify(exchanges[p].received, exchanges[p].forwarded, one.forwarded).kind for one, p in zip(added, parents, strict=True)
    ] == kinds
    last = messages_of(exchanges[-1].received)
    assert (move.text in str(last)) == (move.kind in {"regenerate", "edit"})
    assert not rewrites(exchanges)


@draws(6)
@given(replays())
def test_what_is_passed_on_unchanged_never_breaks_the_prefix(requests: list[list[Message]]) -> None:
    exchanges = play(requests, lambda body: body)
    assert not rewrites(exchanges)
    assert not any(step.lost for step in steps(exchanges))


@each(
    ("before", "after", "kind"),
    [
        (["ok"], ["ok", "fine", "next"], Kind.EXTENSION),
        (["ok\n\n<quoted>x</quoted>"], ["ok", "fine", "next"], Kind.EXTENSION),
        (["ok"], ["okay", "fine", "next"], Kind.EXTENSION),
        (["ok"], ["no", "fine", "next"], Kind.REWRITE),
        (["A summary that is ok.\n\nok"], ["A summary that is ok.\n\nok", "fine", "next"], Kind.EXTENSION),
        (["A summary that is ok.\n\nok"], ["A summary that is ok and new.\n\nok", "fine", "next"], Kind.REWRITE),
        (["nothing of it"], ["nothing of it!", "fine", "next"], Kind.REWRITE),
        (["ok"], [], Kind.REWRITE),
    ],
)
def test_a_request_extends_another_if_it_keeps_the_users_own_text(before: list[str], after: list[str], kind: Kind) -> None:
    def body(texts: list[str]) -> bytes:
        return encode([{"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(texts)])

    assert classify(body(["ok"]), body(before), body(after)).kind is kind


def test_the_users_own_parts_and_keys_count() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    mark = {"cache_control": {"type": "ephemeral"}}

    def body(*parts: Message, **keys: Any) -> bytes:
        return encode([{"role": "user", "content": list(parts), **keys}])

    text, recall = {"type": "text", "text": "Look"}, {"type": "text", "text": "<quoted/>"}
    received = body(text, image)
    sent = body(text, image, recall)
    assert classify(received, sent, sent).kind is Kind.IDENTICAL
    assert classify(received, sent, body(text, image, {"type": "text", "text": "else"})).kind is Kind.EXTENSION
    assert classify(received, sent, body(text, recall)).kind is Kind.REWRITE
    assert classify(received, sent, body(text | mark, image)).kind is Kind.REWRITE
    assert classify(received, sent, body(text, image, name="x")).kind is Kind.REWRITE


def test_tools_stand_in_front_of_the_messages() -> None:
    one, other = (encode(CHAT[:2], tools=[{"type": "function", "function": {"name": name}}]) for name in "ab")
    assert classify(one, one, other).kind is Kind.REWRITE
    assert classify(one, one, encode(CHAT[:4])).kind is Kind.REWRITE
