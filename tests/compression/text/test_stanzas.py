"""The record of several lines that a place in a program's output lies in.

These tests cover the layouts, and lines that are records of their own. They leave out which record a question names
(``recall.test_named_stanzas``).
"""

from __future__ import annotations

from typing import Final

from tests.support.cases import each
from turnfold.compression.text.ties.stanzas import Stanzas

_COMMITS: Final = "\n".join(f"commit {n}f3a\nAuthor: A\n\n    Mend pier {n}\n" for n in range(5))
_LINKS: Final = "\n".join(f"{n}: br-{n}: <UP> mtu 1500\n    link/ether 0{n}:aa\n    inet 10.0.{n}.1/16" for n in range(5))
_UNITS: Final = "\n\n".join(f"pier-{n}  <{n}.2\nSeverity: high\nfixed in {n}.3" for n in range(5))
_YAML: Final = "jobs:\n" + "\n".join(f"  - name: pier-{n}\n    env:\n      - name: A\n        value: v{n}" for n in range(5))
_CSV: Final = "id,text,due\n" + "\n".join(f'{n},"The pier {n}\nleaks, ""badly""",2026-0{n}-01' for n in range(1, 6))
_TREE: Final = ".\n" + "\n".join(f"├── dock{n}\n│   ├── pier.py\n│   └── in\n│       └── quay{n}.cfg" for n in range(5))
_ENTRIES: Final = "\n".join(f'  <e id="{n}">\n    <name>pier{n}</name>\n    <p>{n}</p>\n  </e>' for n in range(5))
_XML: Final = f"<all>\n{_ENTRIES}\n</all>"


@each(
    ("text", "at", "record"),
    [
        (_COMMITS, "Mend pier 3", "commit 3f3a\nAuthor: A\n\n    Mend pier 3\n"),
        (_LINKS, "inet 10.0.2", "2: br-2: <UP> mtu 1500\n    link/ether 02:aa\n    inet 10.0.2.1/16"),
        (_UNITS, "fixed in 4.3", "pier-4  <4.2\nSeverity: high\nfixed in 4.3"),
        (_YAML, "name: pier-1", "  - name: pier-1\n    env:\n      - name: A\n        value: v1"),
        (_CSV, "leaks, ", '1,"The pier 1\nleaks, ""badly""",2026-01-01'),
        (_TREE, "pier.py", "├── dock0\n│   ├── pier.py\n│   └── in\n│       └── quay0.cfg"),
        (_XML, "<name>pier2", '  <e id="2">\n    <name>pier2</name>\n    <p>2</p>\n  </e>'),
        ("a\nb\nc\nd\ne", "c", None),
        ("| pier | 3 |\n" * 9, "pier", None),
        ("", "", None),
    ],
)
def test_a_place_lies_in_a_record(text: str, at: str, record: str | None) -> None:
    found = Stanzas(text).around(text.index(at), 400)
    assert (found and text[slice(*found)]) == record


def test_a_record_that_is_too_long_is_none() -> None:
    assert Stanzas(_COMMITS).around(_COMMITS.index("pier 3"), 20) is None
