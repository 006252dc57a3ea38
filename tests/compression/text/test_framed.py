"""Pages of no known kind: a line comes with its head, the names of its columns, its note, the title and the last words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression import Compressor, CompressRequest
from turnfold.compression.memo import Memo
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import statements
from turnfold.compression.text.ties.framed import framed
from turnfold.compression.tokens import count

TIDES: Final = """Tide table for Skerrin (not for navigation)

           Mon     Tue     Wed     Thu
High       04:10   05:02x  06:31   07:15
Low        10:22   11:14   12:40q  13:29
High       16:35   17:20   18:55   19:41x
Low        22:48   23:36   -       01:02

x  the causeway stays wet
q  measured at the old pier
"""
CAMP: Final = """Camp jobs, first week

KITCHEN
Peel and wash before ten.
Lena and Ruud
WOODSHED
Saws are for grown-ups.
Ole and Pia
BOATS
Nobody goes out alone.
Tom, Ida and Bo
"""
GEARS: Final = """Gearbox 4, checked on 3 May

Input shaft
Play 0.04 mm, within limits
Bearings new
Output shaft
Play 0.31 mm, to be replaced
Bearings new
Housing
Crack 12 mm at the flange, not sealed
Oil 2.1 l, black

None of the figures was taken under load.
"""
LOCKS: Final = """Which key for which door?
├── Front
│   ├── by day: the brass one
│   └── by night: none, call the guard
├── Cellar
│   ├── by day: the long one
│   └── by night: the long one, with a lamp
└── Roof
    ├── by day: no key is needed
    └── by night: nobody may go up
"""
AGENTS: Final = """Crawler: HayBot
Pause: 5
Forbid: /barn

Crawler: SilageBot
Pause: 40
Permit: /barn/doors

Crawler: StrawBot
Forbid: /
"""
ROWING: Final = """Ruderkurs im Mai

        Mo      Di      Mi      Do
Frühe   Einer   frei    Zweier  Vierer*
Mittag  frei    Einer°  frei    Achter
Abend   Vierer  Zweier  frei    Einer

