"""Headers on their way through: what crosses, what does not, in which order.

These tests cover the functions by tables. They leave out what servers and clients make of it on the wire (``test_edges``).
"""

from __future__ import annotations

import pytest

from tests.support.cases import each
from turnfold.proxy.http.headers import (
    first,
    forwarded_headers,
    returned_headers,
    sendable,
    wishes,
    with_content_codings,
    without,
)
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.outbound.betas import with_betas

Headers = list[tuple[bytes, bytes]]
PLAIN = (b"accept-encoding", b"br")


@each(
    ("given", "kept"),
    [
        ([], [(b"accept-encoding", b"identity")]),
        ([PLAIN], [PLAIN]),
        ([(b"x", b"1"), PLAIN, (b"x", b"2")], [(b"x", b"1"), PLAIN, (b"x", b"2")]),
        ([PLAIN, (b"host", b"h"), (b"expect", b"100-continue"), (b"te", b"trailers"), (b"upgrade", b"h2c")], [PLAIN]),
        ([PLAIN, (b"content-length", b"3")], [PLAIN, (b"content-length", b"3")]),
        ([PLAIN, (b"content-length", b"3"), (b"transfer-encoding", b"chunked")], [PLAIN]),
        ([(b"connection", b"close, X-Own , "), (b"x-own", b"1"), (b"x-other", b"2"), PLAIN], [(b"x-other", b"2"), PLAIN]),
        ([(b"x-turnfold-mode", b"on"), (b"x-turnfold-via", b"a"), PLAIN], [(b"x-turnfold-via", b"a"), PLAIN]),
    ],
)
def test_what_goes_upstream(given: Headers, kept: Headers) -> None:
    assert forwarded_headers(given) == kept


@each(
    ("given", "status", "kept"),
    [
        ([(b"Content-Length", b"3"), (b"X", b"1")], 200, [(b"Content-Length", b"3"), (b"X", b"1")]),
        ([(b"Content-Length", b"3"), (b"X", b"1")], 204, [(b"X", b"1")]),
        ([(b"Content-Length", b"3"), (b"X", b"1")], 304, [(b"X", b"1")]),
        (
            [(b"Connection", b"x-own"), (b"X-Own", b"1"), (b"Keep-Alive", b"9"), (b"x-turnfold-a", b"1")],
            200,
            [(b"x-turnfold-a", b"1")],
        ),
    ],
)
def test_what_comes_back(given: Headers, status: int, kept: Headers) -> None:
    assert returned_headers(given, status) == kept


@each(
    ("given", "told"),
    [
        ([PLAIN], [PLAIN]),
        ([(b"transfer-encoding", b"chunked")], [(b"transfer-encoding", b"chunked")]),
        ([(b"Transfer-Encoding", b" Identity, chunked")], [(b"Transfer-Encoding", b" Identity, chunked")]),
        ([(b"transfer-encoding", b"gzip")], [(b"transfer-encoding", b"chunked"), (b"content-encoding", b"gzip")]),
        (
            [(b"Content-Encoding", b"br"), (b"transfer-encoding", b"x-gzip"), (b"Transfer-Encoding", b"deflate, chunked")],
            [(b"transfer-encoding", b"chunked"), (b"content-encoding", b"br, x-gzip, deflate")],
        ),
    ],
)
def test_transfer_codings_are_told_as_content_codings(given: Headers, told: Headers) -> None:
    assert list(with_content_codings(given)) == told
    assert list(with_content_codings(told)) == told


def test_one_header_of_several() -> None:
    given = [(b"a", b"1"), (b"B", b"2"), (b"a", b"3")]
    assert (first(given, b"a"), first(given, b"b")) == (b"1", None)
    assert without(given, b"b") == [(b"a", b"1"), (b"a", b"3")]
    assert without(given, b"a", b"c") == [(b"B", b"2")]


