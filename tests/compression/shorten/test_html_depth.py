"""Pages whose tags are nested more deeply than a parser takes in linear time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.support.cases import each
from turnfold.compression.shorten.kinds.html_depth import with_few_open
from turnfold.compression.shorten.kinds.html_text import page_lines


def _depth(page: str) -> int:
    """How many elements stand in each other at most."""
    root = LexborHTMLParser(page).root
    assert root is not None
    depths = {root.mem_id: 1}
    for node in root.traverse():
        if node.parent is not None:
            depths[node.mem_id] = depths.get(node.parent.mem_id, 0) + 1
    return max(depths.values())


@each("tag", ["div", "x-part", "table><tr><td", "ul><li", "section><p"])
def test_what_stands_in_tags_beyond_the_limit_is_shown_in_order(tag: str) -> None:
    page = "".join(f"<{tag}>part {n}" for n in range(1200))
    told = " ".join(page_lines(page))
    assert re.findall(r"part (\d+)", told) == [str(n) for n in range(1200)]


@each(
    "unit",
    [
        "<div>",
        "<div></y>",
        "<x><div></x>",
        "<div><table><td></div>",
        "<svg><desc><div></svg>",
        "<b><i>",
        "<p><b>",
        "<svg><g>",
        "<select><option><div>",
        "<math><mi>",
        "<script></script><div>",
        "<script>'</b><b>'</script><div>",
    ],
)
def test_few_elements_are_open_at_once(unit: str) -> None:
    page = unit * 4000
    assert 3 < _depth(with_few_open(page)) < 3 * 256


@each("unit", ["<div><p>a <b>b</b> c</p></div>", "<p><b>a</b>", "<li>a<br>", "<svg><path d='M0'/></svg>a", "<p><a>x</a><img>"])
def test_a_page_of_many_tags_that_end_is_left_alone(unit: str) -> None:
    page = unit * 1000
    assert with_few_open(page) == page


@given(st.lists(st.sampled_from(["<div>", "</div>", "<b>", "</b>", "<p>", "<ul>", "<li>", "</ul>", "a", "b "]), max_size=120))
def test_an_ordinary_page_is_left_alone(parts: list[str]) -> None:
    page = "".join(part for part in parts if part != "<b>")
    assert with_few_open(page) == page


def test_text_in_scripts_opens_nothing() -> None:
    page = "<script>" + "if (a <div) x();" * 400 + "</script>" + "<div>a</div>" * 3
    assert with_few_open(page) == page
    assert page_lines(page) == ["a"] * 3


def test_a_tag_of_very_many_attributes_loses_them() -> None:
    page = "<p " + " ".join(f'a{n}="x > y"' for n in range(4000)) + ">told</p>"
    assert with_few_open(page) == "<p>told</p>"
    assert page_lines(page) == ["told"]
