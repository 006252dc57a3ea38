"""The provenance of a compressed message.

This module writes the provenance to a message's ``metadata``, reads and removes it, and makes the keys of originals. It neither
compresses nor restores.

A key is the message's own id if that is unambiguous. Messages with equal ids or without one are distinguished by a hash of their
content, so that no original is ever confused with another, in one result or in several combined.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import orjson

from turnfold.compression.errors import InvalidInput
from turnfold.compression.memo import digest

#: The only key that compression writes to ``metadata``.
KEY: Final = "turnfold"
_DEEPEST: Final = 100


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a compressed message replaces.

    Attributes:
        ids: keys of the originals, in order.
        summary_id: content hash of the messages that it replaces.
        result_id: id of the compression that made it.
        version: version of the source, as counted by the caller.
        parents: summary ids of originals that were compressed before.
        written: content hash of the written text, to detect edits; "" if none was recorded.
    """

    ids: tuple[str, ...]
    summary_id: str
    result_id: str
    version: int
    parents: tuple[str, ...] = ()
    written: str = ""

    def to_json(self) -> dict[str, Any]:
        """The value written to ``metadata``."""
        value = {"ids": list(self.ids), "summary_id": self.summary_id, "version": self.version, "result_id": self.result_id}
        value |= {"parent_ids": list(self.parents)} if self.parents else {}
        return value | ({"written": self.written} if self.written else {})

    def was_edited(self, message: Mapping[str, Any]) -> bool:
        """Whether the content of the message differs from what was written."""
        return bool(self.written) and self.written != fingerprint(message.get("content"))


def provenance_of(message: object) -> Provenance | None:
    """The provenance of a message; None if it has none."""
    metadata = message.get("metadata") if isinstance(message, dict) else None
    found = metadata.get(KEY) if isinstance(metadata, dict) else None
    if not isinstance(found, dict):
        return None
    ids, name, result, version = (found.get(field) for field in ("ids", "summary_id", "result_id", "version"))
    parents, written = found.get("parent_ids", []), found.get("written")
    if not _are_names(ids) or not ids or not isinstance(name, str) or not isinstance(version, int) or not _are_names(parents):
        return None
    result, written = (text if isinstance(text, str) else "" for text in (result, written))
    return Provenance(tuple(ids), name, result, version, tuple(parents), written)


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def can_carry(message: Mapping[str, Any]) -> bool:
    """Whether a provenance can be added to a message: its ``metadata`` is absent or an object."""
    return isinstance(message.get("metadata", {}), dict)


def with_provenance(message: Mapping[str, Any], provenance: Provenance) -> dict[str, Any]:
    """A copy of a message with its provenance, which replaces any earlier one and records the content's hash."""
    noted = replace(provenance, written=fingerprint(message.get("content")))
    return {**message, "metadata": {**message.get("metadata", {}), KEY: noted.to_json()}}


