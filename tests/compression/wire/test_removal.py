"""Messages left out of a body, whether they are its elements, runs of these, or parts of one."""

from __future__ import annotations

import json
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.wire.conversation import Conversation, MessageGroup, Place
from turnfold.compression.wire.edits import apply
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.message import Messages
from turnfold.compression.wire.removal import removals

#: An array of messages: a number is an element that is a message, a list one whose elements are runs of so many values.
Layout = list[int | list[int]]
SPACE = ("", " ", "\n  ")


class NumberedBody(NamedTuple):
    """A body of numbered messages, and what each element of its array holds."""

    conversation: Conversation
    layout: Layout


def body_of(layout: Layout, space: str = "", outside: str = "") -> NumberedBody:
    """A body in which message n is a run of the string "n", with a message outside of the array where one is asked for."""
    comma = f"{space},{space}"
    spans: list[Place] = []
    groups: list[MessageGroup] = []
    text = "{"

    def run(length: int) -> None:
        nonlocal text
        start = len(text)
        text += comma.join([f'"{len(spans)}"'] * length)
        spans.append((start, len(text)))

    if outside:
        text += '"system":'
        run(1)
        text += ","
    start = len(text) + len('"all":')
    text += f'"all":[{space}'
    for number, element in enumerate(layout):
        text += comma if number else ""
        if isinstance(element, int):
            run(element)
            continue
        first, begin = len(spans), len(text)
        text += f'{{"role":"user","content":[{space}'
        for inner, length in enumerate(element):
            text += comma if inner else ""
            run(length)
        text += f'{space}],"id":7}}'
        groups.append(MessageGroup((begin, len(text)), first, len(spans)))
    text += f"{space}]"
    end = len(text)
    text += ',"model":"m"}'
    return NumberedBody(
        Conversation(CHAT, text, Messages(), tuple(spans), "m", history=(start, end), groups=tuple(groups)), layout
    )


def left(body: NumberedBody, gone: set[int], first: int) -> list[str | list[str]]:
    """What is left of the array: names of messages, each as often as its run is long."""
    out: list[str | list[str]] = []
    at = first
    for element in body.layout:
        lengths = [element] if isinstance(element, int) else element
        names = [str(i) for i, n in enumerate(lengths, at) if i not in gone for _ in range(n)]
        at += len(lengths)
        if isinstance(element, int):
            out += names
        elif names:
            out.append(names)
    return out


layouts = st.lists(st.integers(1, 3) | st.lists(st.integers(1, 3), min_size=1, max_size=4), max_size=6)


@given(layouts, st.sampled_from(SPACE), st.sampled_from(["", "s"]), st.data())
def test_what_goes_goes_and_all_else_stays(layout: Layout, space: str, outside: str, data: st.DataObject) -> None:
    body = body_of(layout, space, outside)
    conversation, first = body.conversation, len(outside)
    indices = range(first, len(conversation.spans))
    gone = data.draw(st.sets(st.sampled_from(indices))) if indices else set[int]()
    after = json.loads(apply(conversation.text, removals(conversation, [(i, i + 1) for i in gone])))
    assert list(after) == list(json.loads(conversation.text))
    assert [e if isinstance(e, str) else e["content"] for e in after["all"]] == left(body, gone, first)
    assert all(e["id"] == 7 for e in after["all"] if isinstance(e, dict))


@each(
    ("dropped", "after"),
    [
        ([(0, 1)], '[{"content":["1","1","2"]},"3"]'),
        ([(0, 2)], '[{"content":["2"]},"3"]'),
        ([(1, 3)], '[{"content":["0"]},"3"]'),
        ([(0, 3)], '["3"]'),
        ([(3, 4)], '[{"content":["0","1","1","2"]}]'),
        ([(2, 4)], '[{"content":["0","1","1"]}]'),
        ([(1, 2), (0, 1), (2, 4)], "[]"),
        ([], '[{"content":["0","1","1","2"]},"3"]'),
    ],
)
def test_an_element_whose_parts_all_go_is_left_out_itself(dropped: list[tuple[int, int]], after: str) -> None:
    conversation = body_of([[1, 2, 1], 1]).conversation
    text = apply(conversation.text, removals(conversation, dropped))
    assert text.replace('"role":"user",', "").replace(',"id":7', "") == f'{{"all":{after},"model":"m"}}'
