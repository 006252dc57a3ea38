"""What people ask of a table that was folded: all of its rows, some, or one; and what is asked of something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import costly, crosswise, every
from tests.support.known_folds import fold_request
from tests.support.three_wires import WIRES
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import FoldOptions
from turnfold.compression.fold import fold
from turnfold.compression.options import CachePrices

CITIES = ("Berlin", "Lyon", "Porto", "Oslo", "Gdansk")
HALF = CachePrices(0.5, 1.0)
COUNT = 100
Cells = list[tuple[str, ...]]


def staff() -> tuple[tuple[str, ...], Cells]:
    random = Random(7)
    rows: Cells = [
        (
            str(1000 + i),
            f"Person{i}",
            random.choice(CITIES),
            random.choice(("sales", "lab", "stores")),
            str(random.randrange(2000, 9000)),
        )
        for i in range(COUNT)
    ]
    return ("id", "name", "city", "team", "salary"), rows


def spend() -> tuple[tuple[str, ...], Cells]:
    random = Random(8)
    shops = [("Tesco", "groceries"), ("Zara", "clothes"), ("Esso", "fuel"), ("Boots", "health")]
    days = [f"2026-{3 + i // 50:02}-{1 + i % 28:02}" for i in range(COUNT)]
    return ("date", "shop", "category", "amount"), [
        (d, *random.choice(shops), f"{random.randrange(200, 9900) / 100}") for d in days
    ]


def runs() -> tuple[tuple[str, ...], Cells]:
    random = Random(9)
    days = [f"2026-{1 + i // 28:02}-{1 + i % 28:02}" for i in range(COUNT)]
    return ("date", "distance_km", "minutes"), [
        (d, f"{random.randrange(40, 210) / 10}", str(random.randrange(20, 130))) for d in days
    ]


TABLES = {"staff": ("Here is our staff:", staff), "spend": ("These are my expenses:", spend), "runs": ("My running log:", runs)}


def csv(head: tuple[str, ...], cells: Cells) -> list[str]:
    return [",".join(row) for row in [head, *cells]]


def tsv(head: tuple[str, ...], cells: Cells) -> list[str]:
    return ["\t".join(row) for row in [head, *cells]]


def markdown(head: tuple[str, ...], cells: Cells) -> list[str]:
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {' | '.join(row)} |" for row in cells)]


def html(head: tuple[str, ...], cells: Cells) -> list[str]:
    said = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells]
    return [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>", *said]


def objects(head: tuple[str, ...], cells: Cells) -> list[str]:
    return [json.dumps(dict(zip(head, row, strict=True))) for row in cells]


def fixed(head: tuple[str, ...], cells: Cells) -> list[str]:
    return ["".join(cell.ljust(12) for cell in row).rstrip() for row in [head, *cells]]


FORMS = (csv, tsv, markdown, html, objects, fixed)


def talk(turns: int) -> list[Message]:
    asked = ((f"Tell me about berth {i}.", prose(i, "en", 5)) for i in range(turns))
    return [{"role": role, "content": text} for pair in asked for role, text in zip(("user", "assistant"), pair, strict=True)]


def folded_table(name: str, form: Callable[[tuple[str, ...], Cells], list[str]]) -> tuple[list[str], list[Message]]:
    intro, made = TABLES[name]
    rows = form(*made())
    start = [{"role": "user", "content": "\n".join([intro, "", *rows])}, {"role": "assistant", "content": "I have read it."}]
    return rows, [*start, *talk(45)]


def forwarded(messages: list[Message], ask: str, budget: int | None = None) -> str:
    body = encode([*messages, {"role": "user", "content": ask}], model="gpt-4o")
    sent = json.loads(fold_request(body, FoldOptions(budget=budget, prices=HALF), WARM).body)["messages"]
    return "\n".join(message["content"] for message in sent)


def quoted(text: str) -> str:
    return text[text.rfind("<quotes:") :] if "<quotes:" in text else ""


ALL = [
    ("staff", "What's our total payroll?"),
    ("staff", "Is anyone in the list twice?"),
    ("staff", "If everyone got a 3% raise, what would it cost us?"),
    ("staff", "Turn the staff list into a markdown table."),
    ("staff", "Was kosten uns alle Gehälter zusammen?"),
    ("staff", "Transforme le tableau en JSON."),
    ("staff", "都市ごとの人数を教えて"),
    ("staff", "Pásame la tabla a formato CSV."),
    ("spend", "Where does most of my money go?"),
    ("spend", "Did I spend more in March or in April?"),
    ("spend", "Add up everything from April."),
    ("spend", "What was my single largest purchase?"),
    ("spend", "Quanto gastei em abril?"),
    ("spend", "4月の支出はいくらでしたか？"),
    ("runs", "What was my fastest run?"),
    ("runs", "What's my average pace?"),
    ("runs", "Was war mein schnellster Lauf?"),
    ("runs", "Combien de kilomètres j'ai courus en tout ?"),
]


@pytest.mark.parametrize(("at", "name", "ask"), every(4, [*[(at, *one) for at, one in enumerate(ALL)]], 2))
def test_a_question_that_all_rows_go_into_gets_all(at: int, name: str, ask: str) -> None:
    rows, messages = folded_table(name, FORMS[at % len(FORMS)])
    text = forwarded(messages, ask)
    assert [row for row in rows if row not in text] == []


SOME = [
    ("staff", "Who works in Lyon?", "Lyon"),
    ("staff", "Show me the people in Oslo.", "Oslo"),
    ("staff", "Wer arbeitet in Lyon?", "Lyon"),
    ("staff", "Qui travaille à Lyon ?", "Lyon"),
    ("staff", "Quem trabalha em Porto?", "Porto"),
    ("spend", "What did I spend on groceries?", "groceries"),
]


@each(
    ("budget", "at", "name", "ask", "value"),
    crosswise([(budget, *row) for budget in [None, 2500] for row in [(at, *one) for at, one in enumerate(SOME)]], 6),
)
def test_all_rows_of_a_value_are_quoted_and_no_others(at: int, name: str, ask: str, value: str, budget: int | None) -> None:
    rows, messages = folded_table(name, FORMS[at % len(FORMS)])
    text = forwarded(messages, ask, budget)
    assert [row for row in rows if value in row and row not in text] == []
    assert (
        sum(row in quoted(text) for row in rows if value not in row) <= 2
    )  # the head, and what stands in front of the first row


LOOKUPS = [
    ("What is Person37's salary?", "Person37"),
    ("How much does Person82 earn?", "Person82"),
    ("Who has id 1064?", "1064"),
    ("¿Cuánto gana Person55?", "Person55"),
    ("In welchem Team ist Person81?", "Person81"),
    ("Person81の給料はいくらですか？", "Person81"),
    ("Tell me the salary of Person49.", "Person49"),
]


@each(
    ("budget", "at", "ask", "value"),
    crosswise([(budget, *row) for budget in [None, 2500] for row in [(at, *one) for at, one in enumerate(LOOKUPS)]], 7),
)
def test_a_look_up_gets_its_row_as_it_was_and_hardly_others(at: int, ask: str, value: str, budget: int | None) -> None:
    rows, messages = folded_table("staff", FORMS[at % len(FORMS)])
    text = forwarded(messages, ask, budget)
    assert [row for row in rows if value in row and row not in text] == []
    assert sum(row in quoted(text) for row in rows) <= 4


@each(
    "ask",
    [
        "Write a poem about the best city in the world.",
        "Which is the largest city in Norway?",
        "What's the best way to ask for a higher salary?",
        "What is the average salary of a nurse in Germany?",
        "How do I sort a list in Python?",
        "Welche ist die größte Stadt in Norwegen?",
        "Quelle est la plus grande ville du Portugal ?",
        "Qual é a maior cidade de Portugal?",
    ],
)
def test_what_is_asked_of_something_else_brings_no_table_back(ask: str) -> None:
    rows, messages = folded_table("staff", csv)
    text = forwarded(messages, ask)
    others = forwarded(messages, "Tell me about berth 3 again.")
    assert sum(row in text for row in rows) <= sum(row in others for row in rows) + COUNT // 4


NEEDED: list[tuple[str, str, Callable[[Cells], list[int]]]] = [
    ("staff", "Which of them earns the most?", lambda rows: [max(range(COUNT), key=lambda n: int(rows[n][4]))]),
    ("staff", "Rank the three worst paid people.", lambda rows: sorted(range(COUNT), key=lambda n: int(rows[n][4]))[:3]),
    ("staff", "How many people earn above 8400?", lambda rows: [n for n in range(COUNT) if int(rows[n][4]) > 8400]),
    ("staff", "Wer verdient weniger als 2500?", lambda rows: [n for n in range(COUNT) if int(rows[n][4]) < 2500]),
    ("spend", "What was my single largest purchase?", lambda rows: [max(range(COUNT), key=lambda n: float(rows[n][3]))]),
    ("runs", "Which was my longest run?", lambda rows: [max(range(COUNT), key=lambda n: float(rows[n][1]))]),
    ("runs", "List all runs between 6.0 and 7.0 km.", lambda rows: [n for n in range(COUNT) if 6 <= float(rows[n][1]) <= 7]),
]


@each(("form", "name", "ask", "needed"), crosswise([(form, *row) for form in FORMS for row in NEEDED], 7))
def test_where_not_all_rows_fit_those_that_the_question_needs_are_quoted_and_it_is_said(
    name: str, ask: str, needed: Callable[[Cells], list[int]], form: Callable[[tuple[str, ...], Cells], list[str]]
) -> None:
    rows, messages = folded_table(name, form)
    text = quoted(forwarded(messages, ask, 1500))
    first = 1 + (form == markdown) - (form == objects)  # markdown has a rule below its head, objects have no head
    assert [rows[first + n] for n in needed(TABLES[name][1]()[1]) if rows[first + n] not in text] == []
    assert " rows]: " in text


def test_the_fence_says_where_a_budget_cuts_rows() -> None:
    rows, messages = folded_table("staff", csv)
    text = quoted(forwarded(messages, "What is the average salary?", 900))
    shown = sum(row in text for row in rows[1:])
    assert 1 < shown < COUNT
    assert f"\nuser [{shown} of {COUNT} rows]: Here is our staff:" in text
    assert "rows]:" not in forwarded(messages, "What is the average salary?")


@each(("name", "from_tool"), every(2, crosswise(product(sorted(WIRES), [False, True]), 2), 1))
def test_rows_are_there_on_every_wire(name: str, from_tool: bool) -> None:
    on, memo = WIRES[name], WARM
    rows = csv(*staff())
    text = "\n".join(rows)
    call: list[dict[str, Any]] = [
        {"role": "user", "content": "Get the staff."},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "sql", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": text},
        {"role": "assistant", "content": "I have it."},
    ]
    start = call if from_tool else [{"role": "user", "content": f"Our staff:\n{text}"}, {"role": "assistant", "content": "Read."}]
    for ask, needed in (("What's our total payroll?", rows), ("Who works in Lyon?", [row for row in rows if "Lyon" in row])):
        body = on.encode([*start, *talk(60), {"role": "user", "content": ask}])
        sent = fold(on.wire.read(body, memo), FoldOptions(prices=HALF), memo)
        assert on.faults(body, sent.body) == []
        said = "\n".join(message.text for message in sent.forwarded.messages)
        assert [row for row in needed if row not in said] == []


NAMES = st.text(st.characters(categories=["Lu", "Ll"], max_codepoint=0x17F), min_size=3, max_size=9).map(str.title)


@costly(8)
@given(st.lists(st.tuples(NAMES, NAMES, st.integers(10, 99_999)), min_size=60, max_size=90), st.integers(0, 59), st.booleans())
def test_a_row_that_is_asked_about_by_name_is_never_altered(cells: list[tuple[str, str, int]], at: int, tight: bool) -> None:
    rows = [f"{name} {i}x{i},{town},{paid}" for i, (name, town, paid) in enumerate(cells)]
    table = "\n".join(["name,town,salary", *rows])
    messages: list[Message] = [
        {"role": "user", "content": f"Our staff:\n{table}"},
        {"role": "assistant", "content": "Read."},
        *talk(45),
    ]
    text = forwarded(messages, f"What is the salary of {at}x{at}?", 2500 if tight else None)
    assert rows[at] in text
    lines = {line.removeprefix("… ").removeprefix("user: ") for line in quoted(text).splitlines() if f"{at}x{at}" in line}
    assert lines <= {rows[at], f"What is the salary of {at}x{at}?"}
