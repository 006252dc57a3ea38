"""A table that somebody works on: an average of a third of its rows would be wrong, so all that count are in the request."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise, product
from random import Random

from tests.support.bodies import Message, cuts, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import FoldOptions
from turnfold.compression.options import CachePrices

CITIES = ("Berlin", "Lyon", "Porto", "Oslo", "Gdansk")
TEAMS = ("sales", "support", "lab", "stores")
HALF = CachePrices(0.5, 1.0)
Form = Callable[[int], list[str]]


def cells(count: int) -> list[tuple[str, ...]]:
    random = Random(count)
    return [
        (str(1000 + i), f"Person{i}", random.choice(CITIES), random.choice(TEAMS), str(random.randrange(2000, 9000)))
        for i in range(count)
    ]


def csv(count: int) -> list[str]:
    return ["id,name,city,team,salary", *map(",".join, cells(count))]


def table(count: int) -> list[str]:
    head = ["| id | name | city | team | salary |", "|---|---|---|---|---|"]
    return [*head, *(f"| {' | '.join(row)} |" for row in cells(count))]


def listed(count: int) -> list[str]:
    return [f"- {name} from {city} ({team}): salary {salary}" for _, name, city, team, salary in cells(count)]


def talk(turns: int, seed: int = 0) -> list[Message]:
    messages: list[Message] = []
    for i in range(seed, seed + turns):
        messages.append({"role": "user", "content": f"Tell me about berth {i}."})
        messages.append({"role": "assistant", "content": prose(i, "en", 5)})
    return messages


def pasted(rows: list[str], ask: str = "") -> list[Message]:
    text = "Here is our staff:\n\n" + "\n".join(rows) + (f"\n\n{ask}" if ask else "")
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "Thanks, I have read all of it."}]


def asked(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


def forwarded(messages: list[Message], budget: int | None = None, prices: CachePrices = HALF) -> str:
    folded = fold_request(encode(messages, model="gpt-4o"), FoldOptions(budget=budget, prices=prices), WARM)
    return "\n".join(m["content"] or "" for m in json.loads(folded.body)["messages"])


FORMS = [csv, table, listed]


@each(("form", "behind"), crosswise(product(FORMS, [0, 1, 2]), 3))
def test_a_table_that_is_worked_on_from_the_beginning_stays(form: Form, behind: int) -> None:
    rows = form(200)
    start = [*pasted(rows), *talk(behind), *asked("Which team has the highest total salary?")]
    messages = [*start, {"role": "assistant", "content": "The lab."}, *talk(60, 10), *asked("And the lowest one?")]
    text = forwarded(messages)
    assert "\n".join(rows) in text
    assert len(text) < 0.8 * sum(len(m["content"]) for m in messages)


def test_what_is_asked_in_the_message_itself_counts() -> None:
    rows = csv(200)
    messages = [*pasted(rows, "Sort it by salary, please."), *talk(60), *asked("Tell me about berth 3 again.")]
    assert "\n".join(rows) in forwarded(messages)


@each("form", FORMS)
def test_a_table_that_nobody_works_on_is_folded(form: Form) -> None:
    rows = form(200)
    text = forwarded([*pasted(rows), *talk(60), *asked("Tell me about berth 3 again.")])
    assert sum(row in text for row in rows) <= 0.6 * len(rows)


@each("form", every(2, [*FORMS], 1))
def test_a_folded_table_is_there_again_when_all_of_its_rows_are_asked_for(form: Form) -> None:
    rows = form(200)
    messages = [*pasted(rows), *talk(60)]
    assert "\n".join(rows) not in forwarded([*messages, *asked("Tell me about berth 3 again.")])
    messages += asked("Which team has the highest total salary?")
    assert "\n".join(rows) in forwarded(messages)
    messages += [{"role": "assistant", "content": "The lab."}, *talk(20, 80), *asked("Make a chart of the salaries.")]
    assert "\n".join(rows) in forwarded(messages)


@each(
    ("form", "share", "ask"),
    every(
        3,
        crosswise(
            product(FORMS, [None, 0.5, 0.35], ["What is the average salary in Lyon?", "How many people are there in Lyon?"]), 2
        ),
        1,
    ),
)
def test_all_rows_with_what_the_question_names_are_there(form: Form, share: float | None, ask: str) -> None:
    rows = form(200)
    messages = [*pasted(rows), *talk(40), *asked(ask)]
    tokens = fold_request(encode(messages, model="gpt-4o"), FoldOptions(), WARM).tokens_before
    text = forwarded(messages, None if share is None else int(share * tokens))
    assert [row for row in rows if "Lyon" in row and row not in text] == []


@each(
    "ask",
    every(
        4,
        [
            "Welche Abteilung hat das höchste Gehalt in der Tabelle?",
            "Sortiere die Liste nach Gehalt.",
            "Quelle est la moyenne de toutes les lignes ?",
            "Ordena la tabla de mayor a menor.",
            "Faça a soma da tabela, o total.",
            "Qual è la media dei dati?",
            "Hoeveel rijen zijn er in totaal?",
            "Jaka jest średnia w tabeli? Pokaż dane.",
            "Посчитай сумму по таблице, все данные.",
            "表の平均を計算して、dataの合計も",
            "Rank the whole list.",
            "Plot the data as a histogram.",
            "Are there any duplicates in the list?",
        ],
        1,
    ),
)
def test_people_ask_so_in_many_languages(ask: str) -> None:
    rows = csv(200)
    messages = [*pasted(rows), *asked(ask), {"role": "assistant", "content": "Done."}, *talk(60), *asked("Thanks.")]
    assert "\n".join(rows) in forwarded(messages)


@each("form", FORMS)
def test_a_table_comes_back_at_a_fold_event_and_stays(form: Form) -> None:
    rows = form(150)
    messages = [*pasted(rows), *talk(25), *asked("Which team has the highest total salary?")]
    messages += [{"role": "assistant", "content": "The lab."}, *talk(8, 40), *asked("Sort the table.")]
    events, sent = [], []
    for end in cuts(messages):
        folded = fold_request(encode(messages[:end], model="gpt-4o"), FoldOptions(prices=HALF), WARM)
        events.append(folded.events)
        sent.append([m["content"] for m in json.loads(folded.body)["messages"]])
    for (was, now), (before, after) in zip(pairwise(events), pairwise(sent), strict=True):
        if was == now:
            assert after[: len(before) - 1] == before[:-1]


def test_a_budget_has_no_room_for_a_table_that_nobody_asks_for_now() -> None:
    rows = csv(200)
    messages = [*pasted(rows, "Who earns most?"), *talk(60), *asked("Tell me about berth 3 again.")]
    folded = fold_request(encode(messages, model="gpt-4o"), FoldOptions(budget=2_500), WARM)
    assert folded.tokens_after <= 2_500


def nested(count: int) -> list[str]:
    return [f"- {name}\n  - city: {city}\n  - team: {team}\n  - salary: {salary}" for _, name, city, team, salary in cells(count)]


def blocks(count: int) -> list[str]:
    return [f"Name: {name}\nCity: {city}\nTeam: {team}\nSalary: {salary}\n" for _, name, city, team, salary in cells(count)]


def quoted(count: int) -> list[str]:
    return ["id,name,place,salary", *(f'{n},{name},"{city},\n{team}",{salary}' for n, name, city, team, salary in cells(count))]


def objects(count: int) -> list[str]:
    names = ("id", "name", "city", "team", "salary")
    return [json.dumps(dict(zip(names, row, strict=True))) for row in cells(count)]


@each("form", every(2, [nested, blocks, quoted, objects, table], 1))
def test_records_of_several_lines_are_quoted_whole(form: Form) -> None:
    rows = form(90)
    text = forwarded([*pasted(rows), *talk(80), *asked("What is the average salary in Lyon?")])
    assert [row for row in rows if "Lyon" in row and row.strip() not in text] == []


@each(
    ("form", "ask"),
    every(
        3,
        crosswise(
            product(
                [*FORMS, nested, blocks, quoted, objects],
                [
                    "Who earns more than 8000?",
                    "How many people have a salary above 7500?",
                    "List everyone who is not in Berlin.",
                    "Wer verdient am meisten?",
                    "Wie hoch ist das Durchschnittsgehalt?",
                    "Quel est le salaire moyen ?",
                    "Kto zarabia najwięcej?",
                    "Какая самая высокая зарплата?",
                    "給料が一番高いのは誰ですか？",
                    "누가 월급이 가장 높나요?",
                ],
            ),
            10,
        ),
        1,
    ),
)
def test_all_rows_are_there_where_words_tell_none_of_them(form: Form, ask: str) -> None:
    rows = form(90)
    text = forwarded([*pasted(rows), *talk(80), *asked(ask)])
    assert [row for row in rows if "Berlin" not in row and row.strip() not in text] == []


@each(
    "change",
    every(
        2,
        [
            "Please add a row: 3000,Zoe,Lyon,lab,6543",
            "Person7 has left, remove that line from the table.",
            "The salary of Person12 is 9999 now.",
            "Streiche Person3, die Zeile ist falsch.",
        ],
        1,
    ),
)
def test_what_changed_a_table_later_is_quoted_with_it(change: str) -> None:
    rows = csv(150)
    messages = [*pasted(rows), *talk(20), *asked(change), {"role": "assistant", "content": "Noted."}, *talk(70, 30)]
    text = forwarded([*messages, *asked("What is the average salary per team?")])
    assert "\n".join(rows) in text
    assert change in text


def of_assistant(rows: list[str]) -> list[Message]:
    return [{"role": "user", "content": "Make up a staff for my test."}, {"role": "assistant", "content": "\n".join(rows)}]


def of_tool(rows: list[str]) -> list[Message]:
    call = {"id": "c1", "type": "function", "function": {"name": "run_sql", "arguments": '{"query": "SELECT * FROM staff"}'}}
    return [
        {"role": "user", "content": "Get the staff from the database."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "\n".join(rows)},
        {"role": "assistant", "content": "I have fetched the staff."},
    ]


@each(("made", "form"), crosswise(product([of_assistant, of_tool], [csv, table]), 2))
def test_tables_of_assistants_and_tools_are_there_again_too(made: Callable[[list[str]], list[Message]], form: Form) -> None:
    rows = form(150)
    messages = [*made(rows), *talk(90), *asked("Which team has the highest total salary?")]
    assert "\n".join(rows) in forwarded(messages)


def test_advice_in_points_is_no_table() -> None:
    points = [
        f"{i}. **Habit {'abcdefghijklmnopqrst'[i]}**: Start your day with a walk and keep at it for as long as it helps"
        for i in range(20)
    ]
    messages = [*of_assistant(points), *talk(90), *asked("Which habit is the best of all?")]
    folded = fold_request(encode(messages, model="gpt-4o"), FoldOptions(prices=HALF), WARM)
    assert messages[1] not in json.loads(folded.body)["messages"]


@each("goes_on", ["And the median?", "What about Lyon?", "Und der Durchschnitt?"])
def test_a_question_that_goes_on_with_the_one_before_it_is_read_with_that(goes_on: str) -> None:
    rows = csv(150)
    city = "Lyon" if "Lyon" in goes_on else "Berlin"
    messages = [
        *pasted(rows),
        *talk(80),
        *asked("What is the average salary in Berlin?"),
        {"role": "assistant", "content": "5,400."},
    ]
    text = forwarded([*messages, *asked(goes_on)])
    assert [row for row in rows if city in row and row not in text] == []


def test_an_older_table_stays_folded_where_a_newer_one_is_meant() -> None:
    staff, wares = csv(150), ["sku,product,price", *(f"P{i},lamp{i},{i * 7 % 90}" for i in range(150))]
    newer = [{"role": "user", "content": "Our wares:\n\n" + "\n".join(wares)}, {"role": "assistant", "content": "Thanks."}]
    messages = [*pasted(staff), *talk(20), *newer, *talk(70, 30), *asked("Which product has the highest price?")]
    text = forwarded(messages)
    assert "\n".join(wares) in text
    assert "\n".join(staff) not in text


@each(
    ("ask", "months"),
    [
        ("What is the total salary in April?", [1]),
        ("Compare the totals of March and April.", [0, 1]),
        ("Sum up the salaries of the first table.", [0]),
        ("Wie hoch ist die Summe in der zweiten Tabelle?", [1]),
        ("What is the average salary in the last table?", [2]),
    ],
)
def test_of_several_tables_those_are_there_that_are_meant(ask: str, months: list[int]) -> None:
    tables = [[row.replace("Person", f"{month}Person") for row in csv(60)] for month in ("March", "April", "June")]
    messages: list[Message] = []
    for month, rows in zip(("March", "April", "June"), tables, strict=True):
        told = f"The salaries of {month}:\n" + "\n".join(rows)
        messages += [{"role": "user", "content": told}, {"role": "assistant", "content": "Got it."}, *talk(4, len(messages))]
    messages += [*talk(60, 90), {"role": "user", "content": ask}]
    folded = fold_request(encode(messages), FoldOptions(model="gpt-4o", prices=HALF), WARM)
    sent = "\n".join(one["content"] for one in json.loads(folded.body)["messages"])
    assert [n for n in months if any(row not in sent for row in tables[n][1:])] == []
