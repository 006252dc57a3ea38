"""What users have kept, step by step: it is the same whatever was read before, and each step is a message as it was.

These tests cover properties of ``shorten.steps``. They leave out what of it is forwarded
(``tests/compression/fold/test_kept_entries``).
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnfold.compression.memo import Memo
from turnfold.compression.shorten.steps import kept_steps
from turnfold.compression.text.quotes import Source

_SAID = st.sampled_from(
    [
        *("coffee 4.20", "scrap that", "yes", "3", "could you make that 12?", "no", "taxi 18\nlunch 9\nbus 3", "", "why?"),
        *("Logged.", "How many?", "Which one, the first or the second?", "Sure, changed.", "Anything else?", "word " * 60),
    ]
)
_MESSAGES = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), _SAID | st.text(max_size=120)), max_size=14)


def _sources(said: list[tuple[str, str]]) -> list[Source]:
    return [Source(role, text, f"{role} {text}".encode("utf-8", "surrogatepass")) for role, text in said]


@given(_MESSAGES, st.lists(st.integers(0, 14), max_size=4))
def test_what_was_read_before_changes_nothing(said: list[tuple[str, str]], lengths: list[int]) -> None:
    sources, memo = _sources(said), Memo()
    for length in lengths:
        kept_steps(sources[:length], memo)
    assert kept_steps(sources, memo) == kept_steps(sources, Memo())


@given(_MESSAGES)
def test_a_step_is_a_user_s_and_what_it_answers_stands_in_front(said: list[tuple[str, str]]) -> None:
    sources = _sources(said)
    for step in kept_steps(sources, Memo()):
        assert [sources[at].role for at in (step.source, step.answer)] == ["user", "assistant"]
        assert step.answer == step.source + 1
        if step.question:
            assert 0 <= step.question.source == step.source - 1
            assert 0 <= step.question.start < step.question.end <= len(sources[step.source - 1].text)


def test_the_first_message_does_not_answer_the_last() -> None:
    sources = _sources([("user", "3"), ("assistant", "Logged."), ("user", "coffee 4.20"), ("assistant", "How many?")])
    assert kept_steps(sources, Memo())[0].question is None
