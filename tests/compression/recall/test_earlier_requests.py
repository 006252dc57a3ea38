"""What earlier requests and questions left in the memory saves time and changes nothing: not what messages update, pick, repeat
and replace, and not what is quoted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.effort import costly
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question, WantedWork
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.echoes import echoes
from turnfold.compression.text.dialogue.replaced_lines import ReplacedLines
from turnfold.compression.text.dialogue.standings import standings
from turnfold.compression.text.dialogue.turns import is_labelled
from turnfold.compression.text.dialogue.updates import updates
from turnfold.compression.text.dialogue.wanted.picks import picks
from turnfold.compression.text.dialogue.wanted.works import asked_work, named_work
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import BORDER_COUNTER

_EDIT: Final = "cart.py\n<<<<<<< SEARCH\n    total = price * number\n=======\n    total = price * (number - 1)\n>>>>>>> REPLACE"
_SAID: Final = (
    ("user", "The plumber comes on Monday at 9."),
    ("user", "They moved it to Wednesday."),
    ("user", "The rent is 850 euros, not 820."),
    ("user", "Add a Ryanair flight and the green lamp to the list."),
    ("user", "Let's drop the lamp."),
    ("user", "The second one, please."),
    ("user", "actually, now the first one"),
    ("user", "Write me a letter to the landlord."),
    ("user", "Anna: shall we meet on Friday?"),
    ("user", "HP 15/24"),
    ("assistant", "Noted: Monday at 9."),
    ("assistant", "1. The red bicycle\n2. The blue bicycle\n3. A tram ticket"),
    ("assistant", "HP 12/24, 9 gold"),
    ("assistant", "HP 14/24, 7 gold"),
    ("assistant", "Dear Mr Berg,\n" + "the heating in our flat has been cold since the first of November. " * 5),
    ("assistant", _EDIT),
    ("tool", "cart.py\n    total = price * number"),
)
_SOURCES: Final = tuple(Source(role, text, digest(role, text)) for role, text in _SAID)
_TALKS: Final = st.lists(st.sampled_from(_SOURCES), min_size=5, max_size=30)


@st.composite
def _requests(draw: st.DrawFn) -> list[tuple[Source, ...]]:
    """Conversations that go on from one another: longer, of another middle, or without their beginning."""
    talk = draw(_TALKS)
    found = []
    for _ in range(draw(st.integers(2, 5))):
        begin = draw(st.sampled_from((0, 0, 0, 2)))
        found.append(tuple(talk[begin : draw(st.integers(begin, len(talk)))]))
        if draw(st.booleans()):
            talk[draw(st.integers(0, len(talk) - 1))] = draw(st.sampled_from(_SOURCES))
        talk += draw(st.lists(st.sampled_from(_SOURCES), max_size=4))
    return found


def _read(sources: Sequence[Source], memo: Memo) -> list[Any]:
    replaced = ReplacedLines(sources, memo)
    shown = [replaced.is_shown_in(at, one.text) for at, one in enumerate(sources)]
    found = [updates(sources, memo), picks(sources, memo), echoes(sources, memo), standings(sources, memo)]
    return [*found, is_labelled(sources, memo), shown]


@given(_requests())
def test_what_messages_do_to_earlier_ones_does_not_depend_on_earlier_requests(requests: list[tuple[Source, ...]]) -> None:
    memo = Memo()
    for sources in requests:
        assert _read(sources, memo) == _read(sources, Memo())


_QUESTIONS: Final = (
    "When does the plumber come, and what is the rent?",
    "Which bicycle did I take?",
    "The letter to the landlord again, please.",
    "Summarise everything.",
    "What could I do on Friday?",
    "continue",
)


def _quoted(sources: tuple[Source, ...], asked: tuple[str, int, int, bool], memo: Memo) -> object:
    text, budget, behind, fill = asked
    folded, rest = sources[: len(sources) - behind], sources[len(sources) - behind :]
    work = asked_work(words.fold(text)) or named_work(words.fold(text))
    wanted = WantedWork(work, True) if work else None
    question = Question(text, rest[-2:], work=wanted, behind=rest, held=frozenset((1,)), whole_room=budget)
    return recall(folded, question, budget, ["HP 12/24, 9 gold"], BORDER_COUNTER, memo, fill=fill)


@costly(5)
@given(
    _requests(),
    st.lists(
        st.tuples(st.sampled_from(_QUESTIONS), st.sampled_from((60, 150, 400)), st.integers(0, 3), st.booleans()),
        min_size=2,
        max_size=6,
    ),
)
def test_what_is_quoted_does_not_depend_on_earlier_questions(
    requests: list[tuple[Source, ...]], asked: list[tuple[str, int, int, bool]]
) -> None:
    memo = Memo()
    for sources in requests:
        for one in asked:
            assert _quoted(sources, one, memo) == _quoted(sources, one, Memo())
