"""Edits in every form that agents write are read from a message's text.

These tests cover `text.file_edits` alone. They leave out what folds make of them (``fold.test_file_state``).
"""

from __future__ import annotations

import json

import pytest

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.memo import Memo
from turnfold.compression.text.dialogue.replaced_lines import ReplacedLines
from turnfold.compression.text.file_edits import FileEdit, bare_line, file_edits
from turnfold.compression.text.quotes import Source


def _one(old: str, new: str, file: str) -> FileEdit:
    return FileEdit(frozenset({old}), frozenset({new}), file)


@each(
    "text",
    [
        "src/a/quota.py\n```python\n<<<<<<< SEARCH\nkeep = 1\nlimit = 3\n=======\nkeep = 1\nlimit = 5\n>>>>>>> REPLACE\n```",
        "<path>src/a/quota.py</path>\n<diff>\n------- SEARCH\nlimit = 3\n=======\nlimit = 5\n+++++++ REPLACE\n</diff>",
        "<path>quota.py</path>\n<<<<<<< SEARCH\nkeep = 1\nlimit = 3\n=======\nkeep = 1\nlimit = 5\n>>>>>>> REPLACE",
        "apply_patch *** Begin Patch\n*** Update File: src/a/quota.py\n@@\n keep = 1\n-limit = 3\n+limit = 5\n*** End Patch",
        'I see.\nEdit {"file_path": "/w/src/a/quota.py", "old_string": "limit = 3", "new_string": "limit = 5"}',
        'edit {"path": "a/quota.py", "edits": [{"oldText": "limit = 3", "newText": "limit = 5"}]}',
    ],
)
def test_each_form_tells_what_went_and_what_came(text: str) -> None:
    assert file_edits(text) == (_one("limit = 3", "limit = 5", "quota.py"),)


@each(
    "text",
    [
        "A title\n=======\n\nThen what was said below it.",
        'search {"query": "limit", "replace": 3}',
        "<<<<<<< SEARCH\nlimit = 3\nand no end of it",
        'call {"old": "a", "new": "a"}',
        'call {"old_string": "never closed',
        "",
    ],
)
def test_what_is_no_edit_tells_nothing(text: str) -> None:
    assert file_edits(text) == ()


@pytest.mark.parametrize("wrap", ["write {}", "<path>a/quota.py</path>\n<content>\n{}\n</content>"])
def test_a_whole_file_is_told_as_such(wrap: str) -> None:
    lines = [f"limit_{number} = {number}" for number in range(9)]
    content = "\n".join(lines)
    said = content if "<" in wrap else json.dumps({"path": "a/quota.py", "content": content})
    assert file_edits(wrap.format(said)) == (FileEdit(frozenset(), frozenset(lines), "quota.py", whole=True),)


def test_numbers_of_lines_are_no_part_of_them() -> None:
    lines = ("    12\tlimit = 3", "12→  limit = 3", "12 | limit = 3", "limit = 3")
    assert {bare_line(line) for line in lines} == {"limit = 3"}


_PATCH = "patch *** Begin Patch\n*** Update File: quota.py\n@@\n keep = 1\n-depth_limit = {}\n+depth_limit = {}\n*** End Patch"


@each(
    ("passage", "replaced"),
    [
        ("@@\n keep = 1\n-depth_limit = 3\n", True),
        ("@@\n keep = 1\n-depth_limit = 3\n+depth_limit = 500", True),
        ("*** Update File: quota.py", False),
    ],
)
def test_a_passage_of_a_patch_shows_what_was_replaced(passage: str, replaced: bool) -> None:
    first, second = (Source("assistant", _PATCH.format(*change), bytes([n])) for n, change in enumerate(((3, 500), (500, 7000))))
    assert ReplacedLines((first, second), Memo()).is_shown_in(0, passage) is replaced


def test_the_newest_patch_is_shown_whole_or_not_at_all() -> None:
    lines = ReplacedLines((Source("assistant", _PATCH.format(3, 500), b"1"),), Memo())
    assert not lines.is_shown_in(0, _PATCH.format(3, 500))
    assert lines.is_shown_in(0, "-depth_limit = 3")


def test_a_file_that_is_edited_and_read_over_and_over() -> None:
    """For each line of a read all later results were looked through, and all edits of such a line."""

    def conversation(size: int) -> list[Source]:
        made = []
        for i in range(size):
            said = {"path": "quota.py", "old_string": f"limit = {i:06}", "new_string": f"limit = {i + 1:06}"}
            read = f"# quota.py\nthe first line of it\nlimit = {i + 1:06}\n"
            made += [Source("assistant", f"edit {json.dumps(said)}", b"edit%d" % i), Source("tool", read, b"read%d" % i)]
        return made

    def ask(sources: list[Source]) -> None:
        replaced = ReplacedLines(sources, Memo())
        shown = [replaced.is_shown_in(i, source.text) for i, source in enumerate(sources) if source.role == "tool"]
        assert shown == [True] * (len(shown) - 1) + [False]

    assert_linear(ask, conversation, 150)


def test_of_a_conversation_that_grows_only_new_messages_are_read() -> None:
    """Else a request of a long one would look through all of it, though one message came."""
    looks = 0

    class Watched(Source):
        @property
        def text(self) -> str:
            nonlocal looks
            looks += 1
            return str(self[1])

    sources = [Watched("assistant" if i % 2 else "tool", f"line number {i}\nof quota.py", b"%d" % i) for i in range(100)]
    memo = Memo()
    ReplacedLines(sources[:99], memo)
    before, looks = looks, 0
    ReplacedLines(sources, memo)
    assert 0 < looks < before / 10


@pytest.mark.parametrize("number", [0, 1])
def test_a_message_of_many_edits_of_which_each_passage_shows_one(number: int) -> None:
    """Each passage was compared with each edit."""

    def ask(edits: list[str]) -> None:
        replaced = ReplacedLines([Source("assistant", "\n".join(edits), b"edits")], Memo())
        assert all(replaced.is_shown_in(0, edit) is not bool(number) for edit in edits)

    def edits(size: int) -> list[str]:
        return [f"<<<<<<< SEARCH\nlimit = {number * i}\n=======\nlimit = {-1 - i}\n>>>>>>> REPLACE" for i in range(size)]

    assert_linear(ask, edits, 800)
