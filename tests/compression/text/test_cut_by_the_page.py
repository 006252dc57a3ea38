"""Sentences that a page, a caption or a verse cuts in two, and lines that say how others are to be read.

These tests show that no part of a text shows the one without the other, through layers, facts and summaries.
"""

from __future__ import annotations

import re
from typing import Final

from tests.support.cases import each
from tests.support.effort import every
from turnfold.compression import Compressor, CompressRequest, Memo
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import statements
from turnfold.compression.text.ties.side_by_side import side_by_side
from turnfold.compression.tokens import count


def outputs(text: str) -> list[str]:
    """What layers, facts and summaries show of a text, each on one line."""
    made = [Compressor().compress(CompressRequest(text, l1_ratio=ratio)) for ratio in (0.15, 0.3, 0.45, 0.6)]
    shown = [layer.text for one in made for layer in one.layers[1:]]
    shown += [facts(text, role=role, words=frozenset(), known=frozenset(), count=count) for role in ("user", "assistant", "tool")]
    for budget in (80, 150, 300):
        quotes = summarise([Source("user", text, b"k")], budget, count, Memo())
        shown.append("\n".join(text[quote.start : quote.end] for quote in quotes))
    return [re.sub(r"\s+", " ", one) for one in shown]


CAPTIONS: Final = """1
00:01:02,000 --> 00:01:05,100
The committee found that the valve

2
00:01:05,100 --> 00:01:07,900
had never been tested under load.

3
00:01:09,000 --> 00:01:12,300
- The insurer has paid already.
- The insurer hasn't paid a cent.

4
00:01:13,000 --> 00:01:15,800
Don't open the lower gate

5
00:01:15,800 --> 00:01:18,400
before the upper one is shut.

6
00:01:19,000 --> 00:01:22,000
Nobody slept in the village that night.
"""
PAGES: Final = """County of Ardale, report on bridges                         12

The bridge at Tarn was built in 1931 and carries one lane. Its piers were inspected in May by divers,
who found no damage. Lorries above 7.5 tonnes may not use it until the deck has been re-

(a) Weights without trailer.

County of Ardale, report on bridges                         13

newed and tested. A detour by Holm takes twenty minutes.

The bridge at Skell is closed to all traffic. A new one would cost 4.1 million, which the county does not
have at present.
"""
PROOFS: Final = """Theorem. Every tree with two or more vertices has a leaf.

Wrong proof (by a pupil). Take any vertex and walk on for ever. The walk must come back to where it began.

Conjecture (Ahlers). Every such tree with an even number of vertices has a perfect matching.

Counterexample. A star with three rays has four vertices and no perfect matching of them.
"""
EXCHANGE: Final = """> POST /v3/rooms/12/bookings HTTP/1.1
> Host: rooms.example
> Accept: application/json
>
> {"from": "2026-12-01", "nights": 3}
< HTTP/1.1 409 Conflict
< Content-Type: application/json
<
< {"error": "room 12 is closed for repairs"}
> GET /v3/rooms/14 HTTP/1.1
> Host: rooms.example
>
< HTTP/1.1 200 OK
<
< {"room": 14, "free": true, "price": "88.00"}
> DELETE /v3/rooms/9 HTTP/1.1
> Host: rooms.example
>
< HTTP/1.1 403 Forbidden
<
< {"error": "not yours"}
"""
ELEMENTS: Final = """<?xml version="1.0"?>
<fleet>
  <boat id="4" state="sunk">
    <name>Marguerite</name>
    <berth>12</berth>
    <crew>7</crew>
  </boat>
  <boat id="5" state="afloat">
    <name>Old Heron</name>
    <berth>14</berth>
    <crew>3</crew>
  </boat>
  <boat id="6" state="sold">
    <name>Petrel</name>
    <berth>15</berth>
    <crew>4</crew>
  </boat>
  <boat id="7" state="afloat">
    <name>Little Auk</name>
    <berth>2</berth>
  </boat>
</fleet>
"""
COLUMNS: Final = """Dryer D-9

               Cold     Warm     Hot
Air °C           35       80     160
Flow l/s         12       18      22
Noise dB         61       64      70

CAUTION
Hot surface. Wait ten minutes before you touch the nozzle.

The hot setting is not available on the model for boats.
"""
NOTES: Final = """Rowing, women's eights, final
Rank  Club          500 m    1000 m   Finish
1     Mere          1:38     3:19     6:44
2     Ash Vale *    1:40     3:22     6:49
3     Thorpe        1:41     3:25     6:53
4     Quay †        1:39     3:24     6:55
5     St Anne       1:44     3:31     7:02

*  disqualified after the race for a false weight
†  protest pending
"""
SONG: Final = """[Verse 1 – Ada]
I never asked for silver spoons
nor for the keys of the car
you may keep the house by the river
if you tell me where you are

[Chorus – all]
Ring the bell for the ferry
nobody crosses tonight

[Verse 2 – Ben]
I would have stayed until Sunday
if you had said one word
every letter you sent me
was a letter I never heard
"""
RULES: Final = """قواعد المسبح

لا يجوز للزوار
أ) القفز من الحافة
ب) إدخال الزجاج إلى القاعة
ج) ترك الأطفال دون مراقبة

يجوز للزوار
أ) استعمال الزعانف في الممر السادس
ب) حجز الممرات قبل يومين

تغلق القاعة في أيام العطل الرسمية.
"""
SIDE_BY_SIDE: Final = """Annals of Kelp Research 7 (2024)                         P. Anders

2. Method                                    was not measured. We do not think
                                             that light explains the loss, for
Kelp was planted on twelve ropes in          plants in the shade grew as fast.
the outer bay. Ropes with more than
two breaks were left out of the mean         4. Discussion
and are shown in the annex only.
                                             Ropes of hemp last two winters in
3. Results                                   calm water. They must not be used
                                             near the ferry, where the wash has
Growth was 11 cm a week in May. In           torn six of eight within a month.
June it fell to 4 cm, but only where         A cheaper rope was tried by others
the water was warmer than 16 °C. Salt        and failed.
"""
LICENCES: Final = """The list that the lawyers sent us, with all that was added in May.

✔ MIT
✔ ISC
✘ SSPL
✔ Zlib
✘ Commons Clause

What may go to a supplier:
✘ names of patients
✔ plans of the building
✘ contracts with the county
✔ price lists
"""
STATEMENT: Final = """Date    Value   Text                                  Debit        Credit
02.03.  02.03.  Direct debit                          41.20
                Water works Lindau
05.03.  05.03.  Transfer received                                  1,900.00
                Hansen Ltd, salary for February
09.03.  10.03.  Card payment                         212.00
                Sports shop, Bremen
12.03.  12.03.  Reversal of card payment                             212.00
                Sports shop, order cancelled
19.03.  19.03.  Standing order                       640.00
                Rent, K. Boll
"""
CHAIN: Final = """From: Ida Brandt
Sent: Monday, 16 November 2026 08:41
To: Purchasing
Subject: RE: offer 7731

We cannot accept the price of 18,400 euros. Please ask somebody else for an offer, too.

From: Max Ortmann <max@steel.example>
Sent: Friday, 13 November 2026 15:02
To: Ida Brandt
Subject: RE: offer 7731

We hold the price until the end of the month. There is no discount below fifty pieces.

From: Ida Brandt
Sent: Thursday, 12 November 2026 09:15
To: Max Ortmann
Subject: offer 7731

Could you give us eight per cent? Otherwise we would have to split the lot in two.
"""
TRACKER: Final = """PLT-77
Crash on import of an empty file
Type: Bug
Status: Reopened

Activity
Iris Wu added a comment - 20/Oct/26 10:01 AM
It only crashes if the file begins with a mark of byte order.
Jon Beck added a comment - 20/Oct/26 2:15 PM
It does not crash on Linux with version 4.1 or 4.2.
Kai Moro added a comment - 22/Oct/26 5:45 PM
I close this since nobody here can reproduce it.
Iris Wu added a comment - 23/Oct/26 8:10 AM
I reopened it, customers in Lund still report it daily.
"""
LEAFLET: Final = """相談すること
1. 次の人は服用しないでください
（1）本剤でアレルギーを起こしたことがある人
（2）15歳未満の小児
2. 次の人は服用前に医師に相談してください
（1）授乳中の人
（2）腎臓病の診断を受けた人
（3）高齢者
3. 直射日光の当たらない涼しい所に保管してください
"""
SHOP: Final = """Norrland chainsaw
€ 249.00
Not available for delivery

Customers also bought
Norrland battery 36 V
€ 119.00
Helmet with ear protection
€ 39.90
Gloves for the forest, size 9
€ 21.50

Batteries are not sent to islands. Heavy goods are delivered to the kerb.
"""


