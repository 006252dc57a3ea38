"""The exchange of a recovery, without any network: one call at most, and what it carries."""

from __future__ import annotations

import json
from collections.abc import Generator
from itertools import product
from typing import Any

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.overflow_upstream import count_request
from tests.support.overfull import CURABLE, INCURABLE, Writer, overfull
from tests.support.structure import structure_faults
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.calibration import Learned, learn_from_refusal, learn_from_usage
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.fit import Fitted, fit
from turnfold.compression.fit.overflow import Overflow
from turnfold.compression.fit.recover import Outcome, UpstreamReply, recover
from turnfold.compression.fold import Fold, Folded, conversation_tokens, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT

WINDOW = 4096
OPTIONS = FoldOptions(model="gpt-4o")
OK = UpstreamReply(200, b'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n', in_stream=True)


def never_folds(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    count = conversation_tokens(conversation, options.model, memo)
    return Folded(conversation, conversation, Changes(), folded=False, reason="short", tokens_before=count, tokens_after=count)


def fails(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    raise FoldRejected("roles-broken")


def encoded(body: dict[str, Any]) -> bytes:
    return json.dumps(body).encode()


def read(body: bytes) -> Conversation:
    return CHAT.read(body, WARM)


def ours(body: bytes) -> int:
    return conversation_tokens(read(body), "gpt-4o", WARM)


Flow = Generator[Any, Any, Outcome]


def started(body: bytes, overflow: Overflow, fold: Fold = fold, sent: bytes | None = None, **more: Any) -> Flow:
    options = more.pop("options", OPTIONS)
    return recover(read(body), overflow, options, WARM, fold=fold, sent=read(sent) if sent else None, **more)


def fitted(body: bytes, options: FoldOptions, known: Learned = Learned(), fold: Fold = never_folds) -> Fitted:  # noqa: B008 - frozen
    return fit(read(body), options, WARM, known, fold)


def ended(flow: Flow, reply: UpstreamReply | None = None) -> Outcome:
    with pytest.raises(StopIteration) as done:
        flow.send(reply)  # None starts a generator
    outcome: Outcome = done.value.value
    return outcome


@each(("fold", "shape"), every(2, crosswise(product([fold, never_folds, fails], CURABLE), 5)))
def test_one_call_that_fits_window_less_output_less_a_tenth(shape: str, fold: Fold) -> None:
    body = encoded(overfull(shape, 3 * WINDOW, model="gpt-4o", max_tokens=500))
    count = ours(body)
    flow = started(body, Overflow("prompt", WINDOW, count, count), fold)
    call = next(flow)
    assert ours(call.forwarded.body) <= (WINDOW - 500) * 0.9
    assert not set(structure_faults(body, call.forwarded.body)) - {"the last user message lost something of its own"}
    outcome = ended(flow, OK)
    assert (outcome.recovered, outcome.forwarded, outcome.window, outcome.tokens_before) == (True, call.forwarded, WINDOW, count)
    assert outcome.tokens_after == ours(call.forwarded.body)


@each("shape", CURABLE)
def test_what_stays_may_take_a_fifth_more_of_the_upstreams_tokens(shape: str) -> None:
    """Tables may stay where prose goes, and no other try comes."""
    body = encoded(overfull(shape, 2 * WINDOW))
    counted = ours(body)
    resend = next(started(body, Overflow("prompt", limit=WINDOW, requested=counted, prompt=counted), never_folds))
    assert 1.2 * resend.attempt.tokens_after <= WINDOW - (read(body).output or 512)


@pytest.mark.parametrize("shape", INCURABLE)
def test_what_cannot_be_helped_is_not_tried(shape: str) -> None:
    body = encoded(overfull(shape, 2 * WINDOW, model="gpt-4o"))
    outcome = ended(started(body, Overflow("prompt", WINDOW)))
    assert (outcome.recovered, outcome.reason, outcome.forwarded, outcome.window) == (False, "nothing-to-cut", None, WINDOW)


@each(
    "reply",
    [
        UpstreamReply(400, b'{"error":{"code":"context_length_exceeded"}}', in_stream=False),
        UpstreamReply(429, b"", in_stream=False),
        UpstreamReply(500, b"", in_stream=False),
        UpstreamReply(200, b'data: {"error":{"message":"overloaded"}}\n\n', in_stream=True),
    ],
)
def test_whatever_goes_wrong_then_the_first_error_stands(reply: UpstreamReply) -> None:
    body = encoded(overfull("giant user message", 9000, model="gpt-4o"))
    flow = started(body, Overflow("prompt", WINDOW))
    next(flow)
    outcome = ended(flow, reply)
    assert (outcome.recovered, outcome.reason) == (False, "refused-again")


def test_a_second_error_that_names_a_limit_is_learned_from() -> None:
    body = encoded(overfull("giant user message", 9000, model="gpt-4o"))
    flow = started(body, Overflow("prompt"))
    next(flow)
    again = b'{"error":{"message":"maximum context length is 1000 tokens","code":"context_length_exceeded"}}'
    assert ended(flow, UpstreamReply(400, again, in_stream=False)).window == 1000


def test_output_room_that_fills_the_window_is_told_by_the_first_error() -> None:
    body = encoded(overfull("giant user message", 9000, model="gpt-4o", max_tokens=WINDOW))
    assert ended(started(body, Overflow("prompt", WINDOW))).reason == "output-too-large"
    assert ended(started(body, Overflow("output", WINDOW, 13_000, 9000, WINDOW))).reason == "output-too-large"


def test_a_limit_of_the_prompt_alone_leaves_the_output_out() -> None:
    body = encoded(overfull("giant user message", 9000, model="gpt-4o", max_tokens=WINDOW))
    call = next(started(body, Overflow("prompt", WINDOW, prompt_only=True)))
    assert ours(call.forwarded.body) > 0.75 * WINDOW


def test_the_upstreams_count_counts() -> None:
    body = encoded(overfull("giant user message", 9000, model="gpt-4o"))
    count = ours(body)
    call = next(started(body, Overflow("prompt", WINDOW, 2 * count, 2 * count)))
    assert 2 * ours(call.forwarded.body) <= WINDOW * 0.9
    assert count_request(json.loads(call.forwarded.body)) < count_request(json.loads(body))


def test_a_lower_bound_is_no_count() -> None:
    body = encoded(overfull("giant user message", 9000, model="gpt-4o"))
    sized = next(started(body, Overflow("prompt", WINDOW, WINDOW + 1, WINDOW + 1)))
    bounded = next(started(body, Overflow("prompt", WINDOW, WINDOW + 1, WINDOW + 1, lower_bound=True)))
    assert ours(bounded.forwarded.body) <= WINDOW * 0.9
    assert ours(bounded.forwarded.body) <= ours(sized.forwarded.body)


def test_without_any_figure_what_is_known_of_the_model_counts() -> None:
    body = encoded(overfull("giant user message", 9000, model="gpt-4o"))
    published = next(started(body, Overflow("prompt"), options=FoldOptions(model="gpt-4o", window=6000)))
    assert 0.6 * 6000 < ours(published.forwarded.body) <= 0.9 * 6000
    learned = next(started(body, Overflow("prompt"), known=learn_from_refusal(Learned(), 5000, None)))
    assert 0.6 * 5000 < ours(learned.forwarded.body) <= 0.9 * 5000
    blind = next(started(body, Overflow("prompt")))
    assert ours(blind.forwarded.body) <= 0.3 * ours(body)


def test_what_was_sent_may_have_been_a_fold() -> None:
    body = encoded(overfull("long chat", 12_000, model="gpt-4o"))
    sent = encoded(overfull("giant user message", 5000, model="gpt-4o"))
    count = ours(sent)
    flow = started(body, Overflow("prompt", WINDOW, count, count), sent=sent)
    call = next(flow)
    assert json.loads(call.forwarded.body)["messages"][0] == json.loads(body)["messages"][0]
    assert json.loads(body)["messages"][-1]["content"] in json.loads(call.forwarded.body)["messages"][-1]["content"]
    assert ended(flow, OK).tokens_before == count


@pytest.mark.parametrize(("size", "kept"), every(2, [(6_000, 6), (12_000, 4), (20_000, 4)], 1))
def test_where_the_newest_fifth_does_not_fit_as_many_of_the_newest_as_do_stay(size: int, kept: int) -> None:
    """A fold was refused, and nothing tells by how much it was too large."""
    messages = [m for turn in range(size // 220) for m in (spoken("user", 2 * turn), spoken("assistant", 2 * turn + 1))]
    body = encoded({"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": "And the crane on pier 3?"}]})
    sent = fold(CHAT.read(body, WARM), OPTIONS, WARM)
    assert sent.folded
    call = next(started(body, Overflow("prompt"), sent=sent.body))
    after = json.loads(call.forwarded.body)["messages"]
    assert ours(call.forwarded.body) < 0.5 * sent.tokens_after
    assert after[-kept:-1] == json.loads(body)["messages"][-kept:-1]


def spoken(role: str, number: int) -> dict[str, Any]:
    return {"role": role, "content": prose(number, "en", 7)}


@each("messages", [[], [{"role": "user"}], [{"role": "system", "content": "x"}], [{"role": "", "content": 7}]])
def test_a_request_without_anything_to_cut_does_not_make_it_fail(messages: list[dict[str, Any]]) -> None:
    outcome = ended(started(encoded({"messages": messages}), Overflow("prompt", WINDOW)))
    assert not outcome.recovered
    assert outcome.forwarded is None


def test_small_chat_beside_a_giant_keeps_every_message() -> None:
    w = Writer(1)
    turns = [m for _ in range(10) for m in (w.user(20), w.assistant(30))]
    body = {"model": "gpt-4o", "messages": [*turns, w.user(9000)]}
    call = next(started(encoded(body), Overflow("prompt", WINDOW)))
    after = json.loads(call.forwarded.body)["messages"]
    assert after[:-1] == turns
    assert "tokens left out" in after[-1]["content"]


@pytest.mark.parametrize("large", [500, 900])
def test_without_any_figure_a_usual_window_is_tried_that_takes_the_newest_messages(large: int) -> None:
    w = Writer(9)
    turns = [m for _ in range(32) for m in (w.user(large // 3), w.assistant(large // 3))]
    newest = [m for _ in range(8) for m in (w.user(large), w.assistant(large))]
    body = encoded({"model": "gpt-4o", "messages": [*turns, *newest, w.user(20)]})
    call = next(started(body, Overflow("prompt"), never_folds))
    assert 0.28 * ours(body) < ours(call.forwarded.body) < ours(body)
    assert json.loads(call.forwarded.body)["messages"][-17:] == json.loads(body)["messages"][-17:]


@each(
    ("window", "fold", "shape"),
    every(
        2,
        crosswise(
            [
                (*row, shape)
                for row in [(2731, fold), (2731, never_folds), (4096, fold), (12_000, never_folds)]
                for shape in CURABLE
            ],
            5,
        ),
    ),
)
def test_without_any_figure_three_times_a_window_of_any_size_is_cured(shape: str, window: int, fold: Fold) -> None:
    body = encoded(overfull(shape, 2 * window))  # by our count
    assert count_request(json.loads(body)) > 2.7 * window
    call = next(started(body, Overflow("prompt"), fold))
    assert count_request(json.loads(call.forwarded.body)) <= window


@each("taken", [8500, 9000, 9500])
def test_without_any_figure_no_more_is_tried_than_was_taken(taken: int) -> None:
    """The upstream counts more than we do, so that a window of a usual size by our count would be too large."""
    body = encoded(overfull("long chat", 17_000, model="gpt-4o"))
    known = learn_from_usage(Learned(), int(taken / 1.4), taken)
    call = next(started(body, Overflow("prompt"), never_folds, known=known))
    assert ours(call.forwarded.body) <= max(0.28 * ours(body), taken / 1.4)


@each(("fill", "fold", "shape"), every(2, crosswise(product([2, 4], [fold, never_folds], ["long chat", "long agent run"]), 2), 1))
def test_the_most_recent_fifth_stays_as_it_is(shape: str, fold: Fold, fill: int) -> None:
    body = overfull(shape, fill * WINDOW, model="gpt-4o")
    call = next(started(encoded(body), Overflow("prompt", WINDOW), fold))
    before, after = body["messages"], json.loads(call.forwarded.body)["messages"]
    recent = -(-(len(before) - 1) // 5)
    assert after[0] == before[0]
    if ours(encoded({"messages": before[-recent:]})) > 0.8 * WINDOW:
        assert after[-1]["role"] == before[-1]["role"]
        return
    for old, new in zip(before[-recent:], after[-recent:], strict=True):
        assert {**new, "content": old["content"]} == old
        assert (new["content"] or "").startswith(old["content"] or "")  # recall may stand behind the question
    assert before[-recent:-1] == after[-recent:-1]


# -- fitting before it is sent ------------------------------------------------------------------------------------------------


def test_a_request_that_fits_is_sent_as_folded() -> None:
    body = encoded(overfull("long chat", 2000, model="gpt-4o"))
    sent = fitted(body, OPTIONS, learn_from_refusal(Learned(), WINDOW, None))
    assert (sent.forwarded.body, sent.fitted) == (body, False)


def test_a_learned_window_is_fitted() -> None:
    body = encoded(overfull("long chat", 9000, model="gpt-4o"))
    sent = fitted(body, OPTIONS, learn_from_refusal(Learned(), WINDOW, None))
    assert sent.fitted
    assert sent.tokens == ours(sent.forwarded.body) <= 0.9 * WINDOW


def test_a_published_window_is_fitted_until_more_was_taken() -> None:
    body = encoded(overfull("long chat", 9000, model="gpt-4o"))
    options = FoldOptions(model="gpt-4o", window=WINDOW)
    assert fitted(body, options).fitted
    assert not fitted(body, options, learn_from_usage(Learned(), 10_000, 10_000)).fitted


def test_the_ratio_counts_in_fitting() -> None:
    body = encoded(overfull("long chat", 3000, model="gpt-4o"))
    known = learn_from_refusal(learn_from_usage(Learned(), 1000, 1800), WINDOW, None)
    assert not fitted(body, OPTIONS, learn_from_refusal(Learned(), WINDOW, None)).fitted
    sent = fitted(body, OPTIONS, known)
    assert sent.fitted
    assert sent.tokens * 1.8 <= WINDOW * 0.9


def test_what_cannot_fit_goes_as_it_is() -> None:
    body = encoded(overfull("giant system prompt", 9000, model="gpt-4o"))
    assert fitted(body, OPTIONS, learn_from_refusal(Learned(), WINDOW, None)).forwarded.body == body


# -- broken streams come back as history ----------------------------------------------------------------------------------------


@each(
    ("fold", "partial", "place"),
    every(
        3,
        crosswise(
            product(
                [fold, never_folds],
                [
                    [{"role": "assistant", "content": "The answer is that the migr"}],
                    [{"role": "assistant", "content": "Let me think. ", "reasoning_content": "The user wants the migration to"}],
                    [
                        {
                            "role": "assistant",
                            "content": "Reading",
                            "tool_calls": [
                                {
                                    "id": "partial_1",
                                    "type": "function",
                                    "function": {"name": "read", "arguments": '{"path": "/sr'},
                                }
                            ],
                        },
                        {"role": "tool", "tool_call_id": "partial_1", "content": "error: the arguments were cut off"},
                    ],
                    [
                        {
                            "role": "assistant",
                            "content": [{"type": "text", "text": "Half a"}],
                            "reasoning_details": [{"type": "x", "data": "QUJ"}],
                        }
                    ],
                ],
                ["old", "recent"],
            ),
            2,
        ),
        2,
    ),
)
def test_partial_output_is_history_like_any_other(partial: list[dict[str, Any]], place: str, fold: Fold) -> None:
    w = Writer(9)
    turns = [m for _ in range(60) for m in (w.user(30), w.assistant(100))]
    retry = [{"role": "user", "content": "The stream broke off. Please go on."}]
    messages = (
        [w.user(20), *partial, *retry, w.assistant(40), *turns, w.user(9)]
        if place == "old"
        else [*turns, w.user(9), *partial, *retry]
    )
    body = encoded({"model": "gpt-4o", "messages": messages})
    call = next(started(body, Overflow("prompt", WINDOW), fold))
    assert ours(call.forwarded.body) <= 0.9 * WINDOW
    assert structure_faults(body, call.forwarded.body) == []
    if place == "recent":
        assert json.loads(call.forwarded.body)["messages"][-len(partial) - 1 : -1] == partial
