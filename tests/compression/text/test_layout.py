"""What the place on the page ties: enumerations, messages of a chat, captions, quoted mail, titles, votes, line ends of Windows.

These tests cover texts as people paste them, each with what a claim in it is not to be read without. They leave out ties told by
words (``test_following_ties`` and its neighbours), lines broken at a column (``test_wrapped_lines``).
"""

from __future__ import annotations

import json
import re
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression import FoldOptions, Memo, compress, fold_request
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.protect import block_spans
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

LEASE: Final = """Lease of the boathouse

The tenant may terminate the lease
(a) with 60 days' notice; or
(b) at once, if the landlord
    (i) cuts the power; or
    (ii) sells the quay.
Rent is due on the 3rd. The landlord may raise it once a year, provided that
(a) the tenant has 90 days' notice, and
(b) it rises by no more than 2%.

4. Repairs
The landlord repairs the roof.
"""
CHAT: Final = """[03/02/2026, 18:04:11] Lena Voss: is the boat free on sunday?
[03/02/2026, 18:05:40] Tariq 🚣: only till noon
[03/02/2026, 18:06:02] Lena Voss: then take it back unless
the harbour master agrees
and leave the key
[03/02/2026, 18:07:15] Tariq 🚣: he did not agree
the crane is booked for us
[03/02/2026, 18:09:00] Olga: I pay 40 euros
"""
CAPTIONS: Final = """WEBVTT

1
00:00:02.100 --> 00:00:05.000
LENA: The crane must not lift more
than 4 tonnes.

2
00:00:05.200 --> 00:00:08.000
TARIQ: Who says that? Unless
I see it in writing I lift 6.

3
00:00:08.300 --> 00:00:11.000
LENA: The maker said so.
"""
MAIL: Final = """Hello Olga,

we take the first offer.

On Mon, 2 Feb 2026 at 09:10, Olga Brand <olga@quay.example> wrote:
> Hello Lena, two offers are here. Shall I accept the second? It is 300 euros cheaper.
>
> The paint costs extra.
"""
NOTES: Final = """**Lena**
Done: the roof
Next: the quay

**Tariq**
Done: nothing, was ill
Next: the crane
"""
RELEASES: Final = """## 3.1
### Added
- a dry run

## 3.0
### Added
- the crane plan

### Removed
- the old plan
"""
MINUTES: Final = """3. Crane
Motion by Voss to buy a crane for 61,000 euros.
Brand asked for a second offer.
Lost 3-4.

Protokoll
Frau Brand beantragt, den Steg zu sperren.
Beschluss: angenommen (5 Ja, 2 Nein)
"""
SLACK: Final = """Lena Voss
  9:41 AM
The build fails with exit code 137.

Tariq Aziz
  9:44 AM
Memory is full. Do not raise the limit.
"""
DISCORD: Final = """Lena Voss — Today at 9:00 AM
about the crane: it needs 859 litres of paint
only if the council pays
Tariq Aziz — Today at 9:04 AM
tram line 4 is closed today
"""
TERMS: Final = """The harbour office has two words for fees that are often mixed up.

Demurrage
    A fee for a ship that stays too long
Detention
    A fee for a box that comes back late
"""
FAQ: Final = """Q: How long does the lamp last?
A: About 14 hours, or 9 with the heater on.

Q: Can it stand in the rain?
A: Only under a roof, and never in the sea.
"""
IRC: Final = """10:02 <lena> can I delete the old dumps?
10:03 <@tariq> no, the court wants them until 2028
10:04 <lena> 212 GB are free now
10:05 <olga> told you so
"""
REVIEW: Final = """src/queue.py:41
> +    while not done or tries < 5:
It never stops there.

src/store.py:12
> +    sync = OFF
I will not approve that.
"""
HOUSE: Final = """We met in May and went through all of it once more, since nobody had the old text.

(4) Arrival
The house is open from three o'clock. The key lies under the stone.

13. Ruido
Después de las diez no se toca música.

5) Beitrag
Er wird im März eingezogen.

Can I bring a bicycle?
There is room for six on each boat.

14. wash the windows
The rain has left them grey on the side of the sea.
"""
#: A text, a claim in it, and what the claim is not to be shown without.
RACES: Final = """14:40 Novice Chase, 3m
 1  Copper Kettle     11st 7   4/6
 2  Fen Tiger (tt)    11st 1   9/2
15:10 Handicap Hurdle, 2m
 1  Salt Road         10st 12  20/1
 2  Bell Rock         10st 2   7/1
"""
MANUAL: Final = """KILNCTL(1)                  User Commands                  KILNCTL(1)

OPTIONS
       -c CONE, --cone=CONE
              Heat to this cone. The default is 6.

       --hold=MINUTES
              Stay at the top for so long.

REMOVED IN 4.0
       -f, --fast
              Heat as fast as possible. It cracked the shelves.

       -q, --quiet
              Say nothing.
"""
LINE_BY_LINE: Final = """The kiln room

Bring your pots on Monday.
For large pots that is only possible once a month.

We lend you brushes.
Gilt nicht für Gäste.

The glaze is in the blue bin. Applies to cones 6 to 8.
"""
TARIFF: Final = """Kiln shares

Small
$14
per member and month, billed yearly
Firing cone 6, per kg ¹
Firing cone 10, incl. glaze etc. ²

¹ members only
² not in July
"""
TIED: Final = [
    (LEASE, "may terminate the lease", "60 days' notice; or"),
    (LEASE, "may terminate the lease", "sells the quay"),
    (LEASE, "cuts the power", "at once, if the landlord"),
    (LEASE, "once a year, provided that", "no more than 2%"),
    (LEASE, "The landlord repairs", "4. Repairs"),
    (HOUSE, "The key lies", "(4) Arrival"),
    (HOUSE, "no se toca", "13. Ruido"),
    (HOUSE, "im März", "5) Beitrag"),
    (HOUSE, "room for six", "a bicycle?"),
    (CHAT, "take it back unless", "harbour master agrees"),
    (CHAT, "leave the key", "18:06:02] Lena Voss"),
    (CHAT, "the crane is booked", "18:07:15] Tariq"),
    (CHAT, "only till noon", "is the boat free"),
    (CAPTIONS, "must not lift more", "4 tonnes"),
    (CAPTIONS, "I lift 6", "Unless"),
    (CAPTIONS, "I lift 6", "TARIQ"),
    (MAIL, "300 euros cheaper", "> Hello Lena"),
    (MAIL, "300 euros cheaper", "Olga Brand <olga@quay.example> wrote"),
    (MAIL, "The paint costs extra", "Olga Brand <olga@quay.example> wrote"),
    (NOTES, "nothing, was ill", "**Tariq**"),
    (NOTES, "the quay", "**Lena**"),
    (RELEASES, "a dry run", "## 3.1"),
    (RELEASES, "the old plan", "## 3.0"),
    (MINUTES, "buy a crane", "Lost 3-4"),
    (MINUTES, "Lost 3-4", "buy a crane"),
    (MINUTES, "den Steg zu sperren", "angenommen"),
    (MINUTES, "angenommen", "den Steg zu sperren"),
    (SLACK, "exit code 137", "Lena Voss"),
    (SLACK, "raise the limit", "Tariq Aziz"),
    (DISCORD, "859 litres", "Lena Voss"),
    (DISCORD, "859 litres", "only if the council pays"),
    (DISCORD, "line 4 is closed", "Tariq Aziz"),
    (TERMS, "comes back late", "Detention"),
    (FAQ, "About 14 hours", "does the lamp last"),
    (FAQ, "does the lamp last", "About 14 hours"),
    (IRC, "can I delete", "no, the court wants them"),
    (IRC, "until 2028", "<@tariq>"),
    (REVIEW, "It never stops there", "queue.py:41"),
    (REVIEW, "It never stops there", "while not done"),
    (REVIEW, "I will not approve that", "sync = OFF"),
    (RACES, "Fen Tiger", "Novice Chase"),
    (RACES, "Salt Road", "Handicap Hurdle"),
    (MANUAL, "Stay at the top", "OPTIONS"),
    (MANUAL, "Say nothing", "REMOVED IN 4.0"),
    (LINE_BY_LINE, "Bring your pots", "once a month"),
    (LINE_BY_LINE, "We lend you brushes", "nicht für Gäste"),
    (LINE_BY_LINE, "Gilt nicht", "We lend you brushes"),
    (LINE_BY_LINE, "Applies to cones", "The glaze"),
    (TARIFF, "$14", "per member and month"),
    (TARIFF, "etc. ²", "not in July"),
]
APART: Final = [
    (LEASE, "The landlord repairs", "once a year"),
    (LEASE, "Rent is due", "terminate"),
    (HOUSE, "left them grey", "wash the windows"),
    (CHAT, "I pay 40 euros", "Tariq"),
    (CAPTIONS, "The maker said so", "must not lift"),
    (MAIL, "we take the first offer", "cheaper"),
    (NOTES, "nothing, was ill", "Lena"),
    (RELEASES, "the old plan", "3.1"),
    (DISCORD, "line 4 is closed", "Lena"),
    (TERMS, "comes back late", "fee for a ship"),
    (REVIEW, "I will not approve that", "It never stops"),
    (RACES, "Fen Tiger", "Handicap"),
    (MANUAL, "Say nothing", "--fast"),
    (LINE_BY_LINE, "We lend you brushes", "large pots"),
    (TARIFF, "etc. ²", "members only"),
    ("- 3 eggs\n- 200 g of sugar\n- a lemon\n", "3 eggs", "sugar"),
]
ENDS: Final = {"Unix": "\n", "Windows": "\r\n", "an old Mac": "\r"}


