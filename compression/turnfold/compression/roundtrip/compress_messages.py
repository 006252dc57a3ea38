"""Reversible compression of messages (system E): shorter messages and the originals, as one value.

This module puts the result together, provenance included. What becomes of a message is decided in ``sketch``, what fits a budget
in ``budget``. ``flows.roundtrip`` drives the generator here and calls a summarizer; ``uncompress_messages`` is the way back.

Unlike the fold of a request, which keeps every message in its place, whole runs of old messages become one summary here. Such a
run begins and ends with the same role, so roles keep alternating. Tool calls are unchanged and every result keeps its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from turnfold.compression.errors import InvalidInput
from turnfold.compression.roundtrip.budget import Setting, at_window, find_setting
from turnfold.compression.roundtrip.provenance import copy_json, with_provenance
from turnfold.compression.roundtrip.sketch import OLD, Sketch, WrittenMessage, is_smaller
from turnfold.compression.roundtrip.values import (
    Compressed,
    CompressOptions,
    Figures,
    TraceEntry,
    texts_of,
)


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a summary of this text; any reply that is not a text counts as none."""

    text: str


def compress_steps(messages: Sequence[Any], options: CompressOptions, *, asks: bool) -> Generator[Ask, object, Compressed]:
    """Compress messages. If `asks` is true, yields texts to summarise and is sent the summaries.

    Raises:
        InvalidInput: the messages are not a list.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidInput("messages", "must be a list")
    sketch = Sketch(messages, options)
    found = _setting(sketch)
    if asks:
        found = found._replace(written=tuple((yield from _summarise_all(sketch, found.written))))
    return _result(sketch, found)


def compress_at_once(messages: Sequence[Any], options: CompressOptions) -> Compressed:
    """`compress_steps` without a summarizer."""
    flow = compress_steps(messages, options, asks=False)
    try:
        next(flow)
    except StopIteration as done:
        result: Compressed = done.value
        return result
    raise AssertionError("unreachable: nothing is asked")


def _setting(sketch: Sketch) -> Setting:
    """The messages to write; references to nearly the same text are used only if they make the whole smaller."""
    found = _found(sketch)
    if not sketch.options.fuzzy_dedup:
        return found
    without = _found(sketch.without_near_references())
    return min(found, without, key=lambda one: (not one.fits, -one.window, sum(m.size for m in one.written), one.tokens))


def _found(sketch: Sketch) -> Setting:
    options = sketch.options
    if options.token_budget is not None:
        return find_setting(sketch, options.token_budget)
    return Setting(at_window(sketch, options.recency_window), options.recency_window, fits=True)


# --- summaries by the caller's summarizer -----------------------------------------------------------------------------


def _summarise_all(sketch: Sketch, written: Sequence[WrittenMessage]) -> Generator[Ask, object, list[WrittenMessage]]:
    summarised = []
    for one in written:
        summarised.append((yield from _summarise(sketch, one)))  # noqa: PERF401 - a comprehension cannot yield
    return summarised


def _summarise(sketch: Sketch, one: WrittenMessage) -> Generator[Ask, object, WrittenMessage]:
    """The summarizer's text for a message or run, if it is shorter than the original and fits where ours fits."""
    prose = sketch.prose(one.start, one.end) if one.action in ("shortened", "merged") else None
    if prose is None:
        return one
    reply = yield Ask(prose)
    if not isinstance(reply, str) or not reply.strip() or len(reply) >= len(prose):
        return one._replace(why=f"{one.why}; the summarizer's text was {_fault(reply)}")
    text = sketch.with_musts(one.start, one.end, reply.strip())
    if one.action == "merged":
        message = sketch.summary(one.start, one.end, text)
    else:
        path = next(path for path, _ in texts_of(sketch.messages[one.start]))
        message = sketch.with_texts(one.start, {path: sketch.with_id(one.start, one.end, text)})
    made = sketch.replacement(one.start, one.end, message, one.action, f"{one.why}; by the summarizer")
    originals = [sketch.original(i, OLD) for i in range(one.start, one.end)]
    if not is_smaller(made, originals) or (sketch.options.token_budget is not None and made.tokens > one.tokens):
        return one._replace(why=f"{one.why}; the summarizer's text was too long")
    return made


def _fault(reply: object) -> str:
    if not isinstance(reply, str):
        return "missing"
    return "too long" if reply.strip() else "empty"


# --- the result -------------------------------------------------------------------------------------------------------


def _result(sketch: Sketch, found: Setting) -> Compressed:
    options = sketch.options
    verbatim: dict[str, Any] = {}
    result_id = sketch.keys.result_id(one.message for one in found.written if one.action != "kept")
    messages = [_out(sketch, one, result_id, verbatim) for one in found.written]
    done = Counter[str]()
    for one in found.written:
        done[one.action] += one.end - one.start
    before = [sketch.original(i, OLD) for i in range(len(sketch.messages))]
    figures = Figures(
        original_version=options.source_version,
        ratio=_ratio(sum(one.size for one in before), sum(one.size for one in found.written)),
        token_ratio=_ratio(sum(one.tokens for one in before), found.tokens),
        messages_compressed=done["shortened"] + done["merged"] + done["cut"],
        messages_preserved=done["kept"],
        messages_deduped=done["reference"],
        messages_fuzzy_deduped=done["near reference"],
    )
    has_budget = options.token_budget is not None
    return Compressed(
        messages=messages,
        verbatim=verbatim,
        compression=figures,
        result_id=result_id,
        fits=found.fits if has_budget else None,
        token_count=found.tokens if has_budget else None,
        recency_window=found.window if has_budget else None,
        trace=tuple(_trace(sketch, found.written)) if options.trace else None,
    )


def _out(sketch: Sketch, one: WrittenMessage, result_id: str, verbatim: dict[str, Any]) -> Any:
    """A message of the result; its originals are added to `verbatim`.

    A message that already has a provenance gets a new one, so that restoring returns exactly the input.
    """
    indices = range(one.start, one.end)
    if one.action == "kept" and (sketch.keys.provenance(one.start) is None or not sketch.keys.is_readable(one.start)):
        return sketch.messages[one.start]
    for i in indices:
        verbatim[sketch.keys.of(i)] = copy_json(sketch.messages[i])
    return with_provenance(one.message, sketch.keys.provenance_for(indices, sketch.options.source_version, result_id))


def _ratio(before: int, after: int) -> float:
    return round(before / after, 4) if after else 1.0


def _trace(sketch: Sketch, written: Sequence[WrittenMessage]) -> Iterator[TraceEntry]:
    for place, one in enumerate(written):
        for i in range(one.start, one.end):
            key = "" if one.action == "kept" else sketch.keys.of(i)
            yield TraceEntry(i, key, one.action, one.why, place, sketch.original(i, OLD).size, one.size)
