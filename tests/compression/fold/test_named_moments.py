"""Of a pasted transcript, log or chat the lines are there that stand at the time which a question names, or at an end of it.

These tests cover texts pasted into a talk, and questions long after. They leave out dates of messages (``recall.meant.dates``).
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import crosswise
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.moments import lines_at, named_moment, timed_lines

_COUNT: Final = 160
_SPEAKERS: Final = ("Ana", "Bram", "Chidi")


def _said(n: int) -> str:
    return prose(6000 + n, "en", 1).replace("\n", " ").strip()


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


_TEXTS: Final = {
    "captions": "WEBVTT\n\n" + "\n".join(f"{_clock(n * 7)}.000 --> {_clock(n * 7 + 6)}.500\n{_said(n)}\n" for n in range(_COUNT)),
    "transcript": "\n".join(f"[{n * 7 // 60:02}:{n * 7 % 60:02}] {_SPEAKERS[n % 3]}: {_said(n)}" for n in range(_COUNT)),
    "log": "\n".join(f"2026-03-04 {_clock(36_000 + n * 7)} INFO {_said(n)}" for n in range(_COUNT)),
    "chat": "\n".join(f"{_clock(36_000 + n * 7)} {_SPEAKERS[n % 3]}: {_said(n)}" for n in range(_COUNT)),
}


def _sent(text: str, question: str, share: float | None = None) -> str:
    said: list[Message] = [
        {"role": "user", "content": f"Please read this:\n\n{_TEXTS[text]}"},
        {"role": "assistant", "content": "I have read it."},
    ]
    for n in range(40):
        said += [{"role": "user", "content": prose(n, "en", 3)}, {"role": "assistant", "content": prose(500 + n, "en", 6)}]
    return forwarded(said, question, share)


@each(
    ("text", "question", "numbers", "share"),
    crosswise(
        [
            (*row, share)
            for row in [
                ("captions", "What is said at 12:30?", [107]),
                ("captions", "Summarize minutes 8 to 9", range(69, 86)),
                ("captions", "What happens in the last two minutes?", range(142, 160)),
                ("transcript", "Was sagt sie um 05:10?", [44]),
                ("transcript", "What does Bram say between 3:00 and 4:00?", [n for n in range(26, 35) if n % 3 == 1]),
                ("log", "what happened at 10:05?", range(43, 51)),
                ("log", "Show what was logged from 10:05:00 to 10:05:30", range(43, 47)),
                ("chat", "What was Chidi's last message?", [158]),
                ("chat", "who wrote the first line?", [0]),
            ]
            for share in [None, 0.2]
        ],
        2,
    ),
)
def test_the_lines_of_the_time_that_is_named_are_there(text: str, question: str, numbers: range, share: float | None) -> None:
    sent = _sent(text, question, share)
    assert [n for n in numbers if _said(n) not in sent] == []


@each(
    "message",
    [
        "What was my last message?",
        "I'll be there at noon",
        "the ratio is 3 to 4",
        "Let's meet on the last day",
        "x" * 400,
        "your first answer was right",
    ],
)
def test_other_messages_name_no_moment(message: str) -> None:
    assert named_moment(message) is None


def test_of_several_days_a_time_alone_is_that_of_each() -> None:
    text = "\n".join(f"2026-03-0{1 + n // 10} 10:{n % 10:02}:00 INFO {_said(n)}" for n in range(40))
    for question, numbers in (("what happened at 10:05?", (5, 15, 25, 35)), ("what happened at 10:05 on 3 March?", (25,))):
        moment = named_moment(question)
        assert moment is not None
        found = [text[slice(*line.place)].strip() for line in lines_at(timed_lines(text), moment)]
        assert [line.split("INFO ")[1] for line in found] == [_said(n) for n in numbers]


def test_halves_of_the_day_count() -> None:
    text = "\n".join(f"[{1 + n // 30}:{n % 30 * 2:02} PM] Ana: {_said(n)}" for n in range(90))
    moment = named_moment("what was said at 14:20?")
    assert moment is not None
    assert [text[slice(*line.place)].strip() for line in lines_at(timed_lines(text), moment)] == [f"[2:20 PM] Ana: {_said(40)}"]
