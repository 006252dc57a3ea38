"""Entities: each kind in a sentence, laws over random text, linear time."""

from __future__ import annotations

import textwrap

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import every
from tests.support.entity_cases import missed, paragraphs
from tests.support.growth import assert_linear, repeated
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.names.german_nouns import is_common_noun, is_german

CASES = [
    ("We met Ada Lovelace there.", "Ada Lovelace", "person"),
    ("Then Dr. Maria Chen spoke.", "Dr. Maria Chen", "person"),
    ("It was bought by Acme Corp last year.", "Acme Corp", "organisation"),
    ("Ring the desk on +353 1 555 0142 before noon.", "+353 1 555 0142", "identifier"),
    ("La visite commence à 14 h 30 au port.", "14 h 30", "date"),
    ("Chị ấy trả tiền vào ngày 20 tháng 3 năm 2026.", "20 tháng 3 năm 2026", "date"),
    ("החשבון הוא 320 ₪ והוא שולם ב-14 ביוני 2026.", "320 ₪", "money"),
    ("They study at the University of Oslo now.", "University of Oslo", "organisation"),
    ("We run on GlobalProtect 6.1.2 here.", "GlobalProtect 6.1.2", "product"),
    ("It needs TLS 1.2 at least.", "TLS 1.2", "product"),
    ("We take Scenario B now.", "Scenario B", "product"),
    ("Then Ronan McBride spoke.", "Ronan McBride", "person"),
    ("They asked Ilse van den Berg about it.", "Ilse van den Berg", "person"),
    ("It is sold by Vendor CoreLink here.", "Vendor CoreLink", "name"),
    ("We saw Gita Rao of the Bank of Utrecht there.", "Gita Rao", "person"),
    ("The rules of GDPR apply.", "GDPR", "acronym"),
    ("It uses OpenSearch inside.", "OpenSearch", "camelcase"),
    ("The cost is $1,250.50 today.", "$1,250.50", "money"),
    ("They paid $3.5 million for it.", "$3.5 million", "money"),
    ("It took 40 euros.", "40 euros", "money"),
    ("Now at v2.4.1 we stop.", "v2.4.1", "version"),
    ("It begins on March 5, 2024 here.", "March 5, 2024", "date"),
    ("It begins on 2024-03-05 here.", "2024-03-05", "date"),
    ("Down by 12.5% overall.", "12.5%", "percent"),
    ("About 18 percent left.", "18 percent", "percent"),
    ("The window is 72 hours long.", "72 hours", "quantity"),
    ("It holds 14 TB in all.", "14 TB", "quantity"),
    ("It needs version 3.2 of the driver.", "3.2", "version"),
    ("Nimm die Version 3.2 davon.", "3.2", "version"),
    ("Esta es la versión 2.4 ahora.", "2.4", "version"),
    ("C'est signé le 1er juin 2025 ici.", "1er juin 2025", "date"),
    ("Le 4 juin l'Agence Spatiale Alpine paie.", "Agence Spatiale Alpine", "organisation"),
    ("荷物は20トンあります。", "20トン", "quantity"),
    ("一共有30吨钢材和5公里电缆。", "30吨", "quantity"),
    ("一共有30吨钢材和5公里电缆。", "5公里", "quantity"),
    ("See INC-44721 for it.", "INC-44721", "identifier"),
    ("The node auth-gw-7 failed.", "auth-gw-7", "identifier"),
    ("Call /v2/transfers first.", "/v2/transfers", "identifier"),
    ("Set kill_switch=true now.", "kill_switch=true", "identifier"),
    ("会議でアンドロイドを使う", "アンドロイド", "product"),
]


@each(("text", "mention", "kind"), CASES)
def test_each_entity_has_its_kind(text: str, mention: str, kind: str) -> None:
    found = [(e.text, e.kind) for e in entities(text)]
    assert any(mention in name and k == kind for name, k in found), found


@each(
    ("text", "kind"),
    [
        *(
            (f"They owe {amount} on paper.", "money")
            for amount in ("€3.7m", "£12.50", "USD 1,200.50", "CHF 90'000", "2.5 million euros")
        ),
        *(
            (f"In all {amount} came in.", "money")
            for amount in ("$85.8 billion", "US$40", "R$ 2 milhões", "40 000 €", "1.200 Euro")
        ),
        *(
            (f"It was {amount} and more.", "percent")
            for amount in ("4.5%", "4,5 %", "12 percent", "12 Prozent", "30 basis points")
        ),
        *((f"Built in {year} and sold.", "date") for year in ("1803", "1999", "2024")),
        *((f"We counted {amount} of them.", "quantity") for amount in ("40 crates", "3 TB", "12 ms", "1,500 users")),
    ],
)
def test_an_amount_ends_with_what_it_counts(text: str, kind: str) -> None:
    (found,) = [e for e in entities(text) if any(map(str.isdigit, e.text))]
    assert found.kind == kind
    assert text[: found.start].rstrip().endswith(("owe", "all", "was", "in", "counted"))
    assert text[found.end :].lstrip().startswith(("on", "came", "and", "of"))