@each(
    ("text", "claim", "needed"),
    every(
        2,
        [
            (CAPTIONS, "had never been tested under load", "The committee found"),
            (CAPTIONS, "Don't open the lower gate", "before the upper one is shut"),
            (CAPTIONS, "The insurer has paid already", "hasn't paid a cent"),
            (PAGES, "newed and tested", "may not use it until"),
            (PAGES, "may not use it until the deck has been re-", "newed and tested"),
            (PROOFS, "Take any vertex and walk on", "Wrong proof"),
            (PROOFS, "The walk must come back", "Wrong proof"),
            (PROOFS, "has a perfect matching", "Conjecture"),
            (EXCHANGE, "room 12 is closed for repairs", "POST /v3/rooms/12/bookings"),
            (EXCHANGE, "403 Forbidden", "DELETE /v3/rooms/9"),
            (ELEMENTS, "<name>Marguerite", 'state="sunk"'),
            (ELEMENTS, "<name>Petrel", 'state="sold"'),
            (COLUMNS, "Air °C 35", "Cold Warm Hot"),
            (NOTES, "Ash Vale * 1:40", "disqualified after the race"),
            (NOTES, "Mere 1:38", "500 m"),
            (SONG, "I never asked for silver spoons", "[Verse 1 – Ada]"),
            (SONG, "I would have stayed until Sunday", "if you had said one word"),
            (SONG, "you may keep the house by the river", "if you tell me"),
            (RULES, "إدخال الزجاج إلى القاعة", "لا يجوز للزوار"),
            (SIDE_BY_SIDE, "that light explains the loss", "We do not think"),
            (SIDE_BY_SIDE, "June it fell to 4 cm", "warmer than 16 °C"),
            (SIDE_BY_SIDE, "near the ferry", "must not be used"),
            (SIDE_BY_SIDE, "Ropes with more than", "were left out of the mean"),
            (LICENCES, "✘ names of patients", "What may go to a supplier"),
            (LICENCES, "✘ contracts with the county", "What may go to a supplier"),
            (STATEMENT, "Water works Lindau", "Direct debit"),
            (STATEMENT, "Rent, K. Boll", "Standing order"),
            (STATEMENT, "order cancelled", "Reversal of card payment"),
            (CHAIN, "We cannot accept the price", "From: Ida Brandt"),
            (TRACKER, "I close this since nobody", "Kai Moro added"),
            (LEAFLET, "授乳中の人", "相談してください"),
            (LEAFLET, "15歳未満の小児", "服用しないでください"),
            (SHOP, "€ 119.00", "Norrland battery"),
            (RULES, "ترك الأطفال دون مراقبة", "لا يجوز للزوار"),
        ],
    ),
)
def test_no_part_is_shown_without_the_other(text: str, claim: str, needed: str) -> None:
    shown = [one for one in outputs(text) if claim in one]

    assert shown
    assert [one for one in shown if needed not in one] == []


