"""Restoring messages that were compressed (system E).

This module puts originals back in place of what stands for them. The caller passes a look-up for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from turnfold.compression.errors import InvalidInput, require
from turnfold.compression.roundtrip.option_types import Message
from turnfold.compression.roundtrip.provenance import copy_json, provenance_of
from turnfold.compression.roundtrip.values import NOTHING, Compressed, Lookup, Results, Uncompressed, look_up

#: Maximum nesting of compressed originals.
DEEPEST: Final = 10
#: Maximum look-ups and messages of one call: a malicious store could expand each key to a hundred others.
_MOST: Final = 1_000_000


def uncompress(messages: Sequence[Message] | Compressed, store: Lookup | None = None, *, recursive: bool = False) -> Uncompressed:
    """Replace compressed messages by their originals.

    A message whose content was edited after it was compressed stays unchanged; the result lists its originals, and those of
    deleted messages.

    Args:
        messages: compressed messages, or a whole result.
        store: originals by key, as a mapping or a function, or those of several results; default for a result: its own.
        recursive: if true, originals that were compressed before are restored too, up to ten levels.

    Raises:
        InvalidInput: an argument is invalid (it names which), or the result would exceed half a million messages.
    """
    if isinstance(messages, Compressed):
        store = messages.verbatim if store is None else store
        messages = messages.messages
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidInput("messages", "must be a list")
    store = NOTHING if store is None else store
    require(("store", isinstance(store, Mapping | Results) or callable(store), "must be a mapping, a function or Results"))
    require(("recursive", isinstance(recursive, bool), "must be true or false"))
    back = _Restorer(store, DEEPEST if recursive else 1)
    expanded = [back.restore(message) for message in messages]
    return Uncompressed(
        messages=[message for _, some in expanded for message in some],
        messages_expanded=sum(was for was, _ in expanded),
        messages_passthrough=sum(not was for was, _ in expanded),
        missing_ids=tuple(back.missing),
        edited_ids=tuple(back.edited),
        deleted_ids=tuple(_deleted(messages, store)),
    )


def _deleted(messages: Sequence[Any], store: Lookup) -> list[str]:
    """Keys of a store that are referenced neither by the messages nor by their originals."""
    if isinstance(store, Results):
        rest = {(name, key) for name, verbatim in store.verbatim.items() for key in verbatim}
    else:
        rest = {("", key) for key in store} if isinstance(store, Mapping) else set()
    listed = list(messages)
    while listed and rest:
        provenance = provenance_of(listed.pop())
        for key in provenance.ids if provenance else ():
            place = (provenance.result_id if provenance and isinstance(store, Results) else "", key)
            if place in rest:
                rest.remove(place)
                listed.append(look_up(store, key, place[0]))
    return sorted(dict.fromkeys(key for _, key in rest))


class _Restorer:
    """Restores messages; used for one call."""

    def __init__(self, store: Lookup, deepest: int) -> None:
        self._store = store
        self._deepest = deepest
        self._done = 0
        self.missing: dict[str, None] = {}
        self.edited: dict[str, None] = {}

    def restore(self, message: Any, above: tuple[str, ...] = ()) -> tuple[bool, list[Any]]:
        """Whether a message was restored, and its originals; the message itself if not all of them are available.

        Args:
            above: summary ids that it was restored from; a repeated one would cause endless recursion.
        """
        provenance = provenance_of(message) if len(above) < self._deepest else None
        if provenance is None or provenance.summary_id in above:
            return False, self._copy(message)
        if provenance.was_edited(message):
            self.edited |= dict.fromkeys(provenance.ids)
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
