"""``compress``: immediate or, with a caller's summarizer, awaitable.

This is the one entry to the reversible compression of messages. Its steps are in ``roundtrip.compress_messages``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Mapping, Sequence
from typing import Any, overload

from turnfold.compression import tokens
from turnfold.compression.errors import InvalidInput
from turnfold.compression.flows.driver import DrivenFlow, answered
from turnfold.compression.flows.summarizers import Summarizer
from turnfold.compression.roundtrip.compress_messages import Ask, compress_at_once, compress_steps
from turnfold.compression.roundtrip.option_types import CompressOptionsDict, Message, SummarizedOptionsDict
from turnfold.compression.roundtrip.values import Compressed, CompressOptions
from turnfold.compression.summary.asking import ProseWish, write_prose
from turnfold.compression.summary.calls import ModelCall, ModelReply


# Options with a summarizer also match the second overload's type; the first match wins.
@overload
def compress(  # type: ignore[overload-overlap]
    messages: Sequence[Message], options: SummarizedOptionsDict
) -> Awaitable[Compressed]: ...


@overload
def compress(messages: Sequence[Message], options: CompressOptions | CompressOptionsDict | None = None) -> Compressed: ...


@overload
def compress(
    messages: Sequence[Message], options: CompressOptions | CompressOptionsDict | None = None, *, summarizer: Summarizer
) -> Awaitable[Compressed]: ...


def compress(
    messages: Sequence[Message],
    options: CompressOptions | CompressOptionsDict | SummarizedOptionsDict | None = None,
    *,
    summarizer: Summarizer | None = None,
) -> Compressed | Awaitable[Compressed]:
    """Shorten old messages; the result includes the originals.

    Args:
        messages: in order, each a dict with a role; anything else among them is passed through unchanged.
        options: `CompressOptions`, or its fields as a mapping, which may also contain ``summarizer``.
        summarizer: returns a shorter text for a text, directly or as an awaitable. If it raises an exception, or its summary is
            empty or not shorter, the deterministic summary is used.

    Returns: The result; with a summarizer, an awaitable for it. Without one, equal messages and options give equal results.

    Raises:
        InvalidInput: an option is invalid, or the messages are not a list; it names which.
    """
    fields: Any = options
    if isinstance(fields, Mapping) and "summarizer" in fields:
        summarizer = summarizer or fields["summarizer"]
        fields = {name: value for name, value in fields.items() if name != "summarizer"}
    chosen = CompressOptions.of(fields)
    if summarizer is None:
        return compress_at_once(messages, chosen)
    if not callable(summarizer):
        raise InvalidInput("summarizer", "must be a function of a text")
    called = summarizer
    return DrivenFlow(lambda: compress_steps(messages, chosen, asks=True), lambda ask: called(ask.text), (Exception,))


def summarised_steps(
    messages: Sequence[Any], options: CompressOptions, wish: ProseWish
) -> Generator[ModelCall, ModelReply | None, Compressed]:
    """`compress` with summaries by a model.

    The model is asked for normal prose, then for terse bullets of half the length. Each reply is checked against its text. If
    none passes, the deterministic summary is used.
    """

    def answer(asked: Ask) -> Generator[ModelCall, ModelReply | None, str | None]:
        written = yield from write_prose(asked.text, wish, tokens.count, "messages")
        return written.text or None

    return answered(compress_steps(messages, options, asks=True), answer)
