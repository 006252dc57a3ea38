"""Lines of data are shown under what they belong to: a field in its record, a setting in its section, words by their writer.

These tests cover such data through ``registry.within``, at every limit. They leave out which of the lines are shown.
"""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.shorten import registry
from turnfold.compression.tokens import count

RECORDS = """Ticket: lamp in hall 3
State: rejected
Assigned: Noor

Ticket: door of the garage
State: done
Assigned: Piet

Ticket: new ladder
State: waiting for the bank
Assigned: Noor
Price: 240"""
SECTIONS = """[mypy]
strict = true
warn = false

[pytest]
"tests/*.py" = ["slow"]
'old/**' = ["skip"]
timeout = 30

[coverage]
"src/a.py" = 91
branch = true"""
TALK = """noor  09:12
restarting node 7 today
piet  09:14
node 7 holds the only copy of backups
noor  09:15
ok, left it alone
piet  09:31
copied to tape
noor  09:40
restart done, took 40 s"""

EXPORTED = "\n".join(
    f"**{who}**  9:{i + 10} AM\n{said}"
    for i, (who, said) in enumerate(
        [
            ("ana", "the gate at pier 4 is open"),
            ("piet", "it must stay closed until the pilot is back"),
            ("ana", "closed again at ten"),
            ("noor", "decision: no ship leaves before Monday"),
            ("piet", "the harbour office was told"),
        ]
    )
)


def _heads(text: str, is_head: object) -> dict[str, str]:
    head = ""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if callable(is_head) and is_head(line):
            head = line
        elif line.strip():
            found.setdefault(line, head)
    return found


CASES = [
    (RECORDS, lambda line: line.startswith("Ticket:")),
    (SECTIONS, lambda line: line.startswith("[") and line.endswith("]") and "lines]" not in line),
    (EXPORTED, lambda line: line.startswith("**")),
    (TALK, lambda line: line[-5:].replace(":", "").isdigit() and line.split()[0] in ("noor", "piet")),
]


@each(("text", "is_head"), CASES)
def test_no_line_stands_under_the_head_of_another(text: str, is_head: object) -> None:
    repeated = {line for line in text.split("\n") if text.split("\n").count(line) > 1}
    heads = _heads(text, is_head)
    for limit in range(12, count(text)):
        shown = _heads(registry.Shortener(frozenset(), count).within(text, limit), is_head)
        for line, head in shown.items():
            if line in heads and line not in repeated:
                assert head == heads[line], (limit, line)


def test_a_chat_is_told_by_what_was_said_in_it() -> None:
    text = "\n".join(f"**{('ana', 'bob', 'cem')[i % 3]}**  9:{i:02} AM\nthe quay of pier {i} is calm" for i in range(60))
    short = registry.facts(text, 200, frozenset(), count)
    lines = [line for line in short.split("\n") if "lines]" not in line]
    assert len([line for line in lines if line.startswith("**")]) == len([line for line in lines if "quay" in line])


def test_a_long_line_without_blanks_is_cut_between_sentences() -> None:
    text = "".join(f"第{i}号码头的水深是{i % 9 + 4}米。吊车工作正常。" for i in range(90)) + "但是第七号码头因为漏油已经关闭。"
    short = registry.facts(text, 60, frozenset(), count)
    assert all(line.startswith(("第", "吊车", "但是", "…", "[")) for line in short.split("\n"))
    text = " ".join(f"घाट {i} सामान्य है। तापमान {i % 20} डिग्री है।" for i in range(60)) + " लेकिन घाट 7 तेल रिसाव के कारण बंद है।"
    short = registry.facts(text, 120, frozenset(), count)
    assert all(line.startswith(("घाट", "तापमान", "लेकिन", "…", "[")) for line in short.split("\n"))


ORDERS = """ticket,guest,state,seats,remark
71,Ahlgren,paid,2,
72,Bruun,refunded,4,ill
73,Celik,paid,2,
74,Dvorak,paid,1,
75,Egli,paid,2,
76,Farkas,paid,3,
77,Gruber,paid,2,"""
METERS = """meter;house;litres
M1;mill;4120
M2;mill;4190
M3;barn;-7
M4;mill;4015
M5;mill;4133
M6;mill;4120
M3 is out of order, its figure is to be ignored"""


def test_a_short_table_shows_its_odd_row_and_the_note_below_it() -> None:
    assert "72,Bruun,refunded" in registry.Shortener(frozenset(), count).within(ORDERS, count(ORDERS) // 2)
    for limit in range(36, count(METERS)):
        shown = registry.Shortener(frozenset(), count).within(METERS, limit)
        assert "out of order" in shown, limit


def test_no_row_is_shown_without_the_names_of_its_columns() -> None:
    for text in (ORDERS, METERS):
        header, *rows = text.split("\n")[:-1]
        for limit in range(8, count(text)):
            shown = registry.Shortener(frozenset(), count).within(text, limit).split("\n")
            assert header in shown or not set(rows) & set(shown), limit
