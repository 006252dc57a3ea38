"""Parts of what an agent's tools printed long ago are there whole where a later message of the user's names them.

These tests cover documents, logs, configurations and code as tools print them, and errors in the newest result. They leave out
the same pasted into a talk (``test_named_*``), functions that are named (``test_printed_code``).
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Final

import pytest

from tests.support.bodies import encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold_request
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.dialogue.wanted.printed_text import printed_text

_RULES: Final = ("Ferries moor first.", "Nobody pays twice.", "Fees are due at dawn.", "Dogs stay below.", "Bells ring at noon.")
_TITLES: Final = ("Mooring order", "Double payments", "Dawn payments", "Animals aboard", "Harbour bells")
_MANUAL: Final = "# Manual\n" + "".join(
    f"\n## {n}. {title}\n\n{prose(90 + n, 'en', 12)}\n\n{rule}\n"
    for n, (title, rule) in enumerate(zip(_TITLES, _RULES, strict=True), 1)
)
_LOG: Final = [f"2026-03-04T10:{n:02}:30Z INFO pier {n * 37 + 5} {prose(700 + n, 'en', 1)[:60]}" for n in range(60)]
_PIERS: Final = {
    name: {"depth": 100 + n, "lamps": {"colour": f"shade-{n}", "watts": 40 + n}, "keeper": prose(800 + n, "en", 1)[:50]}
    for n, name in enumerate(("northquay", "southquay", "slipway", "drydock", "fuelling", "customs", "lightship", "breakwater"))
}
_CODE: Final = {
    f"src/{name}.py": f"def {name}_fee(boat, days):\n    rate = boat.metres * {n + 31}\n"
    + "".join(f"    rate += boat.extra_{k} - {n * k}\n" for k in range(12))
    + f"    return rate * days + {n + 977}\n\n\ndef {name}_name(boat):\n    return boat.label[{n} :]\n"
    for n, name in enumerate(("tides", "moorings", "cranes", "pilots"))
}
_ERROR: Final = (
    "=== FAILURES ===\n____ test_fees ____\nsrc/cranes.py:15: in cranes_fee\n    return rate * days\n"
    "E   TypeError: no days\n1 failed in 0.03s"
)


def _numbered(text: str) -> str:
    return "".join(f"{n:6}\t{line}" for n, line in enumerate(text.splitlines(keepends=True), 1))


def _sent(question: str, results: dict[str, str], newest: str = "ok", budget: int | None = None) -> str:
    """What stands behind the question."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Look after the harbour."}]
    others = {f"notes/{n}.txt": prose(500 + n, "en", 45) for n in range(34)}
    for n, (path, text) in enumerate([*results.items(), *others.items(), ("run.sh", newest)]):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "fetch", "arguments": json.dumps({"path": path})}}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{n}", "content": text})
    said += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": question}]
    folded = fold_request(encode(said), FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget), WARM)
    assert folded.changes
    return str(json.loads(folded.body)["messages"][-1]["content"]).replace(question, "", 1)


_DOCUMENTS: Final = {
    "plain": _MANUAL,
    "numbered": _numbered(_MANUAL),
    "field": json.dumps({"status": 200, "content": _MANUAL}),
}


@each(
    ("form", "question", "n"),
    every(
        2,
        crosswise(
            [
                (form, *row)
                for form in _DOCUMENTS
                for row in [("What does section 3 say?", 2), ('Explain the part on "Animals aboard".', 3)]
            ],
            2,
        ),
        1,
    ),
)
def test_a_section_of_a_document_that_was_fetched(form: str, question: str, n: int) -> None:
    sent = _sent(question, {"manual.md": _DOCUMENTS[form]})
    lines = [line for line in (*prose(91 + n, "en", 12).split("\n"), _RULES[n]) if line.strip()]
    assert all(json.dumps(line)[1:-1] in sent for line in lines)
    assert not any(rule in sent for rule in _RULES if rule != _RULES[n])


@each("form", ["{}", "api {}", '{{"line": "{}"}}'])
def test_the_lines_of_a_log_at_a_time(form: str) -> None:
    lines = [form.format(line) for line in _LOG]
    sent = _sent("What happened between 10:20 and 10:23?", {"api.log": "\n".join(lines)})
    found = [n for n, line in enumerate(lines) if line in sent]
    assert set(found) >= {20, 21, 22, 23}
    assert len(found) <= 8


@each(
    ("budget", "text"),
    every(
        2,
        crosswise(
            product(
                [None, 2_500],
                [
                    json.dumps(_PIERS, indent=2),
                    json.dumps(_PIERS, separators=(",", ":")),
                    json.dumps({"result": json.dumps(_PIERS)}),
                ],
            ),
            3,
        ),
        1,
    ),
)
def test_a_block_of_a_configuration(text: str, budget: int | None) -> None:
    sent = _sent("What is in the `drydock` key?", {"piers.json": text}, budget=budget).replace("\\", "").replace(" ", "")
    for said in ('"depth":103', '"colour":"shade-3"', '"watts":43'):
        assert said in sent


@pytest.mark.parametrize("question", every(2, ["Thank you. Now paint the fence.", "Book the 12:30 ferry for two."]))
def test_who_names_no_part_gets_none(question: str) -> None:
    sent = _sent(question, {"manual.md": _MANUAL, "api.log": "\n".join(_LOG), "piers.json": json.dumps(_PIERS)})
    assert not any(rule in sent for rule in _RULES)
    assert "shade-" not in sent


@pytest.mark.parametrize("error", [_ERROR, "src/cranes.py:9: error: Incompatible types in assignment"])
def test_functions_that_the_newest_error_names(error: str) -> None:
    read = {path: _numbered(text) for path, text in _CODE.items()}
    sent = _sent("Please repair that.", read, newest=error)
    assert "rate = boat.metres * 33" in sent
    assert "return rate * days + 979" in sent
    assert "boat.metres * 31" not in sent
    assert "boat.metres * 33" not in _sent("Please repair that.", read)


def test_a_request_about_all_code_gets_what_it_defines_and_files_as_far_as_they_have_room() -> None:
    sent = _sent("Review the code.", _CODE)
    for name in ("moorings", "cranes", "pilots"):  # the block that was folded first has the heads of "tides"
        assert f"def {name}_fee" in sent
        assert f"def {name}_name" in sent
    assert "return rate * days + 980" in sent


@each("text", [*_DOCUMENTS.values(), json.dumps(_PIERS), _numbered("a\nb\n")])
def test_places_in_what_was_printed_rise(text: str) -> None:
    printed = printed_text(text)
    places = [printed.place(at) for at in range(len(printed.text) + 1)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[-1] <= len(text)
