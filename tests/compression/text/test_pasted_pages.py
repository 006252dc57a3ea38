"""Things that people paste: lists of what is allowed, boards, settings, statutes, captions, pages with buttons."""

from __future__ import annotations

from typing import Final

from tests.support.cases import each
from turnfold.compression import Compressor, CompressRequest, Memo
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count


def outputs(text: str) -> list[str]:
    """What layers and summaries show of a text."""
    made = [Compressor().compress(CompressRequest(text, l1_ratio=ratio)) for ratio in (0.15, 0.3, 0.45, 0.6)]
    quotes = [summarise([Source("user", text, b"k")], budget, count, Memo()) for budget in (80, 150, 300)]
    layers = [layer.text for one in made for layer in one.layers[1:]]
    return [*layers, *("\n".join(text[quote.start : quote.end] for quote in some) for some in quotes)]


INSURED: Final = """What you may do
✔ Ride on roads and paths in the county
✔ Leave the bicycle in the open, if it is locked to a rail
✔ Lend it to a member of the family

What you may not do
✘ Race
✘ Carry a second person
✘ Ride between 23:00 and 05:00 unless both lamps burn

What happens in winter?
! From December on the tyres must have studs
! Below minus ten the batteries are not covered
"""
BOARD: Final = """Board: harbour feast

Doing
Order the tents (white, not grey)
Posters – waiting for Ida, don't print yet

Cancelled
Fireworks
Boat race, unless the mayor pays

Done
Toilets (8 of 10)
Fire drill
"""
SETTINGS: Final = """# staging
resource "queue" "main" {
  size                = 40
  deletion_protection = false
  retention           = 0 # none in staging
}

resource "queue" "mirror" {
  count               = 0
  deletion_protection = true
  size                = 7
}

server {
    listen 80;
    return 410;
}
server {
    listen 443;
    location /reports {
        allow 10.0.0.0;
        deny all;
    }
}
"""
STATUTE: Final = """§ 3 Boats
(1) Whoever keeps a boat must register it within two weeks.
(2) Paragraph (1) does not apply to
1. rowing boats,
2. boats shorter than three metres,
3. boats of the harbour master, unless they are let.
(3) The fee is 30 euros.
"""
UNDER: Final = [
    (INSURED, "Race", "What you may not do"),
    (INSURED, "Carry a second person", "What you may not do"),
    (INSURED, "Lend it to a member", "What you may do"),
    (INSURED, "the tyres must have studs", "in winter"),
    (BOARD, "Fireworks", "Cancelled"),
    (BOARD, "Boat race", "Cancelled"),
    (SETTINGS, "deletion_protection = true", '"mirror"'),
    (SETTINGS, "deletion_protection = false", '"main"'),
    (SETTINGS, "allow 10.0.0.0", "/reports"),
    (SETTINGS, "return 410", "server"),
    (STATUTE, "rowing boats", "does not apply"),
    (STATUTE, "shorter than three metres", "does not apply"),
    (STATUTE, "unless they are let", "does not apply"),
]


@each(("text", "claim", "above"), UNDER)
def test_a_line_is_shown_under_the_one_that_says_how_it_is_meant(text: str, claim: str, above: str) -> None:
    """What is allowed and what is not, boards, settings in braces, lists within paragraphs of a statute."""
    for role in ("user", "assistant", "tool"):
        for out in [facts(text * 2, role=role, words=frozenset(), known=(), count=count), *outputs(text)]:
            said = " ".join(out.split())
            assert claim not in said or above in said[: said.index(claim)], out


CLERK: Final = """店員：こちらは返品できません。
客：カードは使えますか。
店員：三千円未満の場合は現金のみです。
客：袋は要りません。
店員：保証は一年ですが、水濡れは対象外です。
"""


def test_a_label_with_a_full_width_colon_needs_no_blank_behind_it() -> None:
    read = statements(CLERK)
    for claim, who in {"返品": "店員：", "袋は": "客：", "保証は": "店員："}.items():
        at = next(i for i, span in enumerate(read.spans) if claim in span.of(CLERK))
        assert who in {read.spans[i].of(CLERK) for i in read.with_needs(at)}


CAPTIONED: Final = {
    "Korean": """안녕하세요 오늘은 보트를|칠하는 방법을 알려 드릴게요|먼저 배를 물로 씻는데|절대로 세제는 쓰지 마세요
다 마르면 첫 번째 칠을 하고|두 시간 정도 기다리는데
겨울에는 네 시간을|넘기지 마세요|두 번째 칠은 얇게 하고|비가 오면 하지 마세요""",
    "Thai": """สวัสดีครับวันนี้เราจะทาสีเรือ|ด้วยตัวเองที่บ้าน|ก่อนอื่นล้างเรือด้วยน้ำ|อย่าใช้ผงซักฟอก|พอแห้งแล้วทาสีชั้นแรก
รอประมาณสองชั่วโมง|แต่ถ้าเป็นหน้าหนาว|ต้องรอสี่ชั่วโมง|ชั้นที่สองทาบาง ๆ|ห้ามทาตอนฝนตก""",
    "Hindi": """नमस्ते दोस्तों आज हम नाव को|रंगना सीखेंगे|सबसे पहले नाव को पानी से धोएं|साबुन मत लगाएं|सूखने पर पहला रंग लगाएं
दो घंटे रुकें|लेकिन सर्दी में चार घंटे से|कम नहीं|दूसरा रंग पतला लगाएं|बारिश में कभी नहीं""",
}


@each("language", CAPTIONED)
def test_captions_without_punctuation_are_shown_in_passages_not_by_their_times(language: str) -> None:
    said = CAPTIONED[language].replace("\n", "|").split("|") * 2
    text = "".join(f"0:{3 * n:02}\n{line}\n" for n, line in enumerate(said))
    for ratio in (0.2, 0.3, 0.45):
        made = Compressor().compress(CompressRequest(text, l1_ratio=ratio))
        for layer in made.layers[1:]:
            lines = [line for line in layer.text.split("\n") if line and not line[0].isdigit()]
            assert len(lines) >= 3
            assert 2 * len(lines) >= len(layer.text.split("\n"))


PAGE: Final = """Skip to content
Menu
Search
Does the ferry to Holm run in January?
Share
Follow
12
Asked 3 years ago

The ferry runs on Mondays only, unless the bay is frozen.
View 41 upvotes
Share
Reply
3 comments

Tickets cost 14 euros, and bicycles are free of charge.
View 7 upvotes
Share
Reply
1 comment

The harbour office can't take reservations before May.
View 2 upvotes
Share
Reply
"""


def test_buttons_and_counters_of_a_page_come_last() -> None:
    made = Compressor().compress(CompressRequest(PAGE, l1_ratio=0.3))
    for layer in made.layers[1:]:
        assert not {"Share", "Reply", "Menu", "Skip to content", "View 41 upvotes", "12"}.intersection(layer.text.split("\n"))
        assert "ferry" in layer.text