def group(text: str, claim: str) -> str:
    """The statement that holds a claim, and all that it needs."""
    read = statements(text)
    at = next(i for i, span in enumerate(read.spans) if claim in " ".join(span.of(text).split()))
    return " ".join("".join(read.spans[i].of(text) for i in sorted(read.with_needs(at))).split())


@each(("system", "text", "claim", "needed"), [(system, *row) for system in ENDS for row in TIED])
def test_a_claim_comes_with_what_the_page_ties_to_it(text: str, claim: str, needed: str, system: str) -> None:
    assert needed in group(text.replace("\n", ENDS[system]), claim)


@each(("text", "claim", "other"), APART)
def test_what_only_stands_near_is_not_tied(text: str, claim: str, other: str) -> None:
    assert other not in group(text, claim)


@each("text", [CHAT, CAPTIONS, IRC, DISCORD, SLACK])
def test_what_people_said_is_no_log(text: str) -> None:
    assert {span.kind for span in parts(text * 3)} == {"prose"}


@each("role", ["user", "assistant", "tool"])
def test_no_speaker_stands_in_a_line_alone(role: str) -> None:
    text = "".join(f"[{n % 24:02}:{n % 60:02}] Person {n % 3}: the boat {n} is at quay {n * 7}.\n" for n in range(60))
    short = facts(text, role=role, words=frozenset(), known=(), count=count)
    assert count(short) < count(text)
    assert not [line for line in short.split("\n") if line.rstrip().endswith(":")]


