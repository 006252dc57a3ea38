"""Rows as tools print them: each is one record, and no passage ends within one.

These tests cover cells that look like the end of a sentence, and values over several lines. They leave out JSON and XML on one
line (``recall.test_records``) and tables in pages (``test_framed``).
"""

from __future__ import annotations

import json
from typing import Final

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.text.escapes import with_breaks
from turnfold.compression.text.passages import passages
from turnfold.compression.text.records import main_rows, records_of
from turnfold.compression.text.ties.side_by_side import side_by_side

_COMMANDS: Final = ("harbourd --serve 80", "Xorg :0", "bash -l", "Pilot (main) /srv/pilot --port 17970", "cron -f", "sshd: ada")

_PIERS: Final = ("north", "south", "east", "west", "new", "old")


def _processes(sign: str) -> str:
    return "\n".join(
        f"root  {1300 + 7 * n:7}  0.{n % 10}  0.0  {4488 + n:7}  {2048 - n:5} {sign:8} Ss   10:{n:02}   0:00 {_COMMANDS[n % 6]}"
        for n in range(40)
    )


@each("sign", ["?", "!", "…"])
def test_a_cell_that_is_a_sign_ends_no_passage(sign: str) -> None:
    text = _processes(sign)
    for start, end in passages(text):
        assert text[start:end].startswith("root")
        assert end == len(text) or text[end] == "\n"


def test_a_sign_behind_a_word_or_in_front_of_one_blank_still_does() -> None:
    text = "Is the crane free?  Yes, since noon. Qui conduit la grue ? Ada. " * 12
    found = [text[start:end] for start, end in passages(text)]
    assert len(found) > 4
    assert all(one.endswith((".", "?")) for one in found)


def test_a_value_over_several_lines_belongs_to_its_record() -> None:
    text = "\n\n".join(
        f"Package: crane-{n}\nVersion: 1.{n}\nSize: {9000 + n}\nTags: role::lifting, use::piers,\n use::harbours{n},\n"
        f" works-with::boats\nSection: piers\nDigest: {n:032x}"
        for n in range(6)
    )
    assert main_rows(text) == [(0, len(text))]
    records = [text[start:end] for start, end in records_of(text, (0, len(text)))]
    assert records == text.split("\n\n")


def test_names_with_their_values_are_no_columns_of_a_page() -> None:
    said = (
        "Not affected at all by this",
        "Mitigation by the harbour master",
        "Vulnerable, no lamp is lit here",
        "Not affected, as of today",
    )
    text = "\n".join(f"{f'Danger of the {name} pier:':40}{said[n % 4]}" for n, name in enumerate(_PIERS))
    assert not any(side_by_side(text))
    assert any(side_by_side(text.replace(":", " ")))


def test_what_ends_a_string_of_json_ends_no_passage() -> None:
    said = "from harbours import boats, cranes, lamps, ropes, and whatever else a pier of this town may be in want of"
    found = [
        json.dumps({"path": f"src/{name}.py", "text": f"{said}\n", "line_number": 900 + n, "pier": [n, n, n, n], "is_open": True})
        for n, name in enumerate(_PIERS * 3)
    ]
    text = "\n".join(found)
    assert all("line_number" in text[start:end] for start, end in passages(with_breaks(text)))
    assert with_breaks('{"a": "x\\ny"}') == '{"a": "x \ny"}'
    assert with_breaks(json.dumps(json.dumps(["a", "b"], indent=0))).count("\n") == 3


@each("unit", [" ? ", "a ?  B\n", "a: 1\n b\n", "a: 1\n  b c\n\n"])
def test_rows_are_read_in_linear_time(unit: str) -> None:
    assert_linear(lambda text: (passages(text), main_rows(text)), lambda size: unit * (size // len(unit)), 20_000)
