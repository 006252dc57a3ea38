"""Reversible compression of messages, with the store.

Messages and originals are stored as one value, and found again by their ids. Compression itself and HTTP are done elsewhere.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from turnfold.compression import Compressed, CompressOptions, Uncompressed, default_token_counter, tokens, uncompress
from turnfold.compression.roundtrip.compress_messages import compress_at_once
from turnfold.compression.roundtrip.provenance import provenance_of
from turnfold.compression.roundtrip.uncompress_messages import DEEPEST
from turnfold.compression.roundtrip.values import Results, TokenCounter, characters, readable
from turnfold.compression.text.private import REDACTED, redact_json
from turnfold.compression.tokens import EncodingName
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.keeping import Keeping
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.store import Item, Key, Store
from turnfold.proxy.store.records import VERSION, decode_record, inflate_record

_KIND: Final = "roundtrip"
_PER_MESSAGE: Final = 3  # tokens around each message, as OpenAI's cookbook counts


def _count_tokens(name: EncodingName, message: Mapping[str, Any]) -> int:
    return _PER_MESSAGE + tokens.count(readable(message), name)


#: Counters by the names that a client may use.
COUNTERS: Final[dict[str, TokenCounter]] = {
    "characters": default_token_counter,
    "o200k_base": partial(_count_tokens, "o200k_base"),
    "cl100k_base": partial(_count_tokens, "cl100k_base"),
}


def options_of(fields: Mapping[str, Any]) -> CompressOptions:
    """Options from the fields of a body or a command; the counter is given by name.

    Raises:
        InvalidInput: an option is wrong; it names the option.
    """
    counter = COUNTERS[fields.get("token_counter", "characters")]
    return replace(CompressOptions.of({k: v for k, v in fields.items() if k != "token_counter"}), token_counter=counter)


def pack_result(result: Compressed) -> bytes:
    """Messages and originals as one value, without private text."""
    verbatim = {key: _public(original) for key, original in result.verbatim.items()}
    hidden = {key for key, original in result.verbatim.items() if verbatim[key] != original}
    messages = [_public(_without(message, hidden)) for message in result.messages]
    # The standard library's JSON writes a lone surrogate as an escape, and so gets it back.
    return zlib.compress(json.dumps({VERSION: 1, "messages": messages, "verbatim": verbatim}).encode("ascii"), 1)


def _public(message: Any) -> Any:
    raw = json.dumps(message)
    public = redact_json(raw)
    return message if public == raw else json.loads(public)


def _without(message: Any, hidden: Container[str]) -> Any:
    """A message; its content is hidden if it was made of originals with private text, because it may have lost the tags around
    it."""
    provenance = provenance_of(message)
    if provenance is None or not any(key in hidden for key in provenance.ids):
        return message
    return {**message, "content": REDACTED}


def _size(messages: Iterable[Any]) -> int:
    return sum(map(characters, messages))


def unpack_result(value: bytes) -> tuple[list[Any], dict[str, Any]] | None:
    """Messages, and originals by key, of `pack_result`; None if this release cannot read them."""
    return decode_record("round trip", value, _build, parse=_parse)


def _parse(value: bytes) -> Any:
    """The record's fields; what clients wrote is in a tuple, because its numbers may be of any size."""
    fields = json.loads(inflate_record(value))
    return {name: (held,) if name in ("messages", "verbatim") else held for name, held in fields.items()}


def _build(value: Any) -> tuple[list[Any], dict[str, Any]]:
    (messages,), (verbatim,) = value["messages"], value["verbatim"]
    return list(messages), dict(verbatim)


def _originals(values: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """The originals of several results by result id; unreadable results are left out."""
    found = {name: unpack_result(value) for name, value in values.items()}
    return {name: result[1] for name, result in found.items() if result is not None}


class Roundtrips:
    """Compresses messages and restores them; CPU work leaves the event loop."""

    def __init__(self, store: Store, settings: StoreSettings, workshop: Workshop) -> None:
        self._store = store
        self._keeping = Keeping(store, settings.patience)
        self._settings = settings
        self._workshop = workshop

    async def compress(
        self, tenant: str, messages: Sequence[Any], options: CompressOptions, conversation: str | None
    ) -> tuple[Compressed, bool]:
        """The result, and whether messages and originals are stored.

        Raises:
            Refused: it took too long.
        """
        size = await self._workshop.run(tenant, _size, messages)
        result = await self._workshop.run_sized(tenant, size, compress_at_once, messages, options)
        return result, await self.keep(tenant, result, conversation)

    async def keep(self, tenant: str, result: Compressed, conversation: str | None) -> bool:
        """Store messages and originals. Returns whether they are stored."""
        if not self._settings.keeps_originals or not result.verbatim:
            return False
        value = await self._workshop.run(tenant, pack_result, result)
        item = Item(Key(tenant, _KIND, result.result_id), value, float(self._settings.ttl), conversation)
        return await self._keeping.keep([item], "compressed messages")

    async def uncompress(
        self, tenant: str, messages: Sequence[Any], verbatim: Mapping[str, Any] | None, *, recursive: bool
    ) -> Uncompressed:
        """The restored messages, from the given originals or from the tenant's originals in the store.

        Raises:
            InvalidInput: restoring has no end.
            StoreError: the store cannot say.
        """
        store = verbatim if verbatim is not None else await self._find_results(tenant, messages, DEEPEST if recursive else 1)
        return await self._workshop.run(tenant, partial(uncompress, messages, store, recursive=recursive))

    async def _find_results(self, tenant: str, messages: Sequence[Any], depth: int) -> Results:
        """All results that the messages refer to, those that their originals refer to, and so on."""
        found: dict[str, dict[str, Any]] = {}
        wanted = await self._workshop.run(tenant, _results_of, messages)
        for _ in range(depth):
            if not wanted:
                break
            values = await self._store.get([Key(tenant, _KIND, name) for name in wanted])
            kept = {name: value for name, value in zip(wanted, values, strict=True) if value is not None}
            new = await self._workshop.run(tenant, _originals, kept)
            found |= new
            originals = [original for one in new.values() for original in one.values()]
            named = await self._workshop.run(tenant, _results_of, originals)
            wanted = [name for name in named if name not in found]
        return Results(found)


def _results_of(messages: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(one.result_id for one in map(provenance_of, messages) if one))
