"""What a text is, by its structure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.text.kinds import KINDS, kind_of, parts

SAMPLES = {
    "json": '{"a": [1, 2], "b": {"c": null}}',
    "jsonl": '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n{"a": 3, "b": "z"}',
    "diff": "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    "search": "src/a.py:12:def f(x):\nsrc/a.py:31:    return f(1)\nsrc/b.py:4:from a import f",
    "log": "\n".join(f"2031-03-01 10:00:0{i} INFO started worker {i}" for i in range(6)),
    "tests": "=== test session starts ===\ncollected 2\n\na.py .F\n\nFAILED a.py::t - E\n=== 1 failed, 1 passed in 0.1s ===",
    "trace": 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nValueError: no',
    "code": "import os\n\n\ndef f(x):\n    if x:\n        return os.sep\n    return None\n",
    "listing": "total 3\n-rw-r--r-- 1 u g 12 Mar  3 12:00 a.txt\ndrwxr-xr-x 2 u g 96 Mar  3 12:00 src",
    "table": "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
    "csv": "a,b,c\n1,2,3\n4,5,6\n7,8,9\n1,1,1",
    "yaml": "name: app\nservices:\n  web:\n    image: x:1\n    ports:\n      - 80\n",
    "html": "<!DOCTYPE html><html><body><p>Hello</p></body></html>",
    "xml": '<?xml version="1.0"?><a><b/></a>',
    "binary": "iVBORw0KGgoAAAANSUhEUgAA" * 20,
    "prose": "The writers were moved one by one, beginning with the smallest. Nobody noticed any of it, which was the aim.",
}


@each("kind", SAMPLES)
def test_kind(kind: str) -> None:
    assert kind_of(SAMPLES[kind]) == kind


def test_a_cut_off_array_is_still_json() -> None:
    assert kind_of('[{"id": "a", "size": 3}, {"id": "b", "si') == "json"


def test_two_lines_of_json_are_lines_of_json() -> None:
    assert kind_of('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}') == "jsonl"


def test_a_mixed_text_is_split() -> None:
    text = f"{SAMPLES['prose']}\n{SAMPLES['diff']}\n\n{SAMPLES['trace']}\n"
    assert [part.kind for part in parts(text)] == ["prose", "diff", "trace"]


@pytest.mark.parametrize("mark", ["```", "~~~~"])
def test_a_fence_ends_at_its_own_mark(mark: str) -> None:
    fence = f"{mark}sh\nmake\n\n- a\n``\nmake test\n{mark}"
    text = f"{SAMPLES['prose']}\n{fence}\n{SAMPLES['prose']}\n"
    assert [(part.kind, part.of(text).strip()) for part in parts(text)][1] == ("fence", fence)


@given(st.text() | st.lists(st.sampled_from([line for text in SAMPLES.values() for line in text.split("\n")])).map("\n".join))
def test_parts_cover_the_text(text: str) -> None:
    assert "".join(part.of(text) for part in parts(text)) == text
    assert {part.kind for part in parts(text)} <= KINDS
