"""Of a code base that was pasted what a request names is there whole: a class, a function, a file; and each quote says its file.

These tests cover long pastes, and requests long after. They leave out code that is short enough to be quoted whole
(``test_handed_code``, ``test_works``).
"""

from __future__ import annotations

from itertools import product
from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.code_definitions import definitions
from turnfold.compression.text.dialogue.wanted.code_files import file_parts
from turnfold.compression.text.dialogue.wanted.code_parts import call_places, named_parts

_PYTHON: Final = '''"""Berths of a harbour."""

import math
from dataclasses import dataclass

TIDE_MARGIN_CM = 30


@dataclass
class BerthPlan:
    """Who lies where."""

    piers: list[str]

    def assign(self, boat: Boat) -> str:
        """The first pier that is deep enough."""
        for pier in self.piers:
            if depth_of(pier) - TIDE_MARGIN_CM >= boat.draught_cm:
                return pier
        raise LookupError(boat.name)

    def release(self, pier: str) -> None:
        self.piers.append(pier)


def depth_of(pier: str) -> int:
    # Soundings of last spring.
    return {"north": 420, "south": 380}.get(pier, 250)
'''
_TYPESCRIPT: Final = """import { Boat } from './boat';

export interface Invoice {
  boat: string;
  cents: number;
}

/** Fees by days and metres. */
export function mooringFee(days: number, metres: number): number {
  const raw = days * metres * 135;
  if (days > 28) {
    return Math.round(raw * 0.82);
  }
  return raw;
}

export class Ledger {
  private open: Invoice[] = [];

  async settle(boat: string): Promise<number> {
    const due = this.open.filter((one) => one.boat === boat);
    this.open = this.open.filter((one) => one.boat !== boat);
    return due.reduce((sum, one) => sum + one.cents, 0);
  }
}
"""
_GO: Final = """package pilots

func (r *Roster) NextPilot(at time.Time) (*Pilot, error) {
\tfor _, p := range r.pilots {
\t\tif p.onDuty(at) {
\t\t\treturn p, nil
\t\t}
\t}
\treturn nil, errNoPilot
}
"""
_FILLING: Final = "\n\n\n".join(
    f'def survey_{n}(pier, day):\n    """Soundings of stretch {n}."""\n'
    f"    row = load_row(pier, {n * 7 + 3})\n    return row.depth - row.silt * {n + 2}"
    for n in range(40)
)
_FILES: Final = {"src/berths.py": _PYTHON, "web/fees.ts": _TYPESCRIPT, "pilots/roster.go": _GO, "src/surveys.py": _FILLING}
_STYLES: Final = {
    "fences": "### {path}\n```\n{code}\n```",
    "elements": '<file path="{path}">\n{code}\n</file>',
    "rules": "================\nFILE: {path}\n================\n{code}",
}


def _sent(question: str, style: str = "fences", answers: dict[int, str] | None = None, share: float | None = None) -> str:
    files = "\n\n".join(_STYLES[style].format(path=path, code=code) for path, code in _FILES.items())
    said: list[Message] = []
    for n in range(60):
        said.append({"role": "user", "content": f"Here is my project.\n\n{files}" if n == 4 else prose(n, "en", 3)})
        said.append({"role": "assistant", "content": (answers or {}).get(n, prose(500 + n, "en", 6))})
    return forwarded(said, question, share)


@each(
    ("style", "question", "path", "lines"),
    every(
        2,
        crosswise(
            [
                (style, *row)
                for style in _STYLES
                for row in [
                    (
                        "Refactor BerthPlan to use a heap.",
                        "src/berths.py",
                        ("@dataclass", "raise LookupError(boat.name)", "self.piers.append(pier)"),
                    ),
                    (
                        "Is there an error in mooringFee?",
                        "web/fees.ts",
                        ("/** Fees by days and metres. */", "Math.round(raw * 0.82)", "return raw;"),
                    ),
                    (
                        "how does next pilot deal with nobody on duty",
                        "pilots/roster.go",
                        ("NextPilot(at time.Time)", "return nil, errNoPilot"),
                    ),
                    ("Warum gibt die Funktion settle 0 zurück?", "web/fees.ts", ("async settle(boat", "due.reduce((sum, one)")),
                ]
            ],
            4,
        ),
    ),
)
def test_a_definition_that_is_named_is_there_whole_with_its_file(
    question: str, path: str, lines: tuple[str, ...], style: str
) -> None:
    sent = _sent(question, style)
    assert path in sent
    for line in lines:
        assert line in sent


