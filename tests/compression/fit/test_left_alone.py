"""What is told without a fold: that nothing of a request will be changed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.conversations import bodies, conversations, odd_conversations
from tests.support.effort import draws
from tests.support.odd_bodies import body as odd_body
from tests.support.warm import WARM
from turnfold.compression.calibration import Learned, learn_from_refusal, learn_from_usage
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.fit import fit, is_left_alone
from turnfold.compression.options import CachePrices, FoldDecision, FoldOptions, StateBlocks, Warmth
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

BELIEF = FoldDecision(Warmth(0.1, 0.9))
OPTIONS = (
    FoldOptions(model="gpt-4o"),
    FoldOptions(model="gpt-4o", prices=CachePrices(0.1, 1.25), belief=BELIEF, preserved_thinking=True, wants_summaries=True),
    FoldOptions(model="other", window=3000, cache_breakpoints=True, recall_stays=True),
)
REFUSED = learn_from_refusal(learn_from_refusal(Learned(), 2000, 2100), 2000, 2100)


def _holds(conversation: Conversation, options: FoldOptions, known: Learned) -> bool:
    """Whether it is said to be left alone; then it has to be."""
    if not is_left_alone(conversation, options, known):
        return False
    fitted = fit(conversation, options, WARM, known)
    assert fitted.forwarded is conversation
    assert not any((fitted.fitted, fitted.folded.folded, fitted.folded.decided, fitted.folded.wanted))
    return True


@given(
    bodies(conversations(max_turns=3, sizes=("short",)) | odd_conversations()),
    st.sampled_from(OPTIONS),
    st.sampled_from([Learned(), REFUSED]),
)
@draws(12)
def test_what_is_said_to_be_left_alone_is(body: bytes, options: FoldOptions, known: Learned) -> None:
    _holds(CHAT.read(body, WARM), options, known)


def test_odd_bodies_of_every_wire_are_left_alone_where_it_is_said() -> None:
    said = 0
    for wire in (CHAT, RESPONSES, MESSAGES):
        for seed in range(80):
            try:
                conversation = wire.read(odd_body(wire.name, seed), WARM)
            except FoldRejected:
                continue
            said += _holds(conversation, OPTIONS[seed % 3], (Learned(), REFUSED)[seed % 2])
    assert said > 40


def _read(*messages: dict[str, str], **more: object) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": messages, **more}).encode()


HELLO = {"role": "user", "content": "Say hello in one word."}
CALL = {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "{}"}


@each(
    ("body", "options", "known", "said"),
    [
        (_read(HELLO), OPTIONS[0], Learned(), True),
        (_read(HELLO), FoldOptions(model="gpt-4o", budget=5000), Learned(), False),
        (_read(HELLO, CALL, RESULT), OPTIONS[0], Learned(), False),  # type: ignore[arg-type]
        (_read({"role": "user", "content": "ka " * 5000}), OPTIONS[0], Learned(), False),
        (_read({"role": "user", "content": "ka " * 500}), FoldOptions(model="gpt-4o", window=1000), Learned(), False),
        (_read({"role": "user", "content": "ka " * 500}), OPTIONS[0], REFUSED, False),
        (_read(HELLO, tools=[{"description": "ka " * 9000}]), FoldOptions(model="gpt-4o", window=20_000), Learned(), False),
    ],
)
def test_when_it_is_said(body: bytes, options: FoldOptions, known: Learned, said: bool) -> None:
    assert _holds(CHAT.read(body, WARM), options, known) is said


def test_a_state_is_written_so_nothing_is_left_alone() -> None:
    conversation = CHAT.read(_read(HELLO), WARM).with_state(StateBlocks(((0, "[state]"),)))
    assert not _holds(conversation, OPTIONS[0], Learned())


def test_what_an_upstream_adds_to_each_prompt_takes_no_more_room_than_that() -> None:
    """Beside short prompts it looks as if a token of ours were four of its own."""
    known = Learned()
    for ours in range(300, 309):
        known = learn_from_usage(known, ours, ours + 1000)
    said = [{"role": ("user", "assistant")[i % 2], "content": f"{i}: " + "ka " * 300} for i in range(31)]
    options = FoldOptions(model="gpt-4", window=8192, prices=CachePrices(0.1, 1.25))
    sent = [json.dumps({"messages": said[-n:]}).encode() for n in (17, 25)]
    fits, exceeds = (fit(CHAT.read(body, WARM), options, WARM, known) for body in sent)
    assert not fits.fitted
    assert exceeds.fitted
    assert 3000 < exceeds.tokens < 7192
