"""Turns of a conversation that stands in one text.

These tests show what is one, and how recall cuts it. They leave out what a speaker's label governs (``test_ties``).
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.memo import Memo, digest
from turnfold.compression.text.dialogue.turns import several_speak, turn_starts
from turnfold.compression.text.passages import passages
from turnfold.compression.text.quotes import Source

MEETING = "\n".join(
    f"{name}: {said}"
    for name, said in (
        ("Project Manager", "Okay, welcome back. We have twenty minutes for the lamp."),
        ("Industrial Designer", "The stand is cast aluminium. It weighs four kilos, which is too much for a shelf."),
        ("Marketing", "Mm."),
        ("Project Manager", "Then what would you use instead of it?"),
        ("Industrial Designer", "Bent ash. It costs about the same, but nobody here has bent any for years."),
        ("Marketing", "People would pay more for that. Ash is what they ask for in all of the shops that we have visited."),
        ("Project Manager", "Fine, ash it is, unless the samples crack. Who orders the wood?"),
        ("Marketing", "I do, on Monday."),
        ("Industrial Designer", "Take the long boards, please, and have them sawn there: our own saw is too short for them."),
    )
)
WHATSAPP = "\n".join(f"[12/03/2025, 14:{i:02}:11] {'Anna 🌻' if i % 2 else 'Rui'}: line {i} of what we said" for i in range(30))
SETTINGS = "\n".join(f"{key}: value of it" for key in ("Host", "Port", "User", "Key", "Retries", "Timeout", "Proxy", "Agent"))
RECORDS = "\n".join(f"name: item {i}\nprice: {i} euros" for i in range(20))
ARTICLE = "\n".join(f"Paragraph {i} speaks of boats: they were built of oak, and later of larch." for i in range(20))


@each(
    ("text", "number"),
    [
        (MEETING, 9),
        (f"Minutes of the second meeting\n{MEETING}", 9),
        (WHATSAPP, 30),
        ("[1:08 pm on 11 August, 2023]\nJohn: I took a trip.\nJohn: It was amazing.\nJohn: Shall I tell you?", 3),
        ("Мария: Когда?\nИван: В среду.\nМария: Хорошо.\nИван: До встречи.", 4),
        ("安娜：几点？\n本：三点。\n安娜：好。\n本：再见。", 4),
        (SETTINGS, 0),
        (RECORDS, 0),
        (ARTICLE, 0),
        ("Anna: one line alone", 0),
        ("", 0),
    ],
)
def test_a_conversation_in_one_text_has_turns(text: str, number: int) -> None:
    assert len(turn_starts(text)) == number


def test_a_turn_of_a_transcript_is_one_passage_and_a_long_one_is_cut_by_itself() -> None:
    long = "Marketing: " + "We have been to twelve shops and asked for lamps of ash, and this is what they said. " * 12
    text = f"Minutes\n{MEETING}\n{long.rstrip()}\n{MEETING}"

    found = [text[start:end] for start, end in passages(text)]

    assert found[:10] == ["Minutes", *MEETING.split("\n")]
    assert found[-9:] == MEETING.split("\n")
    assert len(found) > 25
    assert " ".join(found[10:-9]) == long.rstrip()


_SAID = st.tuples(
    st.sampled_from(["user", "assistant", "tool"]), st.sampled_from(["Anna: ", "Rui: ", ""]), st.sampled_from(["", "Ann"])
)


@given(st.lists(_SAID, max_size=30), st.lists(st.integers(0, 30), max_size=6))
def test_whether_several_speak_is_the_same_whatever_was_asked_before(
    said: list[tuple[str, str, str]], lengths: list[int]
) -> None:
    sources = [Source(role, f"{label}line {i}", digest(role, label, str(i)), name) for i, (role, label, name) in enumerate(said)]
    memo = Memo()
    for length in lengths:
        assert several_speak(sources[:length], memo) == several_speak(sources[:length], Memo())


def test_several_speak_once_both_sides_have_names_and_no_longer_when_most_have_none() -> None:
    memo = Memo()
    named = [
        Source(("user", "assistant")[i % 2], f"{('Anna', 'Rui')[i % 2]}: line {i}", digest("named", str(i))) for i in range(12)
    ]
    plain = [Source(("user", "assistant")[i % 2], f"line {i}", digest("plain", str(i))) for i in range(20)]
    assert several_speak(named, memo)
    assert not several_speak([*named, *plain], memo)
    assert several_speak([*named, *plain[:4]], memo)
    assert several_speak([*plain, Source("user", "a", digest("a"), "Anna"), Source("user", "b", digest("b"), "Rui")], memo)