FORMS: Final = {
    "Discord": "{name} — Today at 9:{n:02} AM\n{said}\n{more}\n",
    "Slack": "{name}\n  9:{n:02} AM\n{said}\n{more}\n\n",
    "Otter": "{name}  9:{n:02}\n{said}\n{more}\n\n",
    "WhatsApp": "[12/03/2026, 09:{n:02}:11] {name}: {said}\n{more}\n",
    "Android": "12/03/2026, 9:{n:02} - {name}: {said}\n{more}\n",
}
NAMES: Final = ("Lena Voss", "Tariq Aziz", "Olga Brand")
THINGS: Final = ("crane", "ferry", "pump", "silo", "rink", "depot", "tower", "market", "mill", "mast", "fan", "wall")


def chat(form: str) -> str:
    """Forty messages of three people; every third asks for paint in its first line and says when in the second."""
    said = [
        f"about the {THINGS[n // 3 % 12]}: it needs {859 + 7 * n} litres of paint" if n % 3 == 0 else f"lunch {n} was good"
        for n in range(36)
    ]
    return "".join(
        form.format(name=NAMES[n * 5 % 7 % 3], n=n, said=one, more=f"before {n + 3} o'clock") for n, one in enumerate(said)
    )


@each("form", FORMS)
def test_layers_and_recall_give_each_line_to_whom_it_belongs(form: str) -> None:
    text = chat(FORMS[form])
    layer = Compressor().compress(CompressRequest(text, l1_ratio=0.4)).layers[1].text
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}]
    messages += [
        {"role": ("user", "assistant")[n % 2], "content": f"Day {n} was calm. Nobody called from the office at all."}
        for n in range(40)
    ]
    messages.append({"role": "user", "content": "How many litres does the rink need?"})
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = json.loads(fold_request(body, FoldOptions(budget=700, model="gpt-4o"), Memo()).body)
    asked = folded["messages"][-1]["content"]
    assert "943 litres" in asked
    for shown in (layer, asked):
        for m in re.finditer(r"it needs (\d+) litres", shown):
            n = (int(m[1]) - 859) // 7
            name = max(NAMES, key=lambda one: shown.rfind(one, 0, m.start()))
            assert name == NAMES[n * 5 % 7 % 3]
            assert shown.rfind(name, 0, m.start()) >= 0


def test_captions_are_not_shown_by_their_counters() -> None:
    result = Compressor().compress(CompressRequest(CAPTIONS * 4, l1_ratio=0.3))
    assert "tonnes" in result.layers[2].text


