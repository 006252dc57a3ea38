"""A state block put into a message's JSON text, every other byte left as it was.

Lives here: the search for the content's place, and the insertion. Must not: parsing of whole requests
(``conversation.messages``), choice of the message (`placement`).
"""

from __future__ import annotations

import json
import re
from typing import Final

from turnfold.compression.errors import InvalidInput

_BLANK: Final = re.compile(r"[ \t\n\r]*")
# Numbers stay texts: one of 5,000 digits is no reason to refuse a message whose content alone is of interest.
_DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)


def splice_block(message: str, block: str) -> str:
    """A user message's JSON text with a block in front of its content: in the same string, or as a first text part.

    Content that is neither a string nor a list is left alone.

    Raises:
        InvalidInput: the text is no JSON object.
    """
    at = _content_at(message)
    if at is None or message[at] not in '"[':
        return message
    if message[at] == '"':
        inserted = json.dumps(f"{block}\n\n")[1:-1]
        return f"{message[: at + 1]}{inserted}{message[at + 1 :]}"
    part = json.dumps({"type": "text", "text": f"{block}\n"}, separators=(",", ":"))
    behind = message[at + 1 :]
    comma = "" if behind[_end(behind, 0)] == "]" else ","
    return f"{message[: at + 1]}{part}{comma}{behind}"


def _content_at(message: str) -> int | None:
    """Where the value of the last "content" begins: of a key named twice, parsers take the last."""
    found = None
    try:
        at = _end(message, 0)
        if message[at] != "{":
            raise InvalidInput("message", "must be a JSON object")
        at = _end(message, at + 1)
        while message[at] == '"':
            key, at = _DECODER.raw_decode(message, at)
            at = _end(message, at)
            if message[at] != ":":
                raise InvalidInput("message", "is no JSON")
            at = _end(message, at + 1)
            found = at if key == "content" else found
            at = _end(message, _DECODER.raw_decode(message, at)[1])
            at = _end(message, at + 1) if message[at] == "," else at
        if message[at] != "}":
            raise InvalidInput("message", "is no JSON")
    except (IndexError, ValueError, RecursionError) as exc:
        raise InvalidInput("message", "is no JSON") from exc
    return found


def _end(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return at if blank is None else blank.end()