@each("byte", [0, 8, 10, 13, 31, 127])
def test_control_characters_are_refused_by_name(byte: int) -> None:
    with pytest.raises(Refused) as refused:
        sendable([(b"x-good", b"a\tb"), (b"x-bad", b"a%cb" % byte)])
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, "invalid_header", "x-bad")
    assert str(refused.value) == "The header x-bad has control characters in it."


def test_others_may_be_sent() -> None:
    given = [(b"x", b"a\tb \x80\xff~"), (b"y", b"")]
    assert sendable(given) == tuple(given)


@each(
    ("value", "tools", "roles"),
    [
        (b"", set(), set()),
        (b" tool: Read ,role:user,, tool:a:b", {"Read", "a:b"}, {"user"}),
        (b"role:tool, role:assistant, role:tool", set(), {"tool", "assistant"}),
    ],
)
def test_what_is_kept(value: bytes, tools: set[str], roles: set[str]) -> None:
    keep = wishes([(b"x-turnfold-keep", value)]).keep
    assert (set(keep.tools), set(keep.roles)) == (tools, roles)


def test_a_list_in_several_headers_is_one() -> None:
    keep = wishes([(b"x-turnfold-keep", b"tool:Read, role:user"), (b"x-turnfold-keep", b"tool:Grep")]).keep
    assert (set(keep.tools), set(keep.roles)) == ({"Read", "Grep"}, {"user"})


@each(
    ("name", "values"),
    [
        ("mode", (b"on", b"off")),
        ("budget", (b"5000", b"6000")),
        ("conversation", (b"a", b"b")),
        ("state", (b"enforce", b"observe")),
    ],
)
def test_a_header_has_one_value(name: str, values: tuple[bytes, bytes]) -> None:
    header = f"x-turnfold-{name}"
    assert wishes([(header.encode(), values[0])] * 2) == wishes([(header.encode(), values[0])])
    with pytest.raises(Refused) as refused:
        wishes([(header.encode(), value) for value in values])
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, "invalid_header", header)


def test_names_in_latin_1_are_different_ones() -> None:
    def name(value: bytes) -> str | None:
        return wishes([(b"x-turnfold-conversation", value)]).conversation

    assert name("Gespräch".encode()) == name("Gespräch".encode("latin-1")) == "Gespräch"
    assert name("Gesprüch".encode("latin-1")) == "Gesprüch"


@pytest.mark.parametrize("letter", ["x", "ё"])
@pytest.mark.parametrize(("length", "fits"), [(512, True), (513, False)])
def test_names_of_conversations(length: int, fits: bool, letter: str) -> None:
    """As many characters as a path or body may name a conversation by."""
    name = letter * length
    given = [(b"x-turnfold-conversation", name.encode())]
    if fits:
        assert wishes(given).conversation == name
        return
    with pytest.raises(Refused):
        wishes(given)


@each(("value", "budget"), [(b" 12 ", 12), (b"999999999999", 999_999_999_999), (b"1000000000000", None), (b"012", None)])
def test_a_budget_is_read_or_refused(value: bytes, budget: int | None) -> None:
    given = [(b"x-turnfold-budget", value)]
    if budget is not None:
        assert wishes(given).budget == budget
        return
    with pytest.raises(Refused):
        wishes(given)


@each(
    ("values", "names", "named"),
    [
        ([], [], []),
        ([b"a"], [], [b"a"]),
        ([], ["x", "y"], [b"x,y"]),
        ([b"a, x"], ["x", "y"], [b"a, x,y"]),
        ([b"a", b"b"], ["x"], [b"a", b"b,x"]),
        ([b"x", b"b"], ["x"], [b"x", b"b"]),
        ([b" "], ["x"], [b"x"]),
    ],
)
def test_features_are_named_once(values: list[bytes], names: list[str], named: list[bytes]) -> None:
    between = (b"x-other", b"x")
    given = [pair for value in values for pair in ((b"anthropic-beta", value), between)]
    found = with_betas(given, names)
    assert [value for key, value in found if key == b"anthropic-beta"] == named
    assert [key for key, _ in found][: len(given)] == [key for key, _ in given]
