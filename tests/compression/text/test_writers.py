"""Pages that name who wrote what in lines of their own, above what he wrote or below it."""

from __future__ import annotations

import json
from itertools import product
from typing import Final

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise
from turnfold.compression import Compressor, CompressRequest, FoldOptions, Memo, fold_request
from turnfold.compression.options import CachePrices
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import statements
from turnfold.compression.text.writers import says_when, written_by
from turnfold.compression.tokens import count

BRACKETS: Final = """[Monday 9:02 AM] Ek, Birgit
The crane arrives on Thursday, unless the bridge is closed.

[Monday 9:05 AM] Osei, Kofi (Guest)
We have 17 pallets, 4 of them wet.
They must not be stacked.

[Monday 9:11 AM] Ek, Birgit
I didn't order the foam.

[Monday 9:30 AM] Osei, Kofi (Guest)
The customs office wants the list by noon.
"""
DATED: Final = """Birgit Ek
Yesterday 9:02 AM
The crane arrives on Thursday, unless the bridge is closed.

Kofi Osei
Yesterday 9:05 AM
Edited
We have 17 pallets, 4 of them wet. They must not be stacked.

Birgit Ek
Tue 9:11
I didn't order the foam.

Kofi Osei
3 days ago
The customs office wants the list by noon.
"""
FORUM: Final = """Kran am Donnerstag
birgit_e
Mitglied
Beiträge: 81
Registriert: 14.02.2019
Geschrieben am 11. Mai 2023 um 09:02
The crane arrives on Thursday, unless the bridge is closed.
Zitieren
Antworten
kofi77
Moderator
Beiträge: 4.120
Registriert: 03.08.2011
Geschrieben am 11. Mai 2023 um 10:40
We have 17 pallets, 4 of them wet. They must not be stacked.
Zitieren
Antworten
birgit_e
Mitglied
Beiträge: 82
Registriert: 14.02.2019
Geschrieben am 12. Mai 2023 um 08:15
I didn't order the foam.
Zitieren
Antworten
kofi77
Moderator
Beiträge: 4.121
Registriert: 03.08.2011
Geschrieben am 12. Mai 2023 um 10:40
The customs office wants the list by noon.
"""
PICTURED: Final = """u/birgit_e avatar
birgit_e
•
2y ago
The crane arrives on Thursday, unless the bridge is closed.

Upvote
12

Reply
u/kofi77 avatar
kofi77
OP
•
2y ago
We have 17 pallets, 4 of them wet. They must not be stacked.

Upvote
3

Reply
u/birgit_e avatar
birgit_e
•
1y ago
I didn't order the foam.

Reply
u/kofi77 avatar
kofi77
OP
•
1y ago
The customs office wants the list by noon.
"""
ROLES: Final = """BIRGIT.
The crane arrives on Thursday, unless the bridge is closed.

KOFI. (sits down)
We have 17 pallets, 4 of them wet. They must not be stacked.

BIRGIT.
I didn't order the foam.

KOFI.
The customs office wants the list by noon.
"""
DASHED: Final = """The crane arrives on Thursday, unless the bridge is closed.

— Birgit Ek, 11 May 2023

We have 17 pallets, 4 of them wet. They must not be stacked.

— Kofi Osei, 11 May 2023

I didn't order the foam.

— Birgit Ek, 12 May 2023

The customs office wants the list by noon.

— Kofi Osei, 13 May 2023
"""
QUOTED: Final = """What people say

"The crane arrives on Thursday, unless the bridge is closed."
Birgit Ek
Head of Sites, Nordbau

"We have 17 pallets, 4 of them wet. They must not be stacked."
Kofi Osei
Customs agent

"I didn't order the foam at all."
Birgit Ek
Head of Sites, Nordbau

"The customs office wants the list by noon."
Kofi Osei
Customs agent
"""
ANSWERED: Final = """When does the crane come?

The crane arrives on Thursday, unless the bridge is closed.

Share
Improve this question
asked Mar 2, 2021 at 18:40

Birgit Ek
1,204
3
14

2 Answers
Sorted by:

We have 17 pallets, 4 of them wet. They must not be stacked.

Share
Improve this answer
answered Mar 2, 2021 at 19:20

Kofi Osei
32.1k
5

I didn't order the foam.

Share
Improve this answer
answered Mar 3, 2021 at 9:01

Birgit Ek
410
4

The customs office wants the list by noon.

Share
Improve this answer
answered Mar 4, 2021 at 9:01

Kofi Osei
410
4
"""
PRINTED: Final = """Birgit Ek <ek@nordbau.example>	Thu, Feb 8, 2024 at 10:11 AM
To: osei@port.example
The crane arrives on Thursday, unless the bridge is closed.
Kofi Osei <osei@port.example>	Thu, Feb 8, 2024 at 11:48 AM
To: Birgit Ek <ek@nordbau.example>
We have 17 pallets, 4 of them wet. They must not be stacked.
Birgit Ek <ek@nordbau.example>	Thu, Feb 8, 2024 at 12:20 PM
To: osei@port.example
I didn't order the foam.
Kofi Osei <osei@port.example>	Fri, Feb 9, 2024 at 9:02 AM
To: Birgit Ek <ek@nordbau.example>
The customs office wants the list by noon.
"""
KAKAO: Final = """[Birgit Ek] [오전 9:12] The crane arrives on Thursday, unless the bridge is closed.
[Kofi Osei] [오전 9:14] We have 17 pallets, 4 of them wet. They must not be stacked.
[Birgit Ek] [오전 9:20] I didn't order the foam.
[Kofi Osei] [오후 1:31] The customs office wants the list by noon.
"""
_EXPORTED: Final = """{0}
The crane arrives on Thursday, unless the bridge is closed.

{1}
We have 17 pallets, 4 of them wet.
They must not be stacked.

{2}
I didn't order the foam.

{3}
The customs office wants the list by noon.
"""


