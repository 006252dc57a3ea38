"""Of a record that a question names, all is quoted, however deep in JSON its values stand."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import pytest

from tests.support.effort import crosswise, every
from tests.support.recalled import recall
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count
from turnfold.compression.wire.formats.chat import CHAT

Record = dict[str, Any]


def _history(r: random.Random, n: int) -> list[Record]:
    """What stands in a record between its name and what is asked."""
    return [
        {"at": f"2026-0{k + 1}-1{n % 9}", "by": {"login": f"dev{r.randrange(99)}"}, "text": prose(n + k, "en", 1)}
        for k in range(5)
    ]


def _issue(r: random.Random, n: int) -> Record:
    return {
        "id": str(n),
        "key": f"DOCKS-{4100 + n}",
        "fields": {"history": _history(r, n), "fixVersions": [{"name": f"v{r.randrange(9)}.{r.randrange(99)}.{n}"}]},
        "assignee": {"displayName": f"Person {r.randrange(999)}"},
    }


def _charge(r: random.Random, n: int) -> Record:
    card = {"brand": "visa", "last4": f"{r.randrange(10**4):04}", "checks": {"cvc_check": "pass"}}
    return {"id": f"ch_{n}k{r.randrange(10**6)}", "events": _history(r, n), "payment_method_details": {"card": card}}


# Written before the rule was run on them, and not changed after.
def _shipment(r: random.Random, n: int) -> Record:
    return {"reference": f"SHP{20_000 + n}", "legs": _history(r, n), "consignee": {"tax_number": f"PT{r.randrange(10**8)}"}}


def _span(r: random.Random, n: int) -> Record:
    tags = [{"key": "http.route", "value": f"/v1/{n}"}, {"key": "db.rows", "value": r.randrange(10**5, 10**6)}]
    return {"spanID": f"s{r.randrange(10**10):x}", "logs": _history(r, n), "tags": tags}


_Case = tuple[Callable[[random.Random, int], Record], str, Callable[[Record], tuple[str, str]]]
_CASES: Final[dict[str, _Case]] = {
    "issue": (_issue, "Which fix version does {} carry?", lambda x: (x["key"], x["fields"]["fixVersions"][0]["name"])),
    "charge": (_charge, "Which card (last4) paid {}?", lambda x: (x["id"], x["payment_method_details"]["card"]["last4"])),
    "shipment": (
        _shipment,
        "What's the tax number of the consignee of {}?",
        lambda x: (x["reference"], x["consignee"]["tax_number"]),
    ),
    "span": (_span, "How many rows did the database return in {}?", lambda x: (x["spanID"], str(x["tags"][1]["value"]))),
}


@pytest.mark.parametrize(("kind", "indent", "budget"), every(2, crosswise(product(_CASES, [None, 2], [None, 4000]), 2)))
def test_a_value_is_quoted_with_the_record_that_is_asked_for(kind: str, indent: int | None, budget: int | None) -> None:
    make, ask, reads = _CASES[kind]
    r = random.Random(f"{kind}{indent}")
    pages = [[make(r, 16 * page + n) for n in range(16)] for page in range(4)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"List every {kind}."}]
    for page, records in enumerate(pages):
        called = {"id": f"c{page}", "type": "function", "function": {"name": "search", "arguments": f'{{"page": {page}}}'}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [called]},
            {"role": "tool", "tool_call_id": f"c{page}", "content": json.dumps({"total": 64, "items": records}, indent=indent)},
            {"role": "assistant", "content": f"Read page {page}."},
            {"role": "user", "content": "The next page, please."},
        ]
    for name, value in map(reads, (pages[0][11], pages[1][13])):
        body = json.dumps({"model": "gpt-4o", "messages": [*messages[:-1], {"role": "user", "content": ask.format(name)}]})
        folded = fold(CHAT.read(body.encode(), WARM), FoldOptions(model="gpt-4o", budget=budget), WARM)
        assert _stand_together(folded.body.decode(), name, value)


def _stand_together(text: str, *said: str) -> bool:
    """Whether two texts stand within a record's length."""
    names, values = ([m.start() for m in re.finditer(re.escape(one), text)] for one in said)
    return any(abs(at - other) < 2500 for at in names for other in values)


def test_the_json_that_a_message_wants_changed_is_quoted_in_its_newest_form() -> None:
    berths = '{"service": "harbour", "port": 8080, "berths": ["north", "south"], "tide_margin": 30}'
    crew = '{"crew": [{"name": "Ada", "shift": "night"}, {"name": "Bo", "shift": "day"}], "season": 2031}'
    answers = [berths, prose(500, "en", 3), berths.replace("8080", "9090"), crew, prose(501, "en", 3)]
    said = [one for n, answer in enumerate(answers) for one in (("user", prose(n, "en", 2)), ("assistant", answer))]
    sources, memo = [Source(role, text, digest(role, text)) for role, text in said], Memo()
    for question, place in (
        ("Change the tide margin in the config object to 40.", 5),
        ("Show me the JSON object with the berths again.", 5),
        ("Add Cy on the night shift to the crew object.", 7),
        ("Update the JSON.", 7),
    ):
        found = recall(sources, Question(question, whole_room=60), 30, (), count, memo)
        assert [quote.source for quote in found] == [place]
