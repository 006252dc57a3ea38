"""What a message picks of a list, and what is quoted with it."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.memo import Memo
from turnfold.compression.text.dialogue.wanted.picks import picks
from turnfold.compression.text.quotes import Source

_LIST = "Here are some:\n\n1. Hotel Kanra, 240 euros\n2. Mitsui Garden, 165 euros\n3. Piece Hostel, 95 euros\n\nWhich one?"
_LETTERS = "A) Kochwerk, 62 Euro\nB) Tafelrunde, 55 Euro\nC) Grill Uhl, 41 Euro"


def _picked(*said: str) -> list[str]:
    """What is picked; messages of the assistant begin with ">"."""
    roles = [("assistant", text[1:]) if text.startswith(">") else ("user", text) for text in said]
    sources = [Source(role, text, str(n).encode()) for n, (role, text) in enumerate(roles)]
    return [sources[one.of].text[one.item[0] : one.item[1]] for one in picks(sources, Memo())]


@each(
    ("said", "item"),
    [
        ("Let's take the second one.", "2. Mitsui Garden, 165 euros"),
        ("go with your first suggestion", "1. Hotel Kanra, 240 euros"),
        ("Doe de laatste maar", "3. Piece Hostel, 95 euros"),
        ("Давай третий, он легче.", "3. Piece Hostel, 95 euros"),
        ("نختار الثاني", "2. Mitsui Garden, 165 euros"),
        ("तीसरा वाला ले लेते हैं", "3. Piece Hostel, 95 euros"),
        ("二番目でお願いします", "2. Mitsui Garden, 165 euros"),
        ("选第二个，但是只住一晚", "2. Mitsui Garden, 165 euros"),
        ("2, please", "2. Mitsui Garden, 165 euros"),
        # Written before the rule was run on them, and not changed after.
        ("number 3 sounds right", "3. Piece Hostel, 95 euros"),
        ("wir nehmen das erste", "1. Hotel Kanra, 240 euros"),
        ("je prends le troisième", "3. Piece Hostel, 95 euros"),
        ("la segunda, por favor", "2. Mitsui Garden, 165 euros"),
        ("vamos com o último", "3. Piece Hostel, 95 euros"),
        ("prendiamo la seconda", "2. Mitsui Garden, 165 euros"),
        ("weźmy pierwszy", "1. Hotel Kanra, 240 euros"),
        ("üçüncüsü olsun", "3. Piece Hostel, 95 euros"),
        ("vi tar det andra", "2. Mitsui Garden, 165 euros"),
        ("두 번째로 할게요", "2. Mitsui Garden, 165 euros"),
        ("เอาอันแรก", "1. Hotel Kanra, 240 euros"),
    ],
)
def test_a_short_message_picks_by_place(said: str, item: str) -> None:
    assert _picked("hotels?", f">{_LIST}", said) == [item]


def test_an_option_is_picked_by_its_letter() -> None:
    assert _picked("?", f">{_LETTERS}", "Option B, aber ohne den Nachtisch") == ["B) Tafelrunde, 55 Euro"]


@each("said", ["What is the second one like?", "I'm fine with a lot of things", "the fifth", "thanks!"])
def test_what_picks_nothing(said: str) -> None:
    assert not _picked("hotels?", f">{_LIST}", said)


def test_a_later_pick_replaces_the_first() -> None:
    said = ("hotels?", f">{_LIST}", "the third one", ">Good.", "And the weather?", ">Mild.", "actually, take the second instead")
    assert _picked(*said) == ["3. Piece Hostel, 95 euros", "2. Mitsui Garden, 165 euros"]


def test_a_list_in_a_sentence_is_quoted_whole() -> None:
    text = "My first suggestion is the floor lamp (229). Second, a lantern (39)."
    assert _picked("lamps?", f">{text}", "go with your first suggestion") == [text]


@each(
    ("advice", "said"),
    [
        ("Laminate is cheap, quartz lasts. With children I'd recommend quartz.", "ok, I follow your advice"),
        ("Le granit coûte 260 euros. Avec des enfants, je conseille le quartz.", "D'accord, va pour ton conseil."),
        # Written before the rule was run on them, and not changed after.
        ("Beides geht. Bei Regen würde ich warten. Ich empfehle den Zug.", "dann folge ich deiner Empfehlung"),
        ("Hay dos rutas. Recomiendo la costa.", "hacemos caso a tu recomendación"),
        ("Оба хороши. Советую второй дом у реки.", "последую твоему совету"),
        ("Ci sono due hotel. Consiglio il Danieli.", "accetto il tuo consiglio"),
    ],
)
def test_what_was_advised_is_picked(advice: str, said: str) -> None:
    [item] = _picked("What should I take?", f">{advice}", said)
    assert advice.endswith(item.strip())