def _exported(head: str) -> str:
    """A chat as programs export it as Markdown or HTML."""
    said = (("Birgit Ek", "9:02"), ("Kofi Osei", "9:05"), ("Birgit Ek", "9:11"), ("Kofi Osei", "9:30"))
    return _EXPORTED.format(*(head.format(who, when) for who, when in said))


EXPORTED: Final = (
    "**{0}**  {1} AM", "*{0}* {1}", "**{0}** ({1} AM)", "### {0} — {1}", "**{0}** _{1} AM_", "__{0}__ {1}", "**{0}:** {1}",
    "**[{1}] {0}**", "**{0}** — 30/11/2026 {1}", "<b>{0}</b> {1}", "**{0}**\n{1}", "[{1} AM] **{0}:**", "{0}#4417 {1}",
)  # fmt: skip
SAID: Final = {"arrives on Thursday": 0, "17 pallets": 1, "order the foam": 0, "wants the list": 1}
ABOVE: Final = {
    "brackets": (BRACKETS, ("Ek, Birgit", "Osei, Kofi")),
    "dated": (DATED, ("Birgit Ek", "Kofi Osei")),
    "forum": (FORUM, ("birgit_e", "kofi77")),
    "pictured": (PICTURED, ("birgit_e", "kofi77")),
    "printed": (PRINTED, ("Birgit Ek <ek@nordbau.example>\t", "Kofi Osei <osei@port.example>\t")),
    "kakao": (KAKAO, ("[Birgit Ek]", "[Kofi Osei]")),
    **{head: (_exported(head), ("Birgit Ek", "Kofi Osei")) for head in EXPORTED},
    "roles": (ROLES, ("BIRGIT.", "KOFI.")),
}
BELOW: Final = {
    "dashed": (DASHED, ("Birgit Ek", "Kofi Osei")),
    "quoted": (QUOTED, ("Birgit Ek", "Kofi Osei")),
    "answered": (ANSWERED, ("Birgit Ek", "Kofi Osei")),
}


def outputs(text: str) -> list[str]:
    """What layers, FACTS, summaries and quotes show of a text."""
    out = []
    for ratio in (0.15, 0.3, 0.45, 0.6):
        made = Compressor().compress(CompressRequest(text, l1_ratio=ratio))
        out += [made.layers[1].text, made.layers[2].text]
    out += [facts(text, role=role, words=frozenset(), known=(), count=count) for role in ("user", "assistant", "tool")]
    for budget in (80, 150, 300):
        quotes = summarise([Source("user", text, b"k")], budget, count, Memo())
        out.append("\n".join(text[quote.start : quote.end] for quote in quotes))
    return out


def writer_of(shown: str, claim: str, names: tuple[str, str], *, below: bool) -> str:
    """The name that a reader takes for the writer's."""
    at = shown.index(claim)
    if below:
        return min(((place, name) for name in names if (place := shown.find(name, at)) >= 0), default=(0, ""))[1]
    return max(((place, name) for name in names if (place := shown.rfind(name, 0, at)) >= 0), default=(0, ""))[1]