def test_sentences_of_columns_side_by_side_go_on_below() -> None:
    read = [[SIDE_BY_SIDE[start:stop] for start, stop in parts] for place in side_by_side(SIDE_BY_SIDE) for parts in place]

    assert ["Kelp was planted on twelve ropes in", "the outer bay."] in read
    assert [parts[-2:] for parts in read if parts[-1] == "was not measured."] == [
        ["the water was warmer than 16 °C. Salt", "was not measured."]
    ]
    assert ["They must not be used", "near the ferry, where the wash has", "torn six of eight within a month."] in read


@each(
    "text",
    [
        STATEMENT,
        NOTES,
        COLUMNS,
        "a  b  c\n" * 9,
        "Chair, oak, with arms      41.00\nTable, ash, old   99.00\nBench, pine          27.50\nStool           12.00\n",
    ],
)
def test_tables_are_no_columns_of_text(text: str) -> None:
    assert side_by_side(text) == []


def test_boxes_of_a_page_keep_their_marks() -> None:
    page = (
        "<html><body><h1>Consent</h1><form>"
        + "<label><input type='checkbox' checked> I agree to the operation</label>" * 1
        + "<label><input type='checkbox'> I agree to a transfusion of blood</label>"
        + "<p>The form is kept for ten years. It may be changed until the day of the operation.</p>" * 8
        + "</form></body></html>"
    )
    short = facts(page, role="tool", words=frozenset(), known=frozenset(), count=count)

    assert "[x] I agree to the operation" in short
    assert "[ ] I agree to a transfusion" in short


def test_a_line_in_capitals_belongs_to_what_stands_below() -> None:
    text = "Never use the dryer in the rain.\n\nCAUTION\nHot surface. Wait ten minutes before you touch the nozzle.\n"
    read = statements(text)

    assert "CAUTION\n" in [span.of(text) for span in read.spans]
