"""Whoever asks what changed between two versions of a long text gets the places where they differ, from both.

These tests cover versions that have no room together. They leave out which version a message means (``test_versions``).
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose

_CHANGED: Final = {3: "The fee is 410 euros from May.", 11: "Nobody may leave before noon.", 15: "Pilots board at pier 7."}
_OTHER: Final = tuple(range(24))


def _text(language: str = "en") -> list[str]:
    return [f"{n}. {prose(7000 + n, language, 6)}" for n in _OTHER]


def _newer(paragraphs: list[str]) -> list[str]:
    return [_with(text, _CHANGED[n]) if n in _CHANGED else text for n, text in enumerate(paragraphs)]


def _with(paragraph: str, added: str) -> str:
    sentences = paragraph.split(". ")
    return ". ".join([*sentences[:3], added.removesuffix("."), *sentences[4:]])


def _gone(n: int, paragraphs: list[str]) -> str:
    return paragraphs[n].split(". ")[3]


def _talk(first: tuple[str, str], second: tuple[str, str], behind: int = 24) -> list[Message]:
    noise = [exchange(prose(n, "en", 3), prose(500 + n, "en", 7)) for n in range(6 + behind)]
    return [
        *exchange(*first),
        *(one for pair in noise[:6] for one in pair),
        *exchange(*second),
        *(o for p in noise[6:] for o in p),
    ]


_PASTED: Final = (
    ("Our contract:\n\n" + "\n\n".join(_text()), "I have read it."),
    ("They sent a new version of the contract:\n\n" + "\n\n".join(_newer(_text())), "I have read it too."),
)
_MADE: Final = (
    ("Write a long report on the harbour.", "# Report\n\n" + "\n\n".join(_text())),
    ("Correct the facts in the report, please.", "# Report\n\n" + "\n\n".join(_newer(_text()))),
)


@each(
    ("versions", "question"),
    [
        (_PASTED, "What changed between the two versions of the contract?"),
        (_PASTED, "Compare the new contract with the old one."),
        (_PASTED, "Was hat sich zwischen den beiden Fassungen des Vertrags geändert?"),
        (_PASTED, "两个版本的合同有什么不同？"),
        (_MADE, "What did you change in the report?"),
    ],
)
def test_where_versions_differ_is_there_of_both(versions: tuple[tuple[str, str], tuple[str, str]], question: str) -> None:
    sent = forwarded(_talk(*versions), question)
    assert [new for new in _CHANGED.values() if new.removesuffix(".") not in sent] == []
    assert [n for n in _CHANGED if _gone(n, _text()) not in sent] == []


def test_lines_of_code_that_differ_are_there_of_both() -> None:
    old = [f"    value_{n} = read(source_{n}, limit={n * 3})" for n in range(260)]
    new = [f"{line}  # checked twice" if n in (40, 200) else line for n, line in enumerate(old)]
    told = tuple("```python\ndef load():\n" + "\n".join(lines) + "\n```" for lines in (old, new))
    talk = _talk((f"My script:\n{told[0]}", "Fine."), (f"A colleague changed it:\n{told[1]}", "Fine."))
    sent = forwarded(talk, "What changed between the two versions of the code?")
    for n in (40, 200):
        assert sent.count(old[n].strip()) == 2
        assert f"{old[n].strip()}  # checked twice" in sent


def test_versions_with_little_in_common_are_compared_throughout() -> None:
    other = [f"{n}. {prose(8000 + n, 'en', 6)}" for n in _OTHER]
    second = ("They sent a new version of the contract:\n\n" + "\n\n".join(other), "I have read it too.")
    sent = forwarded(_talk(_PASTED[0], second), "What changed between the two versions of the contract?")
    begin = [paragraph.split(", ")[0] for paragraph in (*_text(), *other)]
    assert sum(one in sent for one in begin) > len(begin) / 2


def test_versions_of_something_else_quote_nothing_of_the_text() -> None:
    talk = _talk(_PASTED[0], ("Which languages do you know?", "Several."))
    sent = forwarded(talk, "What's different in the new version of Python?")
    assert sum(paragraph in sent for paragraph in _text()) <= 1
