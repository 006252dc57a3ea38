"""A line and the only one that is indented below it stand in one passage.

Lives here: that no passage ends between them. Does not belong here: other borders of passages.
"""

from __future__ import annotations

import pytest

from tests.support.growth import assert_linear
from turnfold.compression.text.passages import passages

DETAILS = {
    "tests": ("tests/test_unit_{0}.py::test_{0} FAILED", "    E   AssertionError: expected '{0}' but got 7"),
    "frames": ('  File "/srv/unit_{0}.py", line {0}, in read', "    read(unit_{0})"),
    "yaml": ("unit-{0}:", "  port: 80{0}"),
}


@pytest.mark.parametrize("kind", DETAILS)
def test_no_passage_ends_above_a_lines_only_detail(kind: str) -> None:
    head, detail = DETAILS[kind]
    text = "\n".join(f"{head.format(n)}\n{detail.format(n)}" for n in range(10, 99))
    quoted = [text[start:end] for start, end in passages(text)]
    assert len(quoted) > 10
    for n in range(10, 99):
        assert any(head.format(n).strip() in one and detail.format(n).strip() in one for one in quoted)


def test_finding_them_takes_linear_time() -> None:
    head, detail = DETAILS["tests"]
    assert_linear(passages, lambda size: f"{head}\n{detail}\n" * size, 500)
