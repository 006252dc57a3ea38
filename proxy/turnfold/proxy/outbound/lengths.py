"""Responses with a repeated content-length.

A repeated ``content-length`` becomes a single one before aiohttp's parser sees it. Which answers are refused remains the parser's
business: lengths that differ, a length beside chunks, bytes behind the body.

Some servers behind a gateway send the header twice, or as a list ("5, 5"). If all values are equal, a recipient may treat them as
one (RFC 9110 section 8.6); the parser refuses every repeat. Only a head that arrives in one packet is mended: waiting for the
rest of others would take a parser of its own.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Any, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler

_LINE: Final = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+(?:[ \t]*,[ \t]*[0-9]+)*)[ \t]*(?=\r\n)", re.IGNORECASE)

_FOLDED: Final = re.compile(rb"\r\n[ \t]")  # a line that goes on in the next one, which is obsolete


def with_one_length(data: bytes) -> bytes:
    """The beginning of an answer, with one ``content-length`` in its head if it has several equal ones."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return data
    head = data[: end + 2]
    if _FOLDED.search(head):
        return data
    found = list(_LINE.finditer(head))
    values = [value.strip() for one in found for value in one[1].split(b",")]
    if len(values) < 2 or len(set(values)) > 1 or head.lower().count(b"\r\ncontent-length") > len(found):
        return data
    first = found[0]
    rest = _LINE.sub(b"", head[first.end() :])
    return b"%s\r\ncontent-length: %s%s%s" % (head[: first.start()], values[0], rest, data[end + 2 :])


class _Handler(ResponseHandler):
    """A connection on which the next bytes may begin an answer."""

    _begins = False

    def set_response_params(self, **params: Any) -> None:
        """As the parent does: a request goes out, and what comes next is its answer's head."""
        self._begins = True
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """As the parent does."""
        if self._begins and data:
            self._begins = False
            data = with_one_length(data)
        super().data_received(data)


class Connector(aiohttp.TCPConnector):
    """aiohttp's connector, for such connections."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        ours: Any = partial(_Handler, loop=asyncio.get_running_loop())  # its type is that of the parent's alone
        self._factory = ours
