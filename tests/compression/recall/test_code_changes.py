"""Which answers change a block of code, and what is quoted of them.

These tests cover exchanges right behind a block. They leave out requests for the code itself (``fold/test_works.py``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.cases import each
from turnfold.compression.recall.wholes.code_changes import code_changes
from turnfold.compression.text.quotes import Source

_BLOCK: Final = "```python\ndef total(items):\n    return sum(item.price for item in items)\n```"
_CHANGE: Final = "```python\ndef total(items, rate):\n    return rate * sum(item.price for item in items)\n```"


def _changes(asked: Source, answer: str) -> dict[int, tuple[tuple[int, int], ...]]:
    said = [Source("user", "Write total.", b""), Source("assistant", _BLOCK, b""), asked, Source("assistant", answer, b"")]
    return code_changes(said, 1, [(0, len(_BLOCK))])


@each(
    ("role", "asked", "is_change"),
    [
        ("user", "Add a rate.", True),
        ("user", "Add a rate.".ljust(200, "!"), True),
        ("user", "Add a rate.".ljust(201, "!"), False),
        ("user", "What would it be with a rate?", False),
        ("tool", "Add a rate.", False),
    ],
)
def test_an_answer_to_a_short_request_changes_it(role: str, asked: str, *, is_change: bool) -> None:
    assert bool(_changes(Source(role, asked, b""), _CHANGE)) is is_change


@pytest.mark.parametrize("answer", [_CHANGE.replace("python", "sql"), "As you like."])
def test_other_code_and_none_change_nothing(answer: str) -> None:
    assert _changes(Source("user", "Add a rate.", b""), answer) == {}


def test_of_a_long_answer_the_block_is_quoted_with_what_stands_before_it() -> None:
    above, below = "It says a lot about sums. " * 12, "There is more to say about rates. " * 8
    answer = f"{above}\n\nSo it is with a rate:\n\n{_CHANGE}\n\n{below}"
    assert len(answer) > 500
    (((start, end),),) = _changes(Source("user", "Add a rate.", b""), answer).values()
    assert answer[start:end] == f"So it is with a rate:\n\n{_CHANGE}"
