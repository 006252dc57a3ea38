"""What a claim is tied to: limits and exceptions behind it, skipped steps, heads of lists; in sentences and in lines."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.cases import each
from turnfold.compression.memo import Memo
from turnfold.compression.shorten import registry
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.heads import heads
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.sections import leading_spans
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

BEFORE = "The depot in Varn stores 412 crates."
# A claim and what stands behind it, in the same line or the next.
TIED = [
    ("Give 40 drops of Serol at 22:00.", " Maximum five days."),
    ("Valve V-8 opens at 3 bar.", " At 20 °C and without load."),
    ("Guests of Hotel Arvo may park.", " Vans may not."),
    ("The ferry to Elmø sails daily.", " Sundays excluded."),
    ("The grant of 9,000 euros is due on 3 May.", " (Extended by a week.)"),
    ("The fair in Lund opens on 3 June.", " It has been postponed."),
    ("Die Messe in Ulm beginnt am 3. Juni.", " Verschoben auf den 9. Juni."),
    ("Склад в Туле открыт до 21 часа.", " При условии заявки."),
    ("Dükkan 21'e kadar açık.", " Ancak pazar kapalı."),
    ("09:12 Ines: all 24 pods of node-7 are healthy.", "\n09:15 Ines: sorry, that was staging."),
    ("Export of 2,140 rows fails with E-77.", "\nUpdate: it was the proxy."),
    ("3. Drop the table ledger_2017.", "\n4. Call Mr. Voss.\nSkip step 3."),
]


def group(text: str, claim: str) -> str:
    """The statement that holds a claim, and all that it needs."""
    read = statements(text)
    at = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    return "".join(read.spans[i].of(text) for i in sorted(read.with_needs(at)))


@each(("claim", "behind"), TIED)
def test_a_claim_is_tied_to_what_limits_it(claim: str, behind: str) -> None:
    said = claim.rpartition(": ")[2]
    last = behind.strip().rpartition("\n")[2].rpartition(": ")[2]
    assert last in group(f"{BEFORE}\n{claim}{behind}\n{BEFORE.replace('412', '88')}", said)


@each(
    "behind",
    [
        " The crew of the barge Anneke went to Ghent with twelve crates of tea.",
        " Marta sold the boat.",
        " The tea of 1987 is dry.",
    ],
)
def test_what_limits_nothing_is_not_tied(behind: str) -> None:
    claim = "The depot in Brno was built by Zelpo in 1957."
    assert group(f"{BEFORE} {claim}{behind}", claim).strip() == claim


def test_lines_know_the_heads_above_them() -> None:
    lines = ["# Notes", "", "Never do:", "- open V-8", "  - in the rain", "", "- close V-9", "Call Voss.", "- why"]
    assert heads(lines, headings=True) == {2: 2, 3: 1, 4: 1, 6: 4, 7: 7, 8: 8}
    assert heads(lines, headings=False) == {3: 1, 4: 1, 6: 4}
    assert heads(["a", "- b"], headings=True) == {}


LISTED = "\n".join(
    [
        "Plan of 9 May for db-9 in Oslo, by Kim Oduya, 45 minutes",
        *("Do NOT:", "- restart the primary db-9", "- run vacuum on ledger_2017"),
        *("Only after Kim signs off:", "- delete snapshot s-114 of 4 May"),
        *("Contact is Kim Oduya, +47 555 0182", "The replica has 120 GB", "Room K2 is booked from 02:00 to 03:00"),
    ]
)


@each(("role", "copies"), product(["user", "assistant", "tool"], [1, 2]))
def test_items_are_shown_with_the_head_of_their_list(role: str, copies: int) -> None:
    text = "\n".join(LISTED.replace("9", str(9 + n)) for n in range(copies))
    shown = [facts(text, role=role, words=frozenset(), known=(), count=count)]
    shown += [registry.within(text, limit, frozenset(), count) for limit in (20, 30, 40, 60, 80)]
    quotes = [summarise([Source("user", text, b"k")], budget, count, Memo()) for budget in (40, 80, 150)]
    shown += ["\n".join(text[one.start : one.end] for one in quoted) for quoted in quotes]
    for said in shown:
        for claim, head in (("restart the primary", "Do NOT:"), ("delete snapshot", "Only after Kim")):
            assert claim not in said or head in said


def test_rows_of_a_table_are_shown_with_its_title() -> None:
    rows = "\n".join(f"| A-{1000 + n} | Lund {n} | {n}.50 |" for n in range(12))
    text = f"Orders that failed:\n\n| order | name | sum |\n|---|---|---|\n{rows}"
    for limit in (30, 60, 90):
        short = registry.within(text, limit, frozenset(), count)
        assert "A-10" not in short or "Orders that failed" in short


def test_a_time_is_no_speaker() -> None:
    text = "07:00 UTC: look at 12 alerts. 07:05 UTC: look at the budget.\n08:00 UTC: rest.\n"
    assert "label" not in {span.kind for span in statements(text).spans}


_TEA = "The ferry to Holm leaves at noon with twelve crates of tea."


@each(
    ("text", "needs"),
    [
        # A question needs what the next speaker says first, and a short answer its question.
        (f"Ana: Is the boat sold?\nBen: Yes. {_TEA}\nAna: Fine.", [[], [0, 3], [], [1, 2], [2], [], [5]]),
        (f"Ana: Is the boat sold?\nBen: {_TEA}\nEva: Thanks a lot.", [[], [0, 3], [], [2], [], [4]]),
        (f"Ana: Is the boat sold?\nAna: {_TEA}", [[], [0], [], [2]]),
        (f"Ana: The boat is red.\nBen: {_TEA}", [[], [0], [], [2]]),
        (f"Ana: Is the boat sold?\n```\nx = 1\n```\nBen: {_TEA}", [[], [0], [], [], [3]]),
        # An item needs the one above it, and that one needs it too where it limits it.
        ("- Tables need oak.\n  - Exception: small tables.\n- Chairs need ash.", [[1], [0], []]),
        ("- Tables need oak.\n  - But small tables need pine.\n  - Only small ones.\n- Chairs.", [[1], [0], [0], []]),
        ("- Tables need oak.\n  - If small, take pine.\n- Chairs.", [[1], [0], []]),
        (
            "- Tables need oak.\n  - Legs need iron.\n    - Unless they are short.\n  - Tops need oil.\n- Chairs.",
            [[], [0, 2], [1], [0], []],
        ),
        # What stands between two lists parts them.
        ("- Tables need oak.\n\nWe met at noon.\n\n  - Chairs need ash.\n  - Stools need pine.\n", [[], [], [1], [1]]),
        # Units in the brackets behind a title, in either form.
        ("Bilanz der Nordwerk AG (in Tsd. Euro)\n\nKasse 1,240\nBank 880\n", [[], [0], [0]]),
        ("ノルドヴェルク社の貸借対照表（単位：千ユーロ）\n現金は1,240です。\n銀行は880です。\n", [[], [0], [0]]),
    ],
)
def test_questions_and_items_by_place(text: str, needs: list[list[int]]) -> None:
    assert [sorted(some) for some in statements(text).needs] == needs


@each(
    ("text", "leading"),
    [
        ("2. Fees and costs. The tenant pays 300.", "2. Fees and costs. "),
        ("2. Fees and all costs. The tenant pays 300.", ""),  # longer than a title
        ("See 2. Fees! The tenant pays.", ""),
        ("The tenant pays 300.\n2. Fees.", ""),  # nothing stands under it
        ("Dear Ms Aker Lund,\nThe boat is sold.", "Dear Ms Aker Lund,\n"),
        ("Dear Ms Aker of Lund,\nThe boat is sold.", ""),
        ("Dear all, the boat is sold.", ""),
        ("Action items for this week only\n- Ana sells the boat.\n- Ben calls.", "Action items for this week only\n"),
        ("Action items for this very week only\n- Ana sells the boat.\n- Ben calls.", ""),
        ("Action items for this week.\n- Ana sells the boat.\n- Ben calls.", ""),
        (f"{'a' * 119}:\nThe boat is sold.", f"{'a' * 119}:\n"),
        (f"{'a' * 120}:\nThe boat is sold.", ""),
        ("昨天安娜写道：\n船卖了。", "昨天安娜写道：\n"),
        ("[Chunk 3] Source: boats\nThe boat is sold.", "[Chunk 3] Source: boats\n"),
        ("[10:14] Ana\nThe boat is sold.", ""),
    ],
)
def test_what_claims_nothing(text: str, leading: str) -> None:
    read = statements(text)
    assert "".join(read.spans[i].of(text) for i in sorted(leading_spans(text, read))) == leading


def test_a_head_in_a_line_governs_what_is_near_in_its_line() -> None:
    said = ["Tents are rented by the day.", "A boat costs 40 a week.", "Dogs sleep outside.", "The gate closes at ten."]
    said += ["Guests pay in cash.", "Fires are lit by the host.", "Bikes stand in the barn.", "The barn has a loft."]
    said += [
        "Boats lie at the pier.",
        "Cooks rise at six.",
        "Lamps burn all night.",
        "Beds cost 12.",
        "Bells ring at noon.",
        "Cats eat fish.",
    ]
    read = statements(f"Old rules (no longer in force): {' '.join(said)}")
    governed = [0 in read.with_needs(i) for i in range(len(read.spans))]
    assert all(governed[:11])
    assert not governed[-1]


@pytest.mark.parametrize("line", ["On 3 May, Ben wrote:\n", "- note {n}:\n"])
def test_lines_that_lead_to_their_paragraph_need_each_other_in_a_chain(line: str) -> None:
    """Each needs those above it, and each is told of once: all pairs would be quadratic."""
    read = statements("".join(line.format(n=n) + f"It held {n} bar.\n" * (line[0] != "-") for n in range(300)))
    assert sum(map(len, read.needs)) <= 5 * len(read.spans)
    assert read.with_needs(len(read.spans) - 1) >= {*range(0, len(read.spans), 2 if line[0] != "-" else 1)}


def test_a_step_that_is_skipped_is_looked_for_near_by() -> None:
    read = statements("".join(f"3. Do part {n}.\nSkip step 3.\n" for n in range(400)))
    assert sum(map(len, read.needs)) <= 130 * len(read.spans)
