"""A history as JSON: export and import.

This module defines the form and validates every field. A store's records and HTTP have forms of their own.

An export carries the settings that the conversation was kept with. Whatever an import lets through can be added to: counts match
what they count, lists match in length, ids follow from the messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Final, TypeVar

import orjson

from turnfold.compression import tokens
from turnfold.compression.budgeted.history import PINNED, Block, History, HistoryMessage, HistorySettings, block_id
from turnfold.compression.errors import InvalidInput
from turnfold.compression.tokens import Count

T = TypeVar("T")

_FORMAT: Final = 1
_MOST: Final = 2**53  # a JSON number beyond it is another one for half of its readers
_LONGEST_ROLE: Final = 64


@dataclass(frozen=True, slots=True)
class ImportedHistory:
    """The contents of an export; `settings` is None in exports of earlier releases, which had none."""

    history: History
    settings: HistorySettings | None


def export_history(state: History, settings: HistorySettings | None = None) -> str:
    """The whole state as JSON, for `read_export`, with the settings that it is kept with."""
    data = asdict(state) | {"format": _FORMAT}
    for block in data["blocks"]:
        del block["quotes"]
    if settings is not None:
        data["settings"] = asdict(settings)
    return orjson.dumps(data, option=orjson.OPT_SORT_KEYS).decode()


def read_export(text: str, *, count: Count = tokens.count) -> ImportedHistory:
    """An export: the state and its settings.

    Raises:
        InvalidInput: the text is no export of this format, or does not agree with itself; names the field.
    """
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise InvalidInput("history", "is not JSON") from exc
    if not isinstance(data, dict) or data.get("format") != _FORMAT or isinstance(data.get("format"), bool):
        raise InvalidInput("history.format", f"must be {_FORMAT}")
    fields = _Fields("history", data)
    state = History(
        version=fields.whole("version"),
        pinned=fields.many("pinned", _message),
        orders=fields.many("orders", _string),
        blocks=fields.many("blocks", lambda name, value: _block(name, value, count)),
        recent=fields.many("recent", _message),
        recent_tokens=fields.many("recent_tokens", _whole),
        raw_tokens=fields.whole("raw_tokens"),
        messages=fields.whole("messages"),
        duplicates=fields.whole("duplicates"),
    )
    _check(state)
    return ImportedHistory(_with_own_ids(state), _settings(data.get("settings")))


def _check(state: History) -> None:
    """That the parts of a state agree."""
    if len(state.recent_tokens) != len(state.recent):
        raise InvalidInput("history.recent_tokens", f"must have {len(state.recent)} numbers, one for each recent message")
    blocks = list(chain.from_iterable(block.messages for block in state.blocks))
    for name, messages, pinned in (("pinned", state.pinned, True), ("recent", state.recent, False), ("blocks", blocks, False)):
        if any((message.role in PINNED) != pinned for message in messages):
            raise InvalidInput(
                f"history.{name}", f"must hold {'no other' if pinned else 'no'} messages of {' or '.join(sorted(PINNED))}"
            )
    held = len(state.pinned) + len(state.recent) + len(blocks)
    if state.messages != held:
        raise InvalidInput("history.messages", f"must be {held}, the number of messages")
    least = sum(state.recent_tokens) + sum(block.tokens[0] for block in state.blocks)
    if state.raw_tokens < least:
        raise InvalidInput("history.raw_tokens", f"must be {least} at least, the tokens of the messages")
    if state.version < state.messages:
        raise InvalidInput("history.version", f"must be {state.messages} at least, the number of messages")
    if len({block.id for block in state.blocks}) < len(state.blocks):
        raise InvalidInput("history.blocks", "must have ids that differ")


def _with_own_ids(state: History) -> History:
    """Ids are hashes of what they name, so nothing stored under one becomes stale: an edited block gets a new id."""
    blocks = tuple(replace(block, id=block_id(number, block.messages)) for number, block in enumerate(state.blocks))
    return replace(state, blocks=blocks)


class _Fields:
    """The fields of an object, each validated under its full name."""

    def __init__(self, name: str, value: object) -> None:
        if not isinstance(value, dict):
            raise InvalidInput(name, "must be an object")
        self._name = name
        self._values: Mapping[str, Any] = value

    def get(self, field: str, read: Callable[[str, object], T]) -> T:
        """One field, as `read` makes it of its full name and value."""
        name = f"{self._name}.{field}"
        if field not in self._values:
            raise InvalidInput(name, "is missing")
        return read(name, self._values[field])

    def whole(self, field: str) -> int:
        """A whole number from 0."""
        return self.get(field, _whole)

    def many(self, field: str, read: Callable[[str, object], T]) -> tuple[T, ...]:
        """A list, each item as `read` makes it."""
        return self.get(field, lambda name, value: _items(name, value, read))


def _items(name: str, value: object, read: Callable[[str, object], T]) -> tuple[T, ...]:
    if not isinstance(value, list):
        raise InvalidInput(name, "must be a list")
    return tuple(read(f"{name}.{number}", item) for number, item in enumerate(value))


def _whole(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise InvalidInput(name, "must be a whole number from 0")
    return value


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(name, "must be a string")
    return value


def _message(name: str, value: object) -> HistoryMessage:
    fields = _Fields(name, value)
    role, content = fields.get("role", _string), fields.get("content", _string)
    if not role.strip() or len(role) > _LONGEST_ROLE:
        raise InvalidInput(f"{name}.role", f"must be a string of 1 to {_LONGEST_ROLE} characters that is not blank")
    return HistoryMessage(role, content)


def _block(name: str, value: object, count: Count) -> Block:
    fields = _Fields(name, value)
    block = fields.get("id", _string)
    if not block.strip():
        raise InvalidInput(f"{name}.id", "must not be blank")
    messages = fields.many("messages", _message)
    if not messages:
        raise InvalidInput(f"{name}.messages", "must not be empty")
    texts, sizes = fields.many("texts", _string), fields.many("tokens", _whole)
    if len(texts) != 2:
        raise InvalidInput(f"{name}.texts", "must be two strings: facts and summary")
    if len(sizes) != 3 or sizes[2] > sizes[1]:
        raise InvalidInput(f"{name}.tokens", "must be three whole numbers, the last no larger than the one before it")
    return Block.of(block, messages, (texts[0], texts[1]), (sizes[0], sizes[1], sizes[2]), count=count)


def _settings(value: object) -> HistorySettings | None:
    if value is None:
        return None
    fields = _Fields("history.settings", value)
    try:
        return HistorySettings(fields.whole("compress_threshold"), fields.whole("keep_recent"))
    except InvalidInput as exc:
        if exc.field.startswith("history."):
            raise
        raise InvalidInput(f"history.settings.{exc.field}", "is out of range") from exc