@each("form", [*ABOVE, *BELOW])
def test_nothing_is_shown_without_its_writer_or_under_another(form: str) -> None:
    text, names = {**ABOVE, **BELOW}[form]
    shown = 0
    for out in outputs(text):
        for claim, who in SAID.items():
            if claim in out:
                shown += 1
                assert writer_of(out, claim, names, below=form in BELOW) == names[who], out
    assert shown >= 10


@each(("form", "claim"), crosswise(product([*ABOVE, *BELOW], ["17 pallets", "order the foam"]), 2))
def test_a_quote_of_an_old_message_names_the_writer(form: str, claim: str) -> None:
    text, names = {**ABOVE, **BELOW}[form]
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}]
    messages += [
        {"role": ("user", "assistant")[n % 2], "content": f"Day {n} was calm. Nobody called from the office at all."}
        for n in range(60)
    ]
    messages.append({"role": "user", "content": f"What about {claim}?"})
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold_request(body, FoldOptions(model="gpt-4o", budget=900, prices=CachePrices(0.5, 1.0)), Memo())
    asked = "\n".join(str(m["content"]) for m in json.loads(folded.body)["messages"]).replace(f"What about {claim}?", "")
    assert writer_of(asked, claim, names, below=form in BELOW) == names[SAID[claim]]


NOBODY: Final = [
    "Departures\n\nHafenstadt\n10:02\nBrunn\n10:14\nOberau\n10:31\nTalheim\n10:45\n",
    "0:00\nhallo zusammen\n0:03\nheute geht es\n0:06\num alte fliesen\n0:09\nund fugen\n",
    "Versions\n\nLatest\n2.31.0\nStable\n2.30.4\n",
    "SUMMARY\nNine years in batteries.\n\nEXPERIENCE\nLead engineer since 2020.\n\nEDUCATION\nMSc in 2016.\n",
    "– Kahveyi kim yaptı?\n– Ben yapmadım.\n– Annem yaptı.\n– Peki.\n",
    'He said "I never signed it at all."\nThe court believed him.\n\nShe said "It was me, nobody else."\nNobody believed her.\n',
    "Shopping\n\n— milk and bread\n— two eggs\n— salt\n",
]


@each("text", NOBODY)
def test_what_only_looks_like_names_and_dates_names_nobody(text: str) -> None:
    named = written_by(text)
    assert not named.heads
    assert not named.signatures


@each(
    "line",
    ["Yesterday 4:12 PM", "on Aug 3, 2024", "Posté le 11 déc. 2023 à 09:12", "vor 3 Tagen", "2 hours ago", "5y ago", "Mon 07:58",
     "answered Mar 2, 2021 at 19:20", "12 May 2023", "오전 9:12", "2024年5月3日 10:02"],
)  # fmt: skip
def test_a_line_that_only_says_when(line: str) -> None:
    assert says_when(line)


@each("line", ["2.31.0", "The crane comes at 9:14 AM", "Room 12", "3 pallets", "In 2021 it rained", "10 kg"])
def test_a_line_that_says_more_or_something_else(line: str) -> None:
    assert not says_when(line)


def test_a_long_text_is_asked_once_who_wrote_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def tells_no_date(line: str) -> bool:
        asked.append(line)
        return False

    monkeypatch.setattr("turnfold.compression.text.writers.says_when", tells_no_date)
    text = "It began on 3 May 2024\n" + "".join(f"{n}. pump {n}\n" for n in range(9000))
    assert len(text) > 100_000
    statements(text)
    assert len(asked) == 9001


_WHEN: Final = (
    *("10:02", "3 days ago", "vor 3 Tagen", "il y a 3 jours", "hace 3 horas", "há 3 horas"),
    *("3 giorni fa", "3 dagen geleden", "3 dni temu", "3 дня назад", "3 saat önce"),
)


@each("when", _WHEN)
def test_lines_above_name_who_speaks_and_when_in_each_language(when: str) -> None:
    text = f"Anna Berg\n{when}\nThe crane is late.\n\nRui Lima\n{when}\nThen we wait for it.\n"
    heads = written_by(text).heads
    assert [text[start:end] for start, end in heads] == [f"{name}\n{when}\n" for name in ("Anna Berg", "Rui Lima")]
