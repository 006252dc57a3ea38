"""A block goes into a message's JSON text and nothing else moves.

Lives here: cases and the law. Must not: whole requests.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.compression.errors import InvalidInput
from turnfold.compression.state import splice_block, with_block

BLOCK = '[state]\nuse: "a\\b"\n[end]'
TEXTS = st.text(max_size=9)
CONTENTS = TEXTS | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}), max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS, lambda v: st.lists(v, max_size=3) | st.dictionaries(TEXTS, v, max_size=3)
)


@given(
    CONTENTS, st.dictionaries(TEXTS, VALUES, max_size=3), st.dictionaries(TEXTS, VALUES, max_size=3), st.sampled_from([None, 1])
)
def test_only_the_content_grows(content: Any, before: dict[str, Any], behind: dict[str, Any], indent: int | None) -> None:
    message = {**before, "content": content, **behind}
    message["content"] = content
    text = json.dumps(message, indent=indent, ensure_ascii=indent is None)
    made = splice_block(text, BLOCK)
    assert json.loads(made) == {**message, "content": with_block(content, BLOCK)}
    added = len(made) - len(text)
    cut = next(n for n in range(len(text) + 1) if made[:n] + made[n + added :] == text)
    assert made[:cut] + made[cut + added :] == text


def test_odd_spellings_keep_their_bytes() -> None:
    text = '{ "n":1e400, "content" :\t[ ] , "content": "\\u00e9\\/", "d":{"content":"x"} }'
    assert splice_block(text, "B") == text.replace('"\\u00e9', '"B\\n\\n\\u00e9')
    assert splice_block('{"content":[ ]}', "B") == '{"content":[{"type":"text","text":"B\\n"} ]}'


@pytest.mark.parametrize("text", ['{"content":null}', '{"content":3}', "{}", '{"role":"user"}'])
def test_content_that_is_no_text_is_left_alone(text: str) -> None:
    assert splice_block(text, "B") == text


@pytest.mark.parametrize(
    "text", ["", "[]", '"x"', "{", '{"content"', '{"content":', '{"content":"x"', '{"content" "x"}', '{"a":nope}', "[" * 9999]
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        splice_block(text, "B")
    assert caught.value.field == "message"