def test_of_a_file_that_is_named_all_is_there_or_what_it_defines() -> None:
    assert _PYTHON.strip() in _sent("Review berths.py please")
    outline = _sent("Explain src/surveys.py to me")
    assert all(f"def survey_{n}(pier, day):" in outline for n in range(40))
    assert "row.silt * 19" not in outline


def test_the_functions_of_a_file_are_listed() -> None:
    sent = _sent("List all functions in src/berths.py")
    assert "def assign(self, boat: Boat) -> str:" in sent
    assert "def depth_of(pier: str) -> int:" in sent


def test_a_definition_that_was_written_anew_is_there_in_both_forms() -> None:
    newer = "```ts\nexport function mooringFee(days: number, metres: number): number {\n  return days * metres * 141;\n}\n```"
    sent = _sent("Add a discount to mooringFee", answers={30: f"Simpler:\n\n{newer}"})
    assert "return days * metres * 141;" in sent
    assert "Math.round(raw * 0.82)" in sent


def test_the_method_of_the_class_that_is_named_is_meant() -> None:
    text = "class Pump:\n  def reset(self):\n    self.bar = 0\n\nclass Gauge:\n  def reset(self):\n    self.mark = 7\n"
    assert [(one.holder, one.name) for one in definitions(text)] == [
        ("", "Pump"), ("Pump", "reset"), ("", "Gauge"), ("Gauge", "reset"),
    ]  # fmt: skip


def test_where_definitions_begin_and_end() -> None:
    places = {one.name: _TYPESCRIPT[slice(*one.place)] for one in definitions(_TYPESCRIPT)}
    assert places["Invoice"] == "export interface Invoice {\n  boat: string;\n  cents: number;\n}\n"
    assert places["mooringFee"].startswith("/** Fees")
    assert places["mooringFee"].endswith("return raw;\n}\n")
    assert places["settle"].endswith("sum + one.cents, 0);\n  }\n")
    c = (
        "static int\nother(void);\n\nPyObject *Lock_Open(int pier)\n"
        "{\n    if (pier) {\n        return ok;\n    }\n    return 0;\n}\nint y;\n"
    )
    assert [(one.name, c[slice(*one.place)].count("\n")) for one in definitions(c)] == [("Lock_Open", 7)]


def test_lines_that_name_a_file_and_others() -> None:
    text = (
        "The tree:\nsrc/a.py\nsrc/b.py\n\nsrc/a.py\n```\nimport x.py\nfrom y import z\nopen('c.txt')\n```\n"
        "In b.py I only changed how the loop over all of the rows ends.\n\n**src/b.py**:\n```\nk = 1\nm = 2\n```\n"
    )
    assert [(one.path, text[slice(*one.place)].count("k = 1")) for one in file_parts(text)] == [("src/a.py", 0), ("src/b.py", 1)]


def test_what_a_request_names() -> None:
    named = named_parts("does the parse function in src/Tools/io_util.ts call loadUser or `send`?")
    assert named.files == ("src/tools/io_util.ts",)
    assert {"parse", "loadUser", "send"} <= named.names
    assert "digestauth" in named_parts("how does digest auth work").joined
    assert named_parts("x" * 700) == named_parts("")


@each(
    ("share", "request_of"),
    crosswise(
        product(
            [None, 0.15],
            [
                "Explain the architecture of this project.",
                "Which files are there and what is each for?",
                "Review the code for bugs.",
                "Which classes are there?",
                "How do the modules depend on each other?",
                "Port the whole thing to Rust",
                "Zeig mir den Aufbau aller Module",
            ],
        ),
        7,
    ),
)
def test_to_a_request_about_all_of_it_all_that_it_defines_is_there(request_of: str, share: float | None) -> None:
    sent = _sent(request_of, share=share)
    for line in (
        *_FILES,
        "class BerthPlan:",
        "def depth_of(pier: str) -> int:",
        "export class Ledger {",
        "def survey_39(pier, day):",
    ):
        assert line in sent


