"""What the chat made in several answers is there whole for who asks for all of it, as it stands now.

These tests cover code, a speech and a plan made part by part, requests long after. They leave out works of one answer
(``test_works``), several works of one kind (``recall/test_several``), what was said of a text (``test_remarks``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.several_works import asks_for_next_part, assembly_request


def _code(first: str, line: str, last: str) -> str:
    return "```js\n" + "\n".join([first, *(line.format(n) for n in range(12)), last]) + "\n```"


_BOT: Final = (
    (
        "I want a bot that tracks water. Start with the command handler.",
        _code("bot.command(() => {", "  slot({});", "});  // end A"),
    ),
    ("Also the storage layer.", _code("export function log(user) {", "  bump('s{}');", "}  // end B")),
    ("Then a reminder.", _code("cron.schedule('0 9 * * *', () => {", "  nudge(group{});", "});  // end C")),
    ("Send it at 8 instead of 9.", "```js\ncron.schedule('0 8 * * *', () => {\n```\nOnly the first line changes."),
)
_SPEECH: Final = (
    (
        "Write the opening of a speech for Nils.",
        "Nils let go of the bicycle. " + "He never told me why. " * 12 + "End A.",
    ),
    ("Now the middle part.", "They met over a jammed printer. " + "Nobody came to mend it. " * 12 + "End B."),
    ("And a closing with a toast.", "So raise your glasses. " + "To patience and to paper. " * 12 + "End C."),
)
_COURSE: Final = (
    ("Plan week 1 of a pottery course.", "Pinch pots and the story of clay. " + "Press with the thumb. " * 12 + "End A."),
    ("Week 2, please.", "Coils and slabs; bring a rolling pin. " + "Roll it twice. " * 12 + "End B."),
    ("And week 3.", "The wheel at last. " + "Centre it, then open it. " * 12 + "End C."),
)


def _sent(parts: tuple[tuple[str, str], ...], question: str) -> str:
    """What is forwarded long after the parts, which stand some exchanges apart."""
    talk: list[Message] = []
    for n, (request, answer) in enumerate(parts):
        talk += exchange(request, answer)
        talk += [one for k in range(3) for one in exchange(prose(10 * n + k, "en", 2), prose(500 + 10 * n + k, "en", 5))]
    talk += [one for k in range(40) for one in exchange(prose(100 + k, "en", 2), prose(700 + k, "en", 5))]
    return forwarded(talk, question)


@each(
    ("parts", "question", "needed"),
    [
        (_BOT, "Show me the whole bot in one file, please.", ("end A", "end B", "end C", "'0 8 * * *'")),
        (_BOT, "把所有代码合并到一个文件里。", ("end A", "end B", "end C", "'0 8 * * *'")),
        (_BOT, "Bot'un tüm kodunu tek dosyada birleştir.", ("end A", "end B", "end C", "'0 8 * * *'")),
        (_SPEECH, "Put the speech together.", ("bicycle", "End A.", "printer", "End B.", "glasses", "End C.")),
        (_SPEECH, "Traduis le discours complet en français.", ("bicycle", "End A.", "printer", "End B.", "glasses", "End C.")),
        (_COURSE, "Compile all the weeks into a single document.", ("Pinch pots", "End A.", "Coils", "End B.", "End C.")),
        (_COURSE, "Dame el plan completo del curso.", ("Pinch pots", "End A.", "Coils", "End B.", "End C.")),
    ],
)
def test_all_parts_are_there(parts: tuple[tuple[str, str], ...], question: str, needed: tuple[str, ...]) -> None:
    sent = _sent(parts, question)
    assert [one for one in needed if one not in sent] == []


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("put everything together in one file", True),
        ("gib mir die ganze geschichte am stück", True),
        ("show me the final version of the program", True),
        ("fasse den artikel zusammen", False),
        ("i put all my money into bonds", False),
        ("what is the capital of peru?", False),
    ],
)
def test_who_asks_for_all_of_something(said: str, *, asks: bool) -> None:
    request = assembly_request(said)
    assert (request is not None and request.is_sure) is asks


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("now the css", True),
        ("great, and the closing", True),
        ("chapter 2, please", True),
        ("第二章", True),
        ("i want a bot that tracks water", False),
        ("why is the sky blue?", False),
    ],
)
def test_who_asks_for_the_next_part(said: str, *, asks: bool) -> None:
    assert asks_for_next_part(said) is asks
