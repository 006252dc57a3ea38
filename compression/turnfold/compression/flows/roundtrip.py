"""``compress``: at once, or, with a summarizer of the caller's, as something to await.

Lives here: the one entry to the reversible compression of messages. Does not belong here: any step of it
(``roundtrip.compress_messages``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, overload

from turnfold.compression.errors import InvalidInput
from turnfold.compression.flows.driver import DrivenFlow
from turnfold.compression.flows.summarizers import Summarizer
from turnfold.compression.roundtrip.compress_messages import compress_at_once, compress_steps
from turnfold.compression.roundtrip.values import Compressed, CompressOptions


@overload
def compress(messages: Sequence[Any], options: CompressOptions | Mapping[str, Any] | None = None) -> Compressed: ...


@overload
def compress(
    messages: Sequence[Any], options: CompressOptions | Mapping[str, Any] | None = None, *, summarizer: Summarizer
) -> Awaitable[Compressed]: ...


def compress(
    messages: Sequence[Any],
    options: CompressOptions | Mapping[str, Any] | None = None,
    *,
    summarizer: Summarizer | None = None,
) -> Compressed | Awaitable[Compressed]:
    """Make old messages shorter; the originals come back with the result.

    Args:
        messages: in order, each a dict with a role; whatever else stands among them goes through as it is.
        options: `CompressOptions`, or its fields as a mapping, in which ``summarizer`` may stand too.
        summarizer: gives a shorter text for a text, at once or as an awaitable. An exception of it counts as no summary, and
            the deterministic one is taken; so is one for a summary that is empty or not shorter.

    Returns:
        The result; with a summarizer something to await for it. Without one the same messages and options give the same
        result.

    Raises:
        InvalidInput: an option is wrong, or the messages are no list; it names which.
    """
    if isinstance(options, Mapping) and "summarizer" in options:
        summarizer = summarizer or options["summarizer"]
        options = {name: value for name, value in options.items() if name != "summarizer"}
    chosen = CompressOptions.of(options)
    if summarizer is None:
        return compress_at_once(messages, chosen)
    if not callable(summarizer):
        raise InvalidInput("summarizer", "must be a function of a text")
    called = summarizer
    return DrivenFlow(lambda: compress_steps(messages, chosen, asks=True), lambda ask: called(ask.text), (Exception,))