* nur bei Windstille
° ohne Trainer
"""
#: A text, a claim in it, and what the claim is not to be shown without.
GOVERNED: Final = [
    (TIDES, "16:35 17:20", "Mon Tue Wed Thu"),
    (TIDES, "05:02x", "the causeway stays wet"),
    (TIDES, "12:40q", "measured at the old pier"),
    (TIDES, "04:10", "not for navigation"),
    (CAMP, "Lena and Ruud", "KITCHEN"),
    (CAMP, "Nobody goes out alone", "BOATS"),
    (CAMP, "Saws are for", "WOODSHED"),
    (GEARS, "Play 0.31 mm", "Output shaft"),
    (GEARS, "Oil 2.1 l", "Housing"),
    (GEARS, "Play 0.04 mm", "under load"),
    (LOCKS, "no key is needed", "Roof"),
    (LOCKS, "the brass one", "Front"),
    (AGENTS, "/barn/doors", "SilageBot"),
    (AGENTS, "40", "SilageBot"),
    (ROWING, "Einer frei Zweier Vierer*", "nur bei Windstille"),
    (ROWING, "frei Einer° frei", "ohne Trainer"),
]


def outputs(text: str, claim: str) -> Iterator[str]:
    """The forms that may stand for a text, and what is quoted of it."""
    for share in (0.2, 0.35, 0.5, 0.7):
        made = Compressor().compress(CompressRequest(text, l1_ratio=share))
        yield from (layer.text for layer in made.layers[1:])
    for role in ("user", "assistant", "tool"):
        yield facts(text, role=role, words=frozenset(), known=frozenset(), count=count)
    sources = [Source("assistant", text, b"k")]
    question = Question(f"What about {claim}?")
    for room in (60, 120):
        found = (recall(sources, question, room, (), count, Memo(), fill=True).quotes, summarise(sources, room, count, Memo()))
        yield from ("\n".join(text[quote.start : quote.end] for quote in quotes) for quotes in found)


@each(("text", "claim", "needed"), GOVERNED)
def test_a_line_of_a_page_comes_with_what_governs_it(text: str, claim: str, needed: str) -> None:
    shown = [" ".join(one.split()) for one in outputs(text, claim)]
    read = statements(text)
    said = next(i for i, span in enumerate(read.spans) if claim in " ".join(span.of(text).split()))
    group = " ".join(" ".join(read.spans[i].of(text) for i in sorted(read.with_needs(said))).split())

    assert needed in group
    assert [one for one in shown if claim in one and needed not in one] == []


@each(
    ("text", "line"),
    [
        (
            "Skip to content\nMenu\nSearch\nThe ferry is late again today.\nSign in\n",
            3,
        ),  # a row of buttons heads nothing
        ("Mia: did you pay?\nJon: yes\nMia: how much\nJon: 600\nMia: ok\nJon: fine\n", 4),  # what people say to each other
        ("2 onions\n1 leek\n3 carrots\n1 bay leaf\n", 2),  # items that all look alike
        ("a = 1\nn = 0\nb = 2\nc = n\n", 1),  # a setting is no note on others
    ],
)
def test_what_only_stands_below_is_free(text: str, line: int) -> None:
    assert framed(text.split("\n")).get(line, ()) == ()


@each(
    "unit",
    [
        "Hall\n 9 chairs, 2 tables\n",
        "a  b  c\n",
        "x  a note\n\nrow x  1  2\n",
        "Name: a\nPort: 1\n\n",
        "    " * 3 + "deep\n",
        "* it *\n",
        "lone\n\n",
        "1  2  3  4\n  5\n",
        "│   ├── b\n",
    ],
)
def test_pages_take_time_that_grows_with_them(unit: str) -> None:
    assert_linear(lambda text: framed(text.split("\n")), lambda size: unit * (size // len(unit)), 8_000)


@each("unit", ["Hall\n9 chairs, 2 tables\n", "a1  b2  c3\n", " - b c\n\n"])
def test_their_statements_too(unit: str) -> None:
    assert_linear(statements, lambda size: unit * (size // len(unit)), 6_000)


def test_a_list_of_names_is_read_once() -> None:
    assert_linear(lambda text: framed(text.split("\n")), lambda size: "\n".join(f"Name{i}x" for i in range(size // 8)), 30_000)


def _two_long_lines(size: int) -> str:
    said = "One is here. " * (size // 26)
    return f"Alpha 1\nBeta 2\nGamma 3\nDelta 4\n{said}\n   {said}"


def test_a_long_line_under_a_long_one_has_few_ties() -> None:
    assert_linear(statements, _two_long_lines, 10_000)


def test_titles_above_running_text_make_no_page() -> None:
    text = (
        "Teacher\nEn Estados Unidos, cada estado determina los requisitos para obtener una licencia para dar clases en colegios "
        "públicos. A los docentes se les exige que tengan un título universitario y la mayoría deben estar acreditados.\n\n"
        "Southern_California\nDe 2005 a 2014 hubo dos equipos de las ligas mayores de fútbol en Los Ángeles: el LA Galaxy y el "
        "Chivas USA, que jugaron en el StubHub Center y fueron rivales locales. Está previsto que regrese un segundo equipo "
        "en 2018, y que juegue en un estadio nuevo que se construye junto al parque de la exposición, en el centro.\n\n"
        "A fines del siglo, los maestros no cobraban: vivían de lo que les daban los padres.\n\n"
        "¿Cuándo se publicaron algunas de las obras?"
    )
    assert not framed(text.split("\n"))


def test_a_sign_between_the_cells_of_many_lines_is_no_note() -> None:
    commits = [
        f"commit {n * 7919 + 10**6:08x}\n\n    Paint pier {n}\n\n"
        + "\n".join(f" piers/part_{n}_{k}.txt    | {n + k} +-" for k in range(5))
        + "\n 5 files changed, 9 insertions(+), 3 deletions(-)"
        for n in range(12)
    ]
    lines = "\n\n".join(commits).split("\n")
    rows = [n for n, line in enumerate(lines) if "|" in line]
    found = framed(lines)
    assert not any(other in rows for row in rows for other in found.get(row, ()))
