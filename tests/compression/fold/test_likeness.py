"""What vectors say of a question is a value of a fold like any other, bound to its conversation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import encode
from tests.support.cases import each
from turnfold.compression.fold import Folded, fold
from turnfold.compression.fold.likeness import cosines, language_of, likeness, passage_texts, private_parts, question_text
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions, Likeness
from turnfold.compression.text.private import Redactor
from turnfold.compression.wire.formats.chat import CHAT

ANSWER = "On Sundays she goes skiing beyond the ridge."
ASKED = "Which hobbies? Pallet 3."


def messages(question: str = ASKED) -> list[dict[str, str]]:
    told = []
    for i in range(60):
        told.append(
            {"role": "user", "content": f"Crate {i} is at gate {i * 3 % 11}, as Maria wrote to the depot; was it sealed?"}
        )
        told.append(
            {"role": "assistant", "content": f"Pallet {i * 7} left the depot by gate {i % 9}, and the driver signed for it."}
        )
    for i in range(36, 46):
        told[i]["content"] = f"It rained {i} times."
    told[41]["content"] = ANSWER
    return [*told, {"role": "user", "content": question}]


CONVERSATION = CHAT.read(encode(messages(), model="gpt-4o"), Memo())
USER = len(CONVERSATION.messages) - 1
MEMO = Memo()
OPTIONS = FoldOptions(budget=820, wants_likeness=True)


def vector(*numbers: int) -> bytes:
    return np.array(numbers, np.int8).tobytes()


def said(found: tuple[str, ...] = (ANSWER,)) -> Likeness:
    """Vectors of two dimensions: those of the texts found are like the question's."""
    own = {m.key: vector(*([9, 1] if m.text in found else [0, 99])) for m in CONVERSATION.messages}
    return likeness(CONVERSATION.messages, USER, vector(127, 0), own)


def quoted(folded: Folded) -> str:
    (recall,) = folded.recalls.values()
    return recall.text


def test_what_vectors_say_changes_what_is_quoted_and_nothing_else() -> None:
    words = fold(CONVERSATION, OPTIONS, MEMO)
    vectors = fold(CONVERSATION, replace(OPTIONS, likenesses=(said(),)), MEMO)
    assert ANSWER not in quoted(words)
    assert ANSWER in quoted(vectors)
    assert vectors.forwarded.messages[:-1] == words.forwarded.messages[:-1]
    assert (words.open_questions, vectors.open_questions) == ((USER,), ())


def test_nobody_is_asked_where_nobody_wants_to_know() -> None:
    silent = fold(CONVERSATION, replace(OPTIONS, wants_likeness=False), MEMO)
    assert silent.open_questions == ()
    assert silent.body == fold(CONVERSATION, OPTIONS, MEMO).body


@each(
    "other",
    [
        replace(said(), prefix="0" * 32),
        replace(said(), at=USER),
        replace(said(), by_message=()),
        replace(said(), by_message=tuple(b"" for _ in range(USER))),
        replace(said(), by_message=tuple(b"\x01" * 7 for _ in range(USER))),
        replace(said(), by_message=said().by_message[:9]),
    ],
)
def test_what_is_said_of_something_else_counts_for_nothing(other: Likeness) -> None:
    assert fold(CONVERSATION, replace(OPTIONS, likenesses=(other,)), MEMO).body == fold(CONVERSATION, OPTIONS, MEMO).body


def test_a_memory_of_words_does_not_stand_for_vectors() -> None:
    memo = Memo()
    fold(CONVERSATION, OPTIONS, memo)
    known = replace(OPTIONS, likenesses=(said(),))
    assert fold(CONVERSATION, known, memo).body == fold(CONVERSATION, known, Memo()).body


def test_only_the_direction_of_a_vector_counts() -> None:
    both = cosines(vector(100, 0), vector(1, 0) + vector(0, 5) + vector(-9, 0) + vector(0, 0))
    assert np.frombuffer(both, np.int8).tolist() == [127, 0, -127, 0]
    assert cosines(vector(1, 2), b"\x01" * 3) == cosines(b"", b"\x01") == b""


def test_a_question_without_content_is_read_with_the_exchange_before_it() -> None:
    asked = CHAT.read(encode(messages("Continue, please."), model="m"), Memo()).messages
    assert asked[USER - 1].text in question_text(asked, USER)
    assert question_text(CONVERSATION.messages, USER) == ASKED


def test_a_message_is_cut_as_recall_cuts_it() -> None:
    assert passage_texts("One message.\n") == ["One message."]
    assert passage_texts(" \n") == []


@each(
    ("text", "language"),
    [
        ("Who is it?", "english"),
        ("Why “skiing” – naïve? 🙂", "english"),
        ("¿Cuál es la capital de la región?", "spanish"),
        ("冬の間、シベリアから中国大陸にかけての範囲を覆うものは何か", ""),
        ("古鲁们控制什么？", ""),
        ("Γιατί;", ""),
    ],
)
def test_a_text_too_short_to_tell_is_english_only_in_its_script(text: str, language: str) -> None:
    assert language_of(text) == language


@given(st.lists(st.sampled_from(["<private>", "</private>", "word", "Open words.\n\n", "x" * 700, " "]), max_size=12))
def test_passages_keep_their_places_and_nothing_private(parts: list[str]) -> None:
    parts = [f"word{i}. " if part == "word" else part for i, part in enumerate(parts)]
    text = "".join(parts)
    made = passage_texts(text, Redactor().ranges(text))
    assert len(made) == len(passage_texts(text))
    inside = 0
    for part in parts:
        inside = inside + 1 if part == "<private>" else max(0, inside - 1) if part == "</private>" else inside
        if part.startswith("word"):
            assert any(part.strip() in one for one in made) == (not inside)


def test_what_is_private_beyond_one_message_is_told_from_what_is_private_in_one() -> None:
    texts = ["plain", "a <private>b</private> c", "d <private>e", "f", "g</private> h", "i"]
    read = CHAT.read(encode([{"role": "user", "content": text} for text in texts], model="m"), Memo()).messages
    found = private_parts(read)
    assert [found.get(m.key, ()) for m in read] == [(), ((2, 22),), None, None, None, ()]
    assert passage_texts(read[1].text, found[read[1].key] or ()) == ["a [private] c"]