@each("name", ["Šimon Čapek", "Łucja Żurek", "Đina Ćosić", "Şule İnan", "Ödön Őze", "Þóra Ægisdóttir", "Ümit Ğan"])
def test_initials_beyond_latin_1(name: str) -> None:
    assert [(e.text, e.kind) for e in entities(f"Then {name} spoke to us.")] == [(name, "person")]


@each(
    ("text", "names"),
    [
        ("Then Łukasz Żukowski of Żabka Polska paid.", ["Łukasz Żukowski", "Żabka Polska"]),
        ("It was Maren Holt of Blue Heron that called.", ["Maren Holt", "Blue Heron"]),
        ("It was Maren Holt of Blue Heron Lines that called.", ["Maren Holt of Blue Heron Lines"]),
        ("We heard CEO Mads Nipper and VP Ilse Maas.", ["Mads Nipper", "Ilse Maas"]),
        ("It is J. R. Hartley's book and Ada Brandt’s pen.", ["J. R. Hartley", "Ada Brandt"]),
        ("It was İstanbul'da Türk Hava Yolları ile Ayşe Kaya'nın evi.", ["İstanbul", "Türk Hava Yolları", "Ayşe Kaya"]),
        ("They met in Xi'an.", ["Xi'an"]),
        ("A budget of $3-5 million or €2m–€4m was agreed.", ["$3-5 million", "€2m–€4m"]),
        ("Due 03/05/2026 at noon, or 05.03.2026 mittags.", ["03/05/2026", "05.03.2026"]),
        ("They paid Mara\u00a0Lind of Acme\u00a0Corp.", ["Mara\u00a0Lind", "Acme\u00a0Corp"]),
        ("Tegnap Őrsi Éva beszélt.", ["Őrsi Éva"]),
        ("Upgrade PostgreSQL 16.3 first. Ask Ada Brandt.", ["PostgreSQL 16.3", "Ada Brandt"]),
        ("It needs OpenSSL 3.0.13-r2 and Kestrel 2.4-rc.1 now.", ["OpenSSL 3.0.13-r2", "Kestrel 2.4-rc.1"]),
        ("मीटिंग 15 अगस्त 2024 को है, कीमत ₹500 करोड़ है।", ["15 अगस्त 2024", "₹500 करोड़"]),
        ("Bedel ₺3,5 milyon oldu.", ["₺3,5 milyon"]),
        ("必须在十月九日之前更换四十二个阀门。", ["十月九日", "四十二个"]),
        ("It fell to -80 °C. Solvay SA sells it.", ["-80 °C", "Solvay SA"]),
        ("Op 11 maart 2025 € 75.000 aan P. de Wit.", ["11 maart 2025", "€ 75.000", "P. de Wit"]),
        ("De betalade 4,5 miljoner kronor då.", ["4,5 miljoner kronor"]),
        ("Było to 2 miliardy złotych razem.", ["2 miliardy złotych"]),
        ("Shares of Acme Corp fell. Bank of Japan waited.", ["Acme Corp", "Bank of Japan"]),
        ("The iPhone 15 Pro beat macOS Sonoma and getUser in size.", ["iPhone 15 Pro", "macOS Sonoma", "getUser"]),
        ("SAFETY RULES FOR VISITORS\n\nThe rules of NASA apply.", ["NASA"]),
        ("The Dairy Farmers Union met. Farmers left.", ["Dairy Farmers Union"]),
        ("See PR #4412 or the Social Media Posts.", ["PR #4412", "Social Media Posts"]),
        ("Министерство финансов заняло 95 000 гривень в 2022 году.", ["Министерство финансов", "95 000 гривень", "2022"]),
        ("פרופ' רות אברמוב עבדה בחברה.", ["רות אברמוב"]),
    ],
)
def test_where_names_and_amounts_end(text: str, names: list[str]) -> None:
    assert [entity.text for entity in entities(text)] == names


@each("name", ["Large Hadron Collider", "Paris Agreement Protocol", "Hubble Space Telescope", "Northern Sea Route"])
def test_things_are_no_people(name: str) -> None:
    assert [entity.kind for entity in entities(f"We heard of the {name} there.")] == ["name"]


@each("text", ["万一失败，千万不要告诉他。", "他一一列举了。", "第十二章很长。", "सभा 3 में हुई।"])
def test_numerals_of_other_words_count_nothing(text: str) -> None:
    assert [entity for entity in entities(text) if entity.kind == "quantity"] == []


@each(
    "text",
    [
        "他高兴地说好。",
        "方法是对的，但和以前一样。",
        "小王伟大。",
        "皆さん、お客様は神様です。",
        "学生さんが来た。",
        "이 방법은 좋은 것이다.",
        "ذهب إلى البيت مع صديقه.",
        "הוא הלך הביתה עם חבר שלו.",
        "我认为公司和大学的规则不好。",
    ],
)
def test_words_without_capitals_are_no_names(text: str) -> None:
    assert entities(text) == []


