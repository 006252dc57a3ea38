"""Stored records that other releases can read: objects with named fields and a version.

Lives here: the version of a record, and what happens to a record that this release cannot read. Does not belong here: the fields
of any record (each kind knows its own).

A reader takes the fields that it knows and ignores the others, so a new field needs no new version. A writer raises the version
of its kind only when older readers would misread the rest. Records without a version are those of the first release.

A record of a newer version, or in no known form, is treated as absent: one log line for each kind and reason, never an exception.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

import orjson

T = TypeVar("T")

#: Name of the field that holds a record's version.
VERSION: Final = "record_version"

_log = logging.getLogger(__name__)


class UnreadableRecord(ValueError):
    """A record is of a newer version, or in no known form."""


def version_of(value: object) -> int:
    """Version of a decoded record; 0 for records that carry none (those of the first release).

    Raises:
        UnreadableRecord: the version is no whole number.
    """
    version = value.get(VERSION, 0) if isinstance(value, dict) else 0
    if type(version) is not int:
        raise UnreadableRecord("its version is no number")
    return version


def decode_record(
    kind: str, data: bytes, build: Callable[[Any], T], *, newest: int = 1, parse: Callable[[bytes], Any] = orjson.loads
) -> T | None:
    """A record as a value; None, with a log line, where this release cannot read it.

    Args:
        kind: what the log line calls it.
        build: makes the value of the decoded JSON; ValueError, KeyError and the like mean that it has another form.
        newest: the highest version that `build` understands.
        parse: bytes to JSON value.
    """
    try:
        value = parse(data)
        if (version := version_of(value)) > newest:
            raise UnreadableRecord(f"it has version {version}, newer than this release")
        return build(value)
    except UnreadableRecord as exc:
        report_unreadable(kind, str(exc))
    except (ValueError, LookupError, TypeError, AttributeError, zlib.error) as exc:
        report_unreadable(kind, f"it has an unknown form ({type(exc).__name__})")
    return None


@lru_cache(maxsize=256)  # a line for each kind and reason: a log may hold thousands of such records
def report_unreadable(kind: str, problem: str) -> None:
    """Log that a record is left out; repeated calls log nothing."""
    _log.warning("A stored %s is left out: %s.", kind, problem)
