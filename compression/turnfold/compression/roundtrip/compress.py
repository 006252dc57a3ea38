"""Reversible compression of messages (system E): shorter messages and the originals, as one value, and the way back.

Lives here: putting a result together, provenance included, and restoring. Must not: what becomes of a message (``sketch``),
looking for what fits a budget (``budget``), calling a summarizer (``flows.compress`` drives the generator here).

Unlike the fold of a request, which keeps every message in its place, whole runs of old messages become one summary here. Such a
run begins and ends with the same role, so roles go on alternating as they did. Tool calls stay as they are and every result
keeps its id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from turnfold.compression.errors import InvalidInput
from turnfold.compression.roundtrip.budget import Setting, at_window, find_setting
from turnfold.compression.roundtrip.compressed import (
    NOTHING,
    Compressed,
    CompressOptions,
    Figures,
    Lookup,
    TraceEntry,
    Uncompressed,
    look_up,
    texts_of,
)
from turnfold.compression.roundtrip.provenance import copy_json, provenance_of, with_provenance
from turnfold.compression.roundtrip.sketch import OLD, Sketch, WrittenMessage, is_smaller

#: How often originals may be compressed messages themselves.
DEEPEST: Final = 10
#: Look-ups and messages of one restoring: a store may be made so that every key stands for a hundred others.
_MOST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Ask:
    """A summary of this text is wanted; anything but a text in return is taken for none."""

    text: str


def compress_steps(messages: Sequence[Any], options: CompressOptions, *, asks: bool) -> Generator[Ask, object, Compressed]:
    """Compress messages; yields what is to be summarised and is sent the summaries, if `asks` says so.

    Raises:
        InvalidInput: the messages are no list.
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
    options = sketch.options
    if options.token_budget is not None:
        return find_setting(sketch, options.token_budget)
    return Setting(at_window(sketch, options.recency_window), options.recency_window, fits=True)


# --- summaries written by somebody else -------------------------------------------------------------------------------


def _summarise_all(sketch: Sketch, written: Sequence[WrittenMessage]) -> Generator[Ask, object, list[WrittenMessage]]:
    told = []
    for one in written:
        told.append((yield from _summarise(sketch, one)))  # noqa: PERF401 - a comprehension cannot yield
    return told


def _summarise(sketch: Sketch, one: WrittenMessage) -> Generator[Ask, object, WrittenMessage]:
    """What the summarizer makes of a message or run, if that is a text, shorter than the original, and fits where ours does."""
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
    """A message as it goes out; its originals go into `verbatim`.

    One that came in with a provenance gets one of its own, so that restoring gives back just what came in.
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


# --- the way back -----------------------------------------------------------------------------------------------------


def uncompress(messages: Sequence[Any] | Compressed, store: Lookup | None = None, *, recursive: bool = False) -> Uncompressed:
    """Put originals back in place of what stands for them.

    Args:
        messages: compressed messages, or a whole result.
        store: originals by key, as a mapping or a function, or those of several results; of a result its own by default.
        recursive: whether originals that were compressed before are restored in turn, ten times at most.

    Raises:
        InvalidInput: the messages are no list, or restoring them gives more than half a million.
    """
    if isinstance(messages, Compressed):
        store = messages.verbatim if store is None else store
        messages = messages.messages
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidInput("messages", "must be a list")
    back = _Restorer(NOTHING if store is None else store, DEEPEST if recursive else 1)
    expanded = [back.restore(message) for message in messages]
    return Uncompressed(
        messages=[message for _, some in expanded for message in some],
        messages_expanded=sum(was for was, _ in expanded),
        messages_passthrough=sum(not was for was, _ in expanded),
        missing_ids=tuple(back.missing),
    )


class _Restorer:
    """Restores messages; lives for one call."""

    def __init__(self, store: Lookup, deepest: int) -> None:
        self._store = store
        self._deepest = deepest
        self._done = 0
        self.missing: dict[str, None] = {}

    def restore(self, message: Any, above: tuple[str, ...] = ()) -> tuple[bool, list[Any]]:
        """Whether a message was restored, and what it stands for; itself where nothing or not all of it is there.

        Args:
            above: summary ids of what it is restored from: one that comes again would have no end.
        """
        provenance = provenance_of(message) if len(above) < self._deepest else None
        if provenance is None or provenance.summary_id in above:
            return False, self._copy(message)
        self._count(len(provenance.ids))
        originals = [look_up(self._store, key, provenance.result_id) for key in provenance.ids]
        absent = [key for key, found in zip(provenance.ids, originals, strict=True) if found is None]
        if absent:
            self.missing |= dict.fromkeys(absent)
            return False, self._copy(message)
        path = (*above, provenance.summary_id)
        return True, [inner for found in originals for inner in self.restore(found, path)[1]]

    def _copy(self, message: Any) -> list[Any]:
        self._count(1)
        return [copy_json(message)]

    def _count(self, messages: int) -> None:
        self._done += messages
        if self._done > _MOST:
            raise InvalidInput("messages", f"restoring gives more than {_MOST // 2:,} messages")
