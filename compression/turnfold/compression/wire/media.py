"""Tokens of what is not text in a message.

Lives here: the documented price of images in tokens. Does not belong here: decoding pixels, tokenising base64.
"""

from __future__ import annotations

import binascii
import math
from base64 import b64decode
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

import imagesize

_LOW: Final = 85  # OpenAI, "Images and vision": base tokens, all that a low-detail image costs
_TILE: Final = 170  # and each 512-pixel tile of a high-detail one
_UNKNOWN: Final = 765  # an image of unknown size counts as 1024 x 1024
_HEADER: Final = 65_536  # characters of base64 in which every format of interest says its size


def media_tokens(parts: Sequence[Any]) -> int:
    """Tokens of a content list's images; audio and files, which no document prices by size, count nothing."""
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
        width, height = imagesize.get(BytesIO(b64decode(data[:_HEADER])))
    except (binascii.Error, ValueError):
        return None
    return (width, height) if width > 0 and height > 0 else None
