"""Tokens of the non-text parts of a message.

This module has the documented prices of images in tokens, for each provider that documents one, and the description of an
attachment. No pixel is decoded and no base64 tokenised.
"""

from __future__ import annotations

import binascii
import math
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import islice
from typing import Any, Final

import imagesize

from turnfold.compression import lazy
from turnfold.compression.calibration import AT_ADDRESS
from turnfold.compression.memo import digest
from turnfold.compression.wire.message import Attachment, Path

_LOW: Final = 85  # OpenAI, "Images and vision": base tokens, the whole cost of a low-detail image
_TILE: Final = 170  # and for each 512-pixel tile of a high-detail image
_UNKNOWN: Final = 765  # an image of unknown size counts as 1024 x 1024
_LONG_EDGE: Final = 1568  # Anthropic, "Vision": longest edge in pixels after scaling down
_PIXELS: Final = 750  # pixels of one token
_MOST: Final = 1600  # tokens of the largest image, also used if the size is unknown
_NOT_PLAIN: Final = lazy.pattern(r"[^\w.+ -]+")
_LONGEST_NAME: Final = 80
_CODED: Final = lazy.pattern(r"[^=]*=*")  # as far as the padding: what stands behind it newer Pythons refuse and others drop
_SOURCE: Final = 16  # hexadecimal digits
_HEADER: Final = 65_536  # characters of base64 within which every supported format states its size


def attachment(path: Path, part: Mapping[str, Any]) -> Attachment:
    """The attachment for a part of content that is not text."""
    kind = str(part.get("type") or "part")
    if "image_url" in part:
        url = part["image_url"].get("url") if isinstance(part["image_url"], dict) else part["image_url"]
        name, size = _named(url)
        source = _source(url, part.get("file_id"))
        return Attachment(path, "image", name or _plain_name(part.get("file_id")), size, source=source)
    inside = part.get(kind)
    held = inside if isinstance(inside, dict) else part
    kind = _plain_name(kind.removeprefix("input_").removesuffix("_url"))
    where = held.get("file_data") or held.get("data") or held.get("file_url") or held.get("url")
    address, size = _named(where)
    names = (_plain_name(held.get("filename")), _plain_name(held.get("file_id")), address)
    return Attachment(path, kind, next(filter(None, names), ""), size, source=_source(where, held.get("file_id")))


def source_attachment(path: Path, block: Mapping[str, Any]) -> Attachment:
    """The attachment for a block with a `source` (Anthropic's images and documents) or of an unknown kind."""
    kind = str(block.get("type") or "block")
    source = block.get("source")
    held = source if isinstance(source, dict) else {}
    name, _ = _named(held.get("url")) if "url" in held else ("", 0)
    title = block.get("title")
    said = _plain_name(title if isinstance(title, str) else held.get("file_id") or block.get("file_id")) or _plain_type(
        held.get("media_type")
    )
    in_clear = held.get("type") in ("text", "content")
    source_id = _source(held.get("data") or held.get("url"), held.get("file_id") or block.get("file_id"))
    return Attachment(path, _plain_name(kind), name or said, _named(held.get("data"))[1], in_clear, source_id)


def labels(attached: Sequence[Attachment], most: int) -> list[str]:
    """Labels of attachments: equal ones once with their number, and the number of those beyond `most` labels.

    Unnamed attachments, such as an agent's screenshots, differ only in size, so they share a label.
    """
    alike: dict[tuple[str, str, int], list[Attachment]] = {}
    for one in attached:
        named = one.name and "/" not in one.name  # a name has no slash, a media type does
        alike.setdefault((one.kind, one.name, one.size if named else min(1, one.size)), []).append(one)
    said = [_label(group) for group in islice(alike.values(), most)]
    rest = sum(map(len, islice(alike.values(), most, None)))
    return [*said, f"{rest} more"] if rest else said


def _label(alike: Sequence[Attachment]) -> str:
    """The label of attachments that differ at most in size."""
    least, most = min(one.size for one in alike), max(one.size for one in alike)
    of_any = alike[0].label if least == most else f"{replace(alike[0], size=0).label}, {least:,} to {most:,} bytes"
    return f"{len(alike)} × {of_any}" if len(alike) > 1 else of_any


def source_tokens(block: Mapping[str, Any]) -> int:
    """Tokens of an image block with a `source`; 0 for other blocks."""
    if block.get("type") != "image":
        return 0
    source = block.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    size = _size(f"data:image;base64,{data}") if isinstance(data, str) else None
    if size is None:
        return _MOST
    fit = min(1.0, _LONG_EDGE / max(size))
    return min(_MOST, math.ceil(size[0] * size[1] * fit * fit / _PIXELS))


def _source(where: object, file_id: object) -> str:
    """What tells an attachment from others: a digest, after `AT_ADDRESS` if its content may change under its address."""
    named = where if isinstance(where, str) and where else file_id
    if not isinstance(named, str) or not named:
        return ""
    address = AT_ADDRESS if named is where and named.startswith(("http://", "https://")) else ""
    return address + digest(named).hex()[:_SOURCE]


def _named(url: object) -> tuple[str, int]:
    """The name in an address, or the number of bytes in a data URL."""
    if not isinstance(url, str):
        return "", 0
    head, mark, data = url.partition(";base64,")
    if mark or not url.startswith(("http://", "https://")):
        coded = data if mark else url
        return _plain_type(head.removeprefix("data:")) if mark else "", len(coded) * 3 // 4
    return _plain_name(url.partition("?")[0].rstrip("/").rpartition("/")[2]), 0


def _plain_name(name: object) -> str:
    """A name in a form that is safe inside one of Turnfold's markers."""
    return _NOT_PLAIN.sub("_", name)[:_LONGEST_NAME] if isinstance(name, str) else ""


def _plain_type(media: object) -> str:
    """A media type in the same form, without parameters."""
    return "/".join(map(_plain_name, media.partition(";")[0].split("/", 1))) if isinstance(media, str) else ""


def media_tokens(parts: Sequence[Any]) -> int:
    """Tokens of a content list's images. Audio and files count 0: no document states their price by size."""
    return sum(_image(part["image_url"]) for part in parts if isinstance(part, dict) and "image_url" in part)


def _image(image: Any) -> int:
    url = image.get("url") if isinstance(image, dict) else image
    if isinstance(image, dict) and image.get("detail") == "low":
        return _LOW
    size = _size(url) if isinstance(url, str) else None
    if size is None:
        return _UNKNOWN
    width, height = size
    fit = min(1.0, 2048 / max(width, height))
    fit *= min(1.0, 768 / (min(width, height) * fit))
    return _LOW + _TILE * math.ceil(width * fit / 512) * math.ceil(height * fit / 512)


def _size(url: str) -> tuple[int, int] | None:
    head, mark, data = url.partition(";base64,")
    if not mark or not head.startswith("data:image"):
        return None
    try:
        coded = _CODED.match(data, 0, _HEADER)[0]  # type: ignore[index]  # it matches everything, nothing too
        width, height = imagesize.get(BytesIO(b64decode(coded)))
    except (binascii.Error, ValueError):
        return None
    return (width, height) if width > 0 and height > 0 else None