def test_code_that_the_assistant_wrote_in_parts_is_outlined_too() -> None:
    said: list[Message] = []
    for n, (path, code) in enumerate(_FILES.items()):
        said.append({"role": "user", "content": f"Now write {path}, please."})
        said.append({"role": "assistant", "content": f"Here it is.\n\n`{path}`:\n```\n{code}\n```"})
        said += [{"role": "user", "content": prose(n, "en", 3)}, {"role": "assistant", "content": prose(500 + n, "en", 12)}]
    for n in range(50):
        said += [{"role": "user", "content": prose(30 + n, "en", 3)}, {"role": "assistant", "content": prose(700 + n, "en", 12)}]
    sent = forwarded(said, "What are the classes and functions of our code?")
    for line in ("class BerthPlan:", "export class Ledger {", "NextPilot(at time.Time)"):
        assert line in sent


def _line_of(code: str, said: str) -> int:
    return next(n for n, line in enumerate(code.splitlines(), 1) if said in line)


_ERRORS: Final = {
    "python": (
        "It fails:\n```\nTraceback (most recent call last):\n"
        '  File "/srv/.venv/lib/python3.12/site-packages/click/core.py", line 9, in main\n'
        f'  File "/srv/app/src/berths.py", line {_line_of(_PYTHON, "if depth_of")}, in assign\n'
        "    if depth_of(pier) >= boat.draught_cm:\n"
        "AttributeError: 'NoneType' object has no attribute 'draught_cm'\n```\nwhy?",
        "raise LookupError(boat.name)",
    ),
    "node": (
        "TypeError: Cannot read properties of undefined (reading 'cents')\n    at Ledger.settle (file:///app/web/fees.ts:"
        f"{_line_of(_TYPESCRIPT, 'due.reduce')}:12)\n    at async Promise.all (index 0)\nWhat is wrong?",
        "this.open.filter((one) => one.boat !== boat)",
    ),
    "go": (
        "panic: runtime error: invalid memory address\n\ngoroutine 1 [running]:\nmain.main()\n"
        "\t/home/me/harbour/pilots/roster.go:"
        f"{_line_of(_GO, 'p.onDuty')} +0x1d\nexit status 2",
        "return nil, errNoPilot",
    ),
    "compiler": (
        f"web/fees.ts:{_line_of(_TYPESCRIPT, 'Math.round')}:12 - error TS2345: Argument of type 'string' is not assignable.",
        "const raw = days * metres * 135;",
    ),
    "a line of no function": (
        f'File "src/berths.py", line {_line_of(_PYTHON, "TIDE_MARGIN_CM = 30")}\nSyntaxError: invalid syntax',
        "TIDE_MARGIN_CM = 30",
    ),
}


@each(("style", "kind"), crosswise(product(_STYLES, _ERRORS), 5))
def test_the_function_that_an_error_names_is_there_whole(kind: str, style: str) -> None:
    error, line = _ERRORS[kind]
    assert line in _sent(error, style)


def test_an_error_names_places_of_the_user_alone_its_own_last() -> None:
    assert [(one.path, one.name) for one in call_places(_ERRORS["python"][0])] == [("/srv/app/src/berths.py", "assign")]
    java = "Exception in thread main\n\tat de.hafen.Pier.open(Pier.java:7)\n\tat de.hafen.Main.main(Main.java:3)\n"
    assert [(one.path, one.line, one.name) for one in call_places(java)] == [("main.java", 3, "main"), ("pier.java", 7, "open")]
    php = "#0 /var/www/src/Pier.php(31): Harbour\\\\Pier->open(1)"
    assert [(one.path, one.line, one.name) for one in call_places(php)] == [("/var/www/src/pier.php", 31, "open")]


def test_a_function_of_code_without_a_file_name_is_found_by_its_own() -> None:
    said: list[Message] = [{"role": "user", "content": f"my script\n\n{_PYTHON}"}, {"role": "assistant", "content": "Fine."}]
    for n in range(60):
        said += [{"role": "user", "content": prose(n, "en", 3)}, {"role": "assistant", "content": prose(500 + n, "en", 6)}]
    assert "raise LookupError(boat.name)" in forwarded(said, _ERRORS["python"][0])
