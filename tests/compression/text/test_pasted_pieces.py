"""Which messages are the pieces of one text: by the line above each."""

from __future__ import annotations

from tests.support.cases import each
from tests.support.words import prose
from turnfold.compression.memo import Memo, digest
from turnfold.compression.text.dialogue.pasted_pieces import pieces_with
from turnfold.compression.text.quotes import Source

#: Texts that nothing ties but the line above them.
_FIRST, _SECOND = (prose(n, "en", 60) for n in (1, 2))


def _pieces(first: str, second: str) -> tuple[int, ...]:
    said = (("user", f"{first}\n{_FIRST}"), ("assistant", "Got it."), ("user", f"{second}\n{_SECOND}"))
    return pieces_with([Source(role, text, digest(text)) for role, text in said], 0, Memo())


@each(
    ("first", "second"),
    [
        ("Part 1 of 2:", "Part 2 of 2:"),
        ("Contract [1/3]", "Contract [2/3]"),
        ("1/3", "2/3"),
        ("第一部分", "第二部分"),
        ("第1段：", "第2段："),
        ("Le contrat :", "Suite du contrat :"),
        ("合同：", "继续："),
        ("The contract:", "(continued)"),
    ],
)
def test_two_pieces_of_one_text_belong_together(first: str, second: str) -> None:
    assert _pieces(first, second) == (0, 2)


@each(
    ("first", "second"),
    [
        ("Minutes 11/12", "Minutes 12/12"),
        ("Add 1/2 cup sugar", "Add 2/3 cup flour"),
        ("1部屋のアパート", "2部屋のアパート"),
        ("The code:", "Test suite output:"),
        ("合同：", "继续教育学院通知"),
        ("コード:", "残り時間を計算する関数:"),
    ],
)
def test_texts_that_stand_alone(first: str, second: str) -> None:
    assert _pieces(first, second) == ()
