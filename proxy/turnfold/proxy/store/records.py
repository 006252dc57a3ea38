"""Stored records that other releases can read: objects with named fields and a version.

The version of a record, and what happens to a record that this release cannot read or that is damaged. Each kind of record knows
its own fields.

A reader takes the fields that it knows and ignores the others, so a new field needs no new version. A writer raises the version
of its kind only when older readers would misread the rest. Records without a version are those of the first release.

A record of a newer version, or in no known form, is treated as absent: counted, one log line for each kind and reason, never an
exception. So is one with a value of another type than its field, or a number that no release writes: a damaged record must not
fail later, where nobody expects it.
"""

from __future__ import annotations

import logging
import math
import types
import zlib
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import is_dataclass
from functools import cache, lru_cache
from typing import Any, Final, TypeVar, cast

import orjson
from pydantic import ConfigDict, TypeAdapter

T = TypeVar("T")

#: Kinds of items without text: lists of the names under which sums are kept (``learning.places``).
TAGS: Final = "tags"
MODELS: Final = "models"

#: Name of the field that holds a record's version.
VERSION: Final = "record_version"

#: Larger numbers are exact only in our JSON reader; sums, sizes and times within a thousand years are smaller.
_MOST: Final = 2**53
_EXACT: Final = ConfigDict(strict=True, revalidate_instances="always")
_MOST_INFLATED: Final = 256 * 2**20

#: Number of stored values that this process skipped because they are damaged or from a newer release, by kind.
left_out: Counter[str] = Counter()

_log = logging.getLogger(__name__)


class UnreadableRecord(ValueError):
    """A record of a newer version, or of unknown form."""


def version_of(value: object) -> int:
    """Version of a decoded record; 0 for records that carry none (those of the first release).

    Raises:
        UnreadableRecord: the version is no whole number.
    """
    version = value.get(VERSION, 0) if isinstance(value, dict) else 0
    if type(version) is not int:
        raise UnreadableRecord("its version is not a number")
    return version


def encode_record(value: Any) -> bytes:
    """A record as JSON, copied into bytes of exact size: orjson's result keeps its buffer, 4 kB for 100 bytes and 256 kB for
    20,000 (3.13).
    """
    return bytes(memoryview(orjson.dumps(value)))


def decode_record(
    kind: str, data: bytes, build: Callable[[Any], T], *, newest: int = 1, parse: Callable[[bytes], Any] = orjson.loads
) -> T | None:
    """The value of a record; None, with a log line, if this release cannot read it.

    Args:
        kind: its name in the log line.
        build: makes the value from the decoded JSON; ValueError, KeyError and the like mean that its form is unknown.
        newest: the highest version that `build` understands.
        parse: bytes to JSON value.
    """
    try:
        value = parse(data)
        if (version := version_of(value)) > newest:
            raise UnreadableRecord(f"it has version {version}, newer than this release")
        _check_numbers(value)
        built: Any = build(value)
        if is_dataclass(built):
            _shape_of(cast("Hashable", type(built))).validate_python((built,))
        made: T = built
        return made
    except UnreadableRecord as exc:
        report_unreadable(kind, str(exc))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, zlib.error) as exc:
        report_unreadable(kind, f"it has an unknown form ({type(exc).__name__})")
    return None


@cache
def _shape_of(kind: Hashable) -> TypeAdapter[Any]:
    """Checks the fields of a frozen dataclass, and of those within, against their types."""
    alone: Any = types.GenericAlias(tuple, (kind,))  # pydantic takes no configuration for a dataclass itself
    return TypeAdapter(alone, config=_EXACT)


def _check_numbers(value: Any) -> None:
    """Raise UnreadableRecord for a number that no release writes."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, (int, float)) and not (math.isfinite(one) and abs(one) <= _MOST):
            raise UnreadableRecord("a number in it is out of range")


def inflate_record(data: bytes) -> bytes:
    """A packed record.

    Raises:
        UnreadableRecord: it decompresses to more than any record holds.
        zlib.error: it is damaged.
    """
    engine = zlib.decompressobj()
    plain = engine.decompress(data, _MOST_INFLATED)
    if not engine.eof:
        raise UnreadableRecord("it is cut short, or far too large")
    return plain


def report_unreadable(kind: str, problem: str) -> None:
    """Count a skipped value, and log it the first time."""
    left_out[kind] += 1
    log_once(kind, problem)


@lru_cache(maxsize=256)  # one line for each kind and reason: a log may have thousands of such records
def log_once(kind: str, problem: str) -> None:
    """Write the log line; repeated calls log nothing."""
    _log.warning("A stored %s is skipped: %s.", kind, problem)