def strip_provenance(messages: Sequence[Any]) -> list[Any]:
    """Messages as a provider accepts them: without what compression wrote to ``metadata``.

    Raises:
        InvalidInput: the messages are not a list.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidInput("messages", "must be a list")
    return [bare(message) for message in messages]


def bare(message: Any) -> Any:
    """A message without its provenance; the message itself if it has none."""
    if provenance_of(message) is None:
        return message
    rest = {name: value for name, value in message["metadata"].items() if name != KEY}
    bare = {name: value for name, value in message.items() if name != "metadata"}
    return {**bare, "metadata": rest} if rest else bare


def fingerprint(message: object) -> str:
    """A content hash that distinguishes everything that JSON does (types, key order); "" for anything that is not JSON."""
    try:
        text = _json_of(message)
    except (ValueError, TypeError, RecursionError):
        return ""
    return digest(text).hex()[:16]


def _json_of(message: object) -> str:
    """``json.dumps`` of a message. ASCII texts, and objects of nothing else, are written faster; most messages are such."""
    if _is_ascii(message):
        return orjson.dumps(message).decode()
    if type(message) is dict and message and all(map(_is_ascii, chain(message, message.values()))):
        written = [f"{orjson.dumps(name).decode()}: {orjson.dumps(text).decode()}" for name, text in message.items()]
        return f"{{{', '.join(written)}}}"
    return json.dumps(message)


def _is_ascii(text: object) -> bool:
    """Whether both writers produce the same text: an ASCII text without the character that only one of them escapes."""
    return type(text) is str and text.isascii() and "\x7f" not in text


def _exact_print(message: object) -> str:
    """A content hash that also distinguishes what JSON writes alike: tuples and lists, and keys of different types."""
    plain_print = fingerprint(message)
    try:
        return plain_print if not plain_print or _is_plain(message) else digest(plain_print, repr(message)).hex()[:16]
    except RecursionError:
        return ""


def _is_plain(message: object) -> bool:
    """Whether JSON returns a message unchanged. For messages of ASCII texts by name, the usual ones, this is known without
    trying.
    """
    if type(message) is dict and all(type(text) is str and text.isascii() for text in chain(message, message.values())):
        return True
    try:
        return bool(orjson.loads(orjson.dumps(message)) == message)
    except orjson.JSONEncodeError:  # a lone surrogate, an integer of more than 64 bits, or a key that is not a string
        return bool(json.loads(json.dumps(message)) == message)


class MessageKeys:
    """The key of each message of one conversation.

    Args:
        messages: all of them; positions are those of this list.
    """

    def __init__(self, messages: Sequence[Any]) -> None:
        self._prints = [_exact_print(message) for message in messages]
        self._provenances = [provenance_of(message) for message in messages]
        self._names = [_name(m, p) for m, p in zip(messages, self._provenances, strict=True)]
        bearers = Counter(name for name, _ in set(zip(self._names, self._prints, strict=True)))
        taken = {key for p in self._provenances if p for key in p.ids}
        self._plain = {name for name, n in bearers.items() if name and n == 1 and name not in taken}

    def result_id(self, written: Iterable[Any]) -> str:
        """A content hash of all input messages and of the messages that replace some of them."""
        return digest(*self._prints, *map(fingerprint, written)).hex()[:16]

    def is_readable(self, index: int) -> bool:
        """Whether the message at an index is JSON and can be stored."""
        return bool(self._prints[index])

    def of(self, index: int) -> str:
        """The key of the message at an index."""
        name = self._names[index]
        if name in self._plain:
            return name
        before = self._provenances[index]
        return f"{before.summary_id if before else name}~{self._prints[index]}"

    def provenance(self, index: int) -> Provenance | None:
        """The provenance of an input message."""
        return self._provenances[index]

    def summary_id(self, indices: Sequence[int], version: int) -> str:
        """The id of the message that replaces those at these indices: a hash of their contents, in order."""
        return "sum_" + digest(str(version), *(self._prints[i] for i in indices)).hex()[:12]

    def provenance_for(self, indices: Sequence[int], version: int, result_id: str) -> Provenance:
        """The provenance of the message that replaces those at these indices."""
        parents = tuple(p.summary_id for p in map(self.provenance, indices) if p)
        ids = tuple(self.of(i) for i in indices)
        return Provenance(ids, self.summary_id(indices, version), result_id, version, parents)


def _name(message: Any, provenance: Provenance | None) -> str:
    if provenance:
        return ""  # a summary's id identifies its content, whatever its wording
    name = message.get("id") if isinstance(message, dict) else None
    return name if isinstance(name, str) else ""


def copy_json(value: Any, depth: int = 0) -> Any:
    """A deep copy of a JSON value, up to a depth that no real message has."""
    if depth > _DEEPEST:
        return value
    if type(value) is dict:
        return {name: copy_json(inner, depth + 1) for name, inner in value.items()}
    if type(value) is list:
        return [copy_json(inner, depth + 1) for inner in value]
    return value
