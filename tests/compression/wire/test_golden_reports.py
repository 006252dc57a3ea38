"""Which messages of text agents hold what a program gave (``tests.support.golden`` says when to write the file anew).

These tests cover conversations in which every way to end a call meets every way to frame what came of it, again and again, broken
off, or with a person among them. They leave out which of them must be told (``fold/test_reports.py``).
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Final

from tests.support import golden
from turnfold.compression.memo import Memo
from turnfold.compression.wire.reports import Reports, find_reports
from turnfold.compression.wire.wires import read_any

FILE: Final = Path(__file__).parent / "golden" / "reports.txt"
_CALLS: Final = (
    *(
        "I look.\n```sh\nls\n```",
        "Now:\n~~~\nls\n~~~\n<end>",
        "<run>ls</run>",
        "Good.\n</run>",
        '{"tool": "ls"}',
        '["ls"]',
        "It says {x}",
    ),
    *("Thought: look\nAction: ls", "Thought: look", "Gedanke: sehen\nAktion: ls", "I think that the pump is old.", "Which bay?"),
)
_LOG: Final = "2026-03-01 11:00:00 INFO reel 7 moved\n2026-03-01 11:00:01 ERROR reel 8 torn"
_RESULTS: Final = (
    *(
        "Observation: 7 files",
        f"Observation:\n{_LOG}",
        "Observation: The pump is old. Shall I sell it?",
        "<result>\nok\n</result>",
    ),
    *(
        f"<result id='3'>{_LOG}</result>",
        "[Output of 'ls']\na.py\nb.py",
        "[exit 0] Done",
        "[bay 7](x) is free",
        "a.py\nb.py\ndesk:~$",
        f"{_LOG}\n>",
    ),
    *(
        _LOG,
        '{"files": ["a.py", "b.py"]}',
        "id,bay\n1,north\n2,south",
        f"{_LOG}\n\nWhy does it fail?",
        "[Output of 'ls']\na.py\n\nWhich one is it?",
    ),
    *("Ergebnis: 7", "OK", "7", "Output 3:\n  7", "**Result:** 9", "Result: 'a' of [3]: b"),
)
_PERSONS: Final = (
    *(
        "Please sell the pump.",
        "<task>Sell it.</task>",
        "Task: sell the pump of bay 7",
        "<feedback>\nNo.\n</feedback>",
        "No, the other one.",
    ),
    *("Why?", "[urgent] sell it", "Observation: I saw it fail, so sell it"),
)
_SYSTEMS: Final = (
    "You run the desk.",
    "Write\nAction: what to do\nand you get\nObservation: what came of it",
    "End with </run>; what comes back stands in <result>.",
    'Answer in "[Output of".',
)


def _conversation(seed: int) -> list[golden.Message]:
    random = Random(f"reports {seed}")
    found: list[golden.Message] = [{"role": "system", "content": _SYSTEMS[seed % 4]}] if seed % 5 else []
    found.append({"role": "user", "content": random.choice(_PERSONS)})
    calls, results = random.sample(_CALLS, 1 + seed % 3), random.sample(_RESULTS, 1 + seed % 2)
    for i in range(random.randrange(2, 9)):
        found.append({"role": "assistant", "content": random.choice(calls)})
        if random.random() < 0.1:
            found.append({"role": "system", "content": _SYSTEMS[(seed + i) % 4]})
        said = random.choice(results) if random.random() < 0.8 else random.choice((*_PERSONS, *_RESULTS))
        found.append({"role": "user", "content": said.replace("7", str(i)) if i % 2 else said})
    return found


def test_reports_of_text_agents() -> None:
    """Read at once, and as they come in."""
    lines = []
    for first in range(0, 360, 12):
        told, found = [], 0
        for seed in range(first, first + 12):
            body = json.dumps({"model": "gpt-4o", "messages": _conversation(seed)}).encode()
            messages = read_any(body, Memo()).messages
            known, steps = Reports(), list[list[int]]()
            for end in range(1, len(messages) + 1):
                known = find_reports(messages[:end], known)
                steps.append(sorted(known.found))
            told.append((steps, sorted(find_reports(messages, Reports()).found), sorted(known.marks), sorted(known.calls)))
            found += len(known.found)
        lines.append(f"{first}: {found} found {golden.name_of(told)}")
    golden.agrees(FILE, lines)