SHEET: Final = """Merkblatt für den Reiniger Quai

Teil 2: Gefahren
Reizt die Haut.
Nicht schädlich für Gewässer.

Teil 4: Erste Hilfe
Nach Einatmen: die Person an die frische Luft bringen.
Nach Verschlucken: den Mund spülen. Kein Erbrechen herbeiführen.
Nach Berührung mit den Augen: 10 Minuten spülen, danach zum Arzt.

Teil 7: Lagerung
Nicht über 25 Grad lagern.
Kanister fest verschlossen halten.
Gilt nicht für die kleine Flasche mit Ventil.

Teil 8: Grenzwerte
Stoff            8 Stunden      kurz
Ameisensäure     9,5 mg/m3      19 mg/m3
Propanol         500 mg/m3      1000 mg/m3

Teil 13: Entsorgung
Darf nicht in den Abfluss gelangen, außer stark verdünnt nach Absprache mit dem Betreiber.
"""
RATES: Final = """Harbour Bank, terms for private customers
As of 14 October 2026, subject to change

Call money
up to 50,000 EUR          2.10 % p. a.
above                     0.75 % p. a.

Term money (from 5,000 EUR)
3 months                  2.40 % p. a. ¹
6 months                  2.55 % p. a.
12 months                 2.70 % p. a. ²
24 months                 2.60 % p. a.

Overdraft                 11.9 % p. a.
tolerated overdraft       15.4 % p. a.

¹ new customers
² early withdrawal excluded
We may change the rates of call money daily.
"""


def test_recall_quotes_a_limit_with_the_line_above_that_it_limits() -> None:
    messages = [{"role": "user", "content": SHEET}, {"role": "assistant", "content": "Thanks, I have read it."}]
    for n in range(60):
        said = f"We had soup with bread, and later we went for a walk by the lake. The cat slept on the sill. Day {n}."
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": "That sounds lovely. Gardens are a good place to rest in summer."})
    messages.append({"role": "user", "content": "What about den Mund spülen?"})
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = json.loads(fold_request(body, FoldOptions(budget=1000, model="gpt-4o"), Memo()).body)
    shown = "\n".join(message["content"] for message in folded["messages"])
    assert "Flasche mit Ventil" in shown
    assert "Kanister fest" in shown


def test_lines_kept_for_their_figures_bring_their_notes() -> None:
    answers = [{"role": ("assistant", "user")[n % 2], "content": "Fine, I have read it."} for n in range(8)]
    shown = str(compress([{"role": "user", "content": RATES}, *answers]).messages[0]["content"])
    assert "2.70 % p. a. ²" in shown
    assert "early withdrawal excluded" in shown


FENCE: Final = "Look at this:\n\n```yaml\nretries: 3\ntimeout: 30\n\n"
BEHIND: Final = (
    "The timeout must never be below the slowest query.\n\nTariq thinks that the upgrade will slip, and Olga does not.\n"
)


def test_an_unclosed_fence_ends_where_sentences_begin() -> None:
    text = FENCE + BEHIND
    (fence,) = [span for span in block_spans(text) if span.kind == "fence"]
    assert fence.of(text).endswith("timeout: 30\n")
    assert [span.kind for span in parts(text)][-1] == "prose"


@each("code", ["def pay(x):\n    return x\n\ndef take(x):\n    return -x\n", "a: 1\n\nb: 2\n", "run this\n\nls -l\n"])
def test_an_unclosed_fence_around_code_goes_to_the_end(code: str) -> None:
    text = f"{FENCE}{BEHIND}\n{code}"
    (fence,) = [span for span in block_spans(text) if span.kind == "fence"]
    assert fence.end >= len(text.rstrip())


def test_settings_in_front_of_a_page_are_one_block() -> None:
    text = "---\ntitle: Backups\ntags: [ops]\n---\n\n# Backups\n\nWe keep them for 14 days.\n"
    assert [(span.kind, span.of(text).split("\n")[0]) for span in block_spans(text)] == [
        ("code", "---"),
        ("heading", "# Backups"),
    ]


def test_a_sentence_of_latex_goes_on_in_the_next_line() -> None:
    text = (
        "\\documentclass{article}\n\\begin{document}\n\\section{Results}\nThe mean error was $3.2\\,\\%$, which is\n"
        "not significantly different from the old one~\\cite{berg}.\n\\begin{itemize}\n\\item It failed twice.\n\\end{itemize}\n"
    )
    assert "not significantly different" in group(text, "The mean error was")


@each("text", [LEASE, CHAT, CAPTIONS, MAIL, NOTES, RELEASES, MINUTES, SLACK, TERMS, IRC, REVIEW])
def test_reading_them_is_linear(text: str) -> None:
    assert_linear(statements, lambda size: text * (size // len(text) + 1), 2_500)


@given(st.text(alphabet="ab1(). ;:>-*#[]\n\r\t", max_size=300))
def test_statements_tile_any_layout(text: str) -> None:
    read = statements(text)
    assert "".join(span.of(text) for span in read.spans) == text
    assert all(0 <= needed < len(read.spans) for several in read.needs for needed in several)
