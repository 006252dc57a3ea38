"""Times of logs of several days, days that a message names, and failed tests: what is read, and what only looks like it.

These tests cover reading texts and questions alone. They leave out what recall quotes of them (``fold.test_named_moments``,
``fold.test_printed_parts``).
"""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.text.dialogue.wanted.failed_tests import asks_for_failed_tests, failed_tests
from turnfold.compression.text.dialogue.wanted.moments import lines_at, named_moment, timed_lines
from turnfold.compression.text.names.named_days import named_days

_AT: Final = [(day, hour, minute) for day in range(12, 16) for hour in (3, 10, 15) for minute in (5, 30, 59)]
_JOB: Final = re.compile(r"job[ /]([\d-]+)")
_LOGS: Final = {
    "iso": "\n".join(f"2026-11-{d} {h:02}:{m:02}:07 INFO job {d}-{h}-{m}" for d, h, m in _AT),
    "syslog": "\n".join(f"Nov {d} {h:02}:{m:02}:07 host app: job {d}-{h}-{m}" for d, h, m in _AT),
    "access": "\n".join(f'10.0.0.1 - - [{d}/Nov/2026:{h:02}:{m:02}:07 +0000] "GET /job/{d}-{h}-{m}" 200' for d, h, m in _AT),
    "json": "\n".join(f'{{"ts": "2026-11-{d}T{h:02}:{m:02}:07Z", "msg": "job {d}-{h}-{m}"}}' for d, h, m in _AT),
}


@pytest.mark.parametrize("log", _LOGS)
@pytest.mark.parametrize(
    ("question", "jobs"),
    [
        ("What happened on the 14th at 10:30?", ["14-10-30"]),
        ("What happened on November 13 between 10:00 and 11:00?", ["13-10-5", "13-10-30", "13-10-59"]),
        ("Was geschah am 13.11. um 15 Uhr?", ["13-15-5", "13-15-30", "13-15-59"]),
        ("What happened between 3 and 4 am yesterday?", [f"{d}-3-{m}" for d in range(12, 16) for m in (5, 30, 59)]),
        ("2026-11-15 at 3:30 pm: what was that?", ["15-15-30"]),
        ("¿Qué pasó el 14 de noviembre a las 10:30?", ["14-10-30"]),
        ("What happened on the 20th at 10:30?", []),
    ],
)
def test_lines_of_a_day(log: str, question: str, jobs: list[str]) -> None:
    moment = named_moment(question)
    assert moment is not None
    found = lines_at(timed_lines(_LOGS[log]), moment)
    assert [_JOB.findall(_LOGS[log][slice(*line.place)]) for line in found] == [[job] for job in jobs]


@each("message", ["We use version 1.2 since 10.4", "3 of the 14 tests", "it costs 3.50", "at 3 people", "1/2/3/4"])
def test_what_names_no_day(message: str) -> None:
    assert not named_days(message)


_REPORTS: Final = {
    "pytest": "FAILED tests/test_a.py::test_{} - assert 1 == 2",
    "pytest -v": "tests/test_a.py::test_{} FAILED   [ 10%]",
    "go": "    --- FAIL: Test{} (0.01s)",
    "cargo": "test {}::tests::total ... FAILED",
    "junit": '<testcase classname="x.{}Test" name="t" time="0.1">\n  <failure message="no">trace</failure>\n</testcase>',
    "unittest": "FAIL: test_{} (tests.test_a.Case)",
    "jest": "FAIL src/{}.test.ts",
    "tap": "not ok 3 - {}",
    "gradle": "FooTest > {} FAILED",
}
_PASSED: Final = (
    "tests/test_a.py::test_ok PASSED\n--- PASS: TestOk (0.01s)\ntest ok::tests::total ... ok\nok 2 - fine\nPASS src/ok.test.ts\n"
    '<testcase classname="x.OkTest" name="t" time="0.1"/>\nFooTest > fine PASSED\nThe test suite FAILED in CI.\n'
)


@each("program", _REPORTS)
def test_failed_tests_are_named(program: str) -> None:
    names = ("quay", "crane", "pilot")
    text = _PASSED.join(["", *(_REPORTS[program].format(name) + "\n" for name in names), ""])
    found = [text[slice(*place)] for places in failed_tests(text).values() for place in places]
    assert len(found) == len(names)
    assert all(name in one for name, one in zip(names, found, strict=True))


@each(
    ("message", "asks"),
    [
        ("Which tests failed?", True),
        ("List the failing tests.", True),
        ("Welche Tests sind fehlgeschlagen?", True),
        ("Quels tests échouent ?", True),
        ("哪些测试失败了？", True),
        ("Why did test_crane fail?", False),
        ("What did the crane test fail with?", False),
        ("Run all tests again.", False),
        ("Which build failed?", False),
    ],
)
def test_who_asks_for_failed_tests(message: str, asks: bool) -> None:
    assert asks_for_failed_tests(message) is asks


@each("unit", ["a::", "<testcase a ", "a > b FAILED ", "___ a "])
def test_reports_of_one_endless_line_are_read_in_time_that_grows_with_them(unit: str) -> None:
    assert_linear(failed_tests, lambda size: unit * size, 1_500)
