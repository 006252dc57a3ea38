"""What one sentence says of several others is shown with each: units, decisions, answers, limits, how a program ended."""

from __future__ import annotations

from tests.support.cases import each
from tests.support.effort import every
from turnfold.compression import CompressOptions, Compressor, CompressRequest, compress
from turnfold.compression.shorten import registry
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

FILLER = [
    "The library in Torsby holds 41,200 volumes.",
    "Nils Aker drove 312 km to Kalmar on 7 May.",
    "The council of Brekke elected Ruth Osten as chair.",
    "Harbour 9 handled 18,400 containers in 2023.",
    "The orchard beside the mill grows apples and pears.",
    "A ferry leaves Holm at 06:40 and arrives at 09:15.",
]
#: A text, a claim in it, and what the claim is not to be read without.
TIED = [
    ("Revenue of Torvo was 812. Profit was 97. Figures are in millions of euros.", "Revenue of Torvo", "in millions"),
    ("The backup starts at 02:30. It ends at 05:10. Times are UTC.", "starts at 02:30", "Times are UTC"),
    ("Distances are nautical miles. Kalund to Elmo is 44. Elmo to Vard is 120.", "Elmo to Vard", "nautical miles"),
    ("El tren sale a las 8:12. El otro sale a las 9:40. Las horas son UTC.", "a las 8:12", "Las horas son UTC"),
    ("We ship to every town for free. It takes four days. Furniture is the exception.", "ship to every town", "Furniture"),
    ("Your seat on KX 210 is safe. Boarding is at 17:10. None of this holds via Flyo.", "seat on KX 210", "None of this"),
    ("Agents may credit up to 50 euros. Note the case. Above that, a supervisor signs.", "may credit up", "supervisor"),
    ("A) rent a van\nB) buy a van\nC) share one\n\nWe go for A, not B.", "buy a van", "not B"),
    ("- Blue: move to Linz\n- Gold: sell the firm\nGold was voted down.", "Gold: sell", "voted down"),
    ("1. Drain the tank.\n2. Cut the power.\n3. Lift the pump.\nDo step 2 before step 1.", "1. Drain", "before step 1"),
    ("Plan 1: hire nurses. Plan 2: close ward 6. The board rejected plan 2.", "close ward 6", "rejected plan 2"),
    ("Ito has nine years of practice. Wirth has two. We hire the latter.", "Ito has nine", "the latter"),
    ("> We should drop support for Lumo.\n\nHard disagree. Debian ships it.", "drop support for Lumo", "Hard disagree"),
    ("On Tue, Ada wrote:\n> Ship order 4471 to Cork.\n\nPlease don't, they moved.", "Ship order 4471", "Please don't"),
    ("Q: Was the drug of Belmar tested on children?\nA: It was not.", "tested on children", "It was not"),
    ("F: Läuft die Pumpe K9 unter Wasser?\nA: Nein.", "unter Wasser", "Nein"),
    ("Q : La pompe K9 marche sous l'eau ?\nR : Non.", "marche sous l'eau", "Non."),
    ("Is port 9090 open?\n- from the VPN: yes\n- from outside: no", "Is port 9090 open", "from outside: no"),
    ("Does Ruth Kane sign for the hall in Lund?\nShe does not.", "Does Ruth Kane", "She does not"),
    ("Send the contract to Lindqvist. Hold on - send it to legal.", "contract to Lindqvist", "send it to legal"),
    ("The budget for Oslo is 300k. Let me recheck. It's 230k.", "is 300k", "It's 230k"),
    ("Proposal: close the Lund office in May.\nFor: 3\nAgainst: 11", "close the Lund office", "11"),
    ("Motion 12 (free bikes) was put to the vote. 4 in favour, 19 against.", "free bikes", "19 against"),
    ("[staging]\nhost = stage.selbo.com\n[production]\nhost = prod.selbo.com\nport = 80", "prod.selbo.com", "[production]"),
]


def group(text: str, claim: str) -> str:
    """The statement that holds a claim, and all that it needs."""
    read = statements(text)
    at = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    return "".join(read.spans[i].of(text) for i in sorted(read.with_needs(at)))


