"""Coded bodies: read in pieces, up to a bound, and told where they are broken."""

from __future__ import annotations

import gzip
import sys
import zlib
from itertools import pairwise

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from tests.support.cases import each
from turnfold.proxy.http.codings import CodedBodyBroken, CodedBodyTooLarge, Inflater, inflate


@given(st.binary(max_size=5000), st.lists(st.integers(0, 6000), max_size=10))
def test_inflating_in_pieces(data: bytes, cuts: list[int]) -> None:
    bare = zlib.compressobj(wbits=-15)
    coded = {
        "gzip": gzip.compress(data) + gzip.compress(data),
        "deflate": zlib.compress(data + data),
        "x-gzip": gzip.compress(data + data) + b"\x00\x00",
        "zstd": zstd.compress(data) + zstd.compress(data),
        "br": brotli.compress(data + data),
    }
    for coding, body in coded.items():
        assert inflate(body, coding, 20_000) == data + data
        inflater = Inflater(coding, 20_000)
        edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
        pieces = [piece for start, end in pairwise(edges) for piece in inflater.pieces(body[start:end])]
        assert b"".join(pieces) == data + data
    assert inflate(bare.compress(data) + bare.flush(), "deflate", 20_000) == data
    # A block without a wrapping whose first byte could be the first one of a wrapping: its upper bits mean nothing.
    stored = b"\x78%s%s%s\x03\x00" % (len(data).to_bytes(2, "little"), (len(data) ^ 0xFFFF).to_bytes(2, "little"), data)
    if int.from_bytes(stored[:2], "big") % 31:
        assert inflate(stored, "deflate", 20_000) == data


def test_inflating_is_bounded() -> None:
    bomb = gzip.compress(bytes(10**7))
    with pytest.raises(CodedBodyTooLarge):
        inflate(bomb, "gzip", 10**6)
    assert len(inflate(bomb, "gzip", 10**7)) == 10**7
    assert max(len(piece) for piece in Inflater("gzip", 10**7).pieces(bomb)) <= 65536


def test_inflating_zstd_is_bounded() -> None:
    bomb = zstd.compress(bytes(10**8))
    with pytest.raises(CodedBodyTooLarge):
        inflate(bomb, "zstd", 10**6)
    assert max(len(piece) for piece in Inflater("zstd", 10**8).pieces(bomb)) < 2**24
    for broken in (b"", zstd.compress(b"abc")[:-2], b"\x28\xb5\x2f\xfd" + b"\xff" * 50, b"plain text"):
        with pytest.raises(CodedBodyBroken):
            inflate(broken, "zstd", 1000)


def test_inflating_br_is_bounded() -> None:
    bomb = brotli.compress(bytes(10**7), quality=5)
    with pytest.raises(CodedBodyTooLarge):
        inflate(bomb, "br", 10**6)
    assert max(len(piece) for piece in Inflater("br", 10**7).pieces(bomb)) < 2**18
    assert inflate(brotli.compress(b""), "br", 10) == b""
    for broken in (b"", brotli.compress(b"abc" * 50)[:-2], brotli.compress(b"abc") + b"more", b"plain text"):
        with pytest.raises(CodedBodyBroken):
            inflate(broken, "br", 1000)


@each("data", [b"", b"\x1f", b"\x1f\x8b\x08", gzip.compress(b"abc", mtime=0)[:-5], b"plain text", b"\x1f\x8b" + b"\xff" * 50])
def test_broken_codings_are_told(data: bytes) -> None:
    with pytest.raises(CodedBodyBroken):
        inflate(data, "gzip", 1000)