@each(
    ("file", "least"),
    [
        *(("tuned", 121), ("held_out", 78), ("audited", 194), ("mended", 111), ("many_fields", 103)),
        *(("many_fields_held_out", 82), ("sentences", 261), ("sentences_held_out", 234)),
    ],
)
def test_annotated_paragraphs(file: str, least: int) -> None:
    cases = paragraphs(file)
    faults = [fault for paragraph in cases for fault in missed(paragraph)]
    assert sum(len(paragraph.marked) for paragraph in cases) - len(faults) >= least, "\n".join(faults)


def test_a_word_that_opens_a_sentence_is_a_name_only_if_it_is_one_elsewhere() -> None:
    assert entities("Requests are slow. However, nothing broke.") == []
    assert [e.text for e in entities("Berlin is nice. We like Berlin.")] == ["Berlin", "Berlin"]


def test_common_words_are_cut_off_a_name() -> None:
    assert [e.text for e in entities("Yes. The Grand Hotel is fine.")] == ["Grand Hotel"]


GERMAN = (
    "Gestern haben wir das neue Budget besprochen. Wir zahlen die 4,2 Millionen Euro nur, wenn die Prüfung bestanden ist. "
    "Jonas Weber spricht mit dem Lieferanten in Hamburg. Der Kunde hat bei Siemens zwei neue Pumpen bestellt. "
    "Laut Bosch ist das Ventil defekt. Mein Hund heißt Bello. Mit Turnfold sinken die Kosten."
)


def test_german_nouns_are_no_names() -> None:
    found = [entity.text for entity in entities(GERMAN)]
    assert found == ["4,2 Millionen Euro", "Jonas Weber", "Hamburg", "Siemens", "Bosch", "Bello", "Turnfold"]
    english = "The Budget is with the Board of Acme Corp in Berlin, and der Kunde is a Pump."
    assert "Budget" in [entity.text for entity in entities(english)]


@given(st.text(alphabet="aBc D1$%.,-\n:()é漢ア", max_size=60))
def test_mentions_are_in_order_disjoint_and_verbatim(text: str) -> None:
    end = 0
    for e in entities(text):
        assert end <= e.start < e.end
        assert text[e.start : e.end].replace("\n", " ") == e.text
        end = e.end


@each("width", range(40, 100, 4))
def test_names_and_amounts_go_on_in_the_next_line_of_broken_text(width: int) -> None:
    text = (
        "The whole price of the old crane was paid last week by the Petrel Corp to Marta Lund, who asked for it on 3 May 2023, "
        "and it was about $4.2 million, far more than the International Whaling Commission had expected from its office in New "
        "York, which nobody had told of the sale."
    )
    broken = "\n".join(textwrap.wrap(text, width))
    assert [(e.text, e.kind) for e in entities(broken)] == [(e.text, e.kind) for e in entities(text)]


@each(
    "unit",
    every(
        2,
        [
            *("A", "A ", "Ab ", "A.", "1", "1,", "1 a ", "$1", "1-", "A of ", "ア", "a/", "Aa.b", "1 million ", "A&", "March 1 "),
            *(
                "1'",
                "123 ",
                "$123 ",
                "1 EUR",
                "Ab Cd of ",
                "A der ",
                "Ab AG ",
                "Š",
                "王",
                "王说",
                "大学",
                "一",
                "田中",
                "田中さん",
                "김",
                "김가나 씨 ",
            ),
            *("السيد ", "جامعة بن ", "1년 ", "1 000", "R$", "two days "),
        ],
    ),
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(entities, repeated(unit), 1_500)


@each(
    ("text", "german"),
    [
        ("Der Hund und die Katze.", True),
        ("Der Hund und Katze", False),  # two words of German
        ("der der und und", False),
        ("boat", False),
        (f"der die und {'boat ' * 22}", True),  # an eighth of the words
        (f"der die und {'boat ' * 23}", False),
        (f"{'1' * 3984} der die und", True),  # what is read of a text
        (f"{'1' * 3990} der die und", False),
    ],
)
def test_german_is_told_by_its_function_words(text: str, german: bool) -> None:
    assert is_german(text) == german


@each(
    ("front", "noun"),
    [
        *((front, True) for front in ("der ", "mit der alten ", "die alten roten ", "im ", "zwei ", "12 ", "als neue ")),
        *(
            (front, False)
            for front in ("", "in ", "In ", "ohne ", "als ", "von ", "er ", "mit der alten und ", "die alten roten langen ")
        ),
        (f"der {'a' * 54}e ", True),  # as far as is looked back
        (f"der {'a' * 55}e ", False),
    ],
)
def test_a_german_noun_is_told_by_its_article(front: str, noun: bool) -> None:
    assert is_common_noun(f"{front}Rhein", len(front), len(front) + len("Rhein")) == noun


@each(("word", "noun"), [("Heilung", True), ("Zeitungen", True), ("Jung", False), ("Bung", False), ("Rhein", False)])
def test_a_german_noun_is_told_by_its_ending(word: str, noun: bool) -> None:
    assert is_common_noun(f"von {word}", 4, 4 + len(word)) == noun