@each(("said", "claim", "needed"), TIED)
def test_a_claim_comes_with_what_reaches_to_it(said: str, claim: str, needed: str) -> None:
    assert needed in group(f"{FILLER[0]} {FILLER[1]}\n\n{said}\n\n{FILLER[2]}", claim)


@each(("said", "claim", "needed"), every(2, TIED))
def test_no_layer_and_no_round_trip_shows_it_alone(said: str, claim: str, needed: str) -> None:
    text = "\n\n".join([" ".join(FILLER[:2]), said, " ".join(FILLER[2:])])
    shown = []
    for ratio, query in ((0.1, claim), (0.2, None), (0.3, claim), (0.3, None), (0.4, claim), (0.6, None)):
        shown += [layer.text for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio, query=query)).layers[1:]]
    talk = [*FILLER, text, *reversed(FILLER)]
    messages = [{"role": ("user", "assistant")[i % 2], "content": content} for i, content in enumerate(talk)]
    short = compress(messages, CompressOptions(recency_window=2))
    shown.append("\n".join(str(message["content"]) for message in short.messages))
    assert not [out for out in shown if claim in out and needed not in out]


@each(
    ("said", "claim", "other"),
    [
        ("Torvo sold 812 boats. The crew went home. Olaf likes tea.", "812 boats", "Olaf"),
        ("1. Call Ito.\n2. Call Wirth.\n\nIt took 2 hours and 3 calls.", "Call Wirth", "3 calls"),
        ("Who sold the mill? Anneke from Kalmar sold it to Selbo in the spring of that year.", "Who sold", "spring"),
        ("It was a long time ago. Vard had 12 boats.", "12 boats", "long time"),
    ],
)
def test_what_only_stands_near_is_not_tied(said: str, claim: str, other: str) -> None:
    assert other not in group(f"{FILLER[0]}\n\n{said}\n\n{FILLER[2]}", claim)


LOG = [f"2026-03-{i % 28 + 1:02d} 10:{i:02d}:00 INFO worker-{i * 7 % 40} took {i * 13 % 900} ms" for i in range(40)]


@each(
    ("lines", "claim", "verdict"),
    [
        (
            [*LOG, "Sent invoice 4471 to Ullmann", "Sent invoice 4472 to Ito", "sandbox mode: no mail left"],
            "4472",
            "no mail left",
        ),
        (["DRY RUN", "Deleting user ito@selbo.com", *LOG, "Deleting user falk@selbo.com"], "falk@", "DRY RUN"),
        ([*LOG, "Build finished: orvik-2.1.tar.gz", "exit status 1"], "orvik-2.1", "exit status 1"),
    ],
)
def test_an_output_is_shown_with_what_it_came_to(lines: list[str], claim: str, verdict: str) -> None:
    text = "\n".join(lines)
    size = count(text)
    outputs = [registry.within(text, int(size * share), frozenset({"ito", "falk"}), count) for share in (0.08, 0.15, 0.3, 0.5)]
    assert any(claim in out for out in outputs)
    assert not [out for out in outputs if claim in out and verdict not in out]
    assert verdict in group(text, claim)


def test_a_removed_line_is_shown_with_the_line_in_its_place() -> None:
    same = [f" KEY_{i} = {i * 7}" for i in range(30)]
    text = "\n".join(["diff --git a/l.py b/l.py", "@@ -1,9 +1,9 @@", *same, "-ALLOW_ROOT = True", "+ALLOW_ROOT = False", *same])
    size = count(text)
    outputs = [registry.within(text, int(size * share), frozenset({"true"}), count) for share in (0.1, 0.15, 0.2, 0.3, 0.5)]
    assert any("-ALLOW_ROOT" in out for out in outputs)
    assert not [out for out in outputs if "-ALLOW_ROOT" in out and "+ALLOW_ROOT" not in out]


def test_a_short_answer_is_kept_where_the_figures_of_its_question_are() -> None:
    messages = [{"role": ("user", "assistant")[i % 2], "content": said} for i, said in enumerate(FILLER)]
    messages += [
        {"role": "user", "content": "Should I take 800 mg of Ferin at once?"},
        {"role": "assistant", "content": "No."},
        *messages,
    ]
    short = compress(messages, CompressOptions(recency_window=2))
    shown = "\n".join(str(message["content"]) for message in short.messages)
    assert "800 mg" in shown
    assert "No." in shown
