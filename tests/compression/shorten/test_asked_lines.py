"""Of a long result the lines stay that the task asks for.

These tests cover tables, records, configurations and diffs, and words that point to nothing. They leave out lines that stay for
what they say (``test_facts``), recall.
"""

from __future__ import annotations

import json
from typing import Final

from tests.support.cases import each
from tests.support.words import prose
from turnfold.compression.shorten.asked_lines import task_words
from turnfold.compression.shorten.registry import facts
from turnfold.compression.tokens import count

_NAMES: Final = [
    f"{a}{b}" for a in ("quay", "crane", "pilot", "ferry", "light") for b in ("north", "south", "east", "west", "mid")
]
_TEXTS: Final = {
    "csv": "name,berth,fee\n" + "\n".join(f"{name},B{n + 7},{n * 37 + 1001}" for n, name in enumerate(_NAMES)),
    "records": json.dumps(
        [{"id": f"R-{n * 37 + 1001}", "title": f"{name}: {prose(n, 'en', 1)[:50]}"} for n, name in enumerate(_NAMES)]
    ),
    "yaml": "\n".join(
        f"- kind: Pod\n  name: {name}\n  note: {prose(n, 'en', 1)[:40]}\n  podIP: 10.{n}.9.{n * 7 % 250}"
        for n, name in enumerate(_NAMES)
    ),
    "diff": "\n".join(
        f"diff --git a/{name}.ts b/{name}.ts\n--- a/{name}.ts\n+++ b/{name}.ts\n@@ -1,3 +1,3 @@\n // {prose(n, 'en', 1)[:40]}\n"
        f"-limit = {n + 300}\n+limit = {n * 37 + 1001}"
        for n, name in enumerate(_NAMES)
    ),
    "stanzas": "\n".join(
        f"BEGIN:VCARD\nFN:{name}\nNOTE:{prose(n, 'en', 2)[:90]}\nTEL;TYPE=cell:+49 {n * 37 + 1001}\nEND:VCARD"
        for n, name in enumerate(_NAMES)
    ),
    "deep records": json.dumps(
        [
            {"id": n, "parts": [{"note": prose(n, "en", 1)[:90]}, {"note": prose(n + 50, "en", 1)[:90]}, {"name": name}]}
            for n, name in enumerate(_NAMES)
        ]
    ),
}


@each(
    ("kind", "task", "needed"),
    [
        ("csv", "Which fee has craneeast?", "craneeast,B14,1260"),
        ("records", "Close the ticket of ferrymid.", "R-1704"),
        ("yaml", "Which pod IP does pilotwest have?", "podIP: 10.13.9.91"),
        ("stanzas", "Call ferrymid: what's the number?", "TEL;TYPE=cell:+49 1704"),
        ("deep records", "Which notes has ferrymid?", "name: ferrymid"),
        ("diff", "What did we set the limit of lightsouth.ts to?", "+limit = 1778"),
    ],
)
def test_what_a_task_asks_for_stays(kind: str, task: str, needed: str) -> None:
    text = _TEXTS[kind]
    keep = count(text) // 5
    said = [*task.lower().split(), *_NAMES]  # the agent has spoken of all of them
    assert needed in facts(text, keep, task_words(said, [task]), count)
    assert needed not in facts(text, keep, frozenset(said), count)


@each("task", ["Look after the harbour.", "Which fee has Beethoven?", "x" * 700])
def test_other_tasks_change_nothing(task: str) -> None:
    for text in _TEXTS.values():
        assert facts(text, 150, task_words((), [task]), count) == facts(text, 150, frozenset(), count)
