"""Parts of pasted texts that a question names in other languages, also in scripts that write no spaces between words.

These tests cover sections, paragraphs, moments, code and offered things, asked for in a dozen languages. They leave out what is
quoted of each in English (``test_named_sections`` and its neighbours), the same of made works (``test_works``).
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import every
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.moments import named_moment
from turnfold.compression.text.dialogue.wanted.offers import named_offer
from turnfold.compression.text.dialogue.wanted.places import named_parts
from turnfold.compression.text.dialogue.wanted.sections import asks_for_contents, named_sections, text_sections
from turnfold.compression.text.dialogue.wanted.works import asked_work

#: What eight sections are called, and in which language they are written.
_TITLES: Final = {
    "en": "Scope|Payment terms|Time of delivery|Warranty|Liability|Notice|Secrecy|Final provisions",
    "de": "Geltungsbereich|Bezahlung|Lieferfristen|Gewährleistung|Haftung|Kündigung|Geheimhaltung|Schlussbestimmungen",
    "ru": "Область применения|Условия оплаты|Сроки поставки|Гарантия|Ответственность|Расторжение|Тайна|Заключительные положения",
    "zh": "适用范围|付款条件|交货期限|质量保证|责任|终止|保密|最终条款",
    "ja": "適用範囲|支払条件|納期|保証|責任|契約解除|秘密保持|最終規定",
    "ar": "نطاق التطبيق|شروط الدفع|مواعيد التسليم|الضمان|المسؤولية|إنهاء العقد|السرية|أحكام ختامية",
    "ko": "적용 범위|지급 조건|납품 기한|품질 보증|책임|계약 해지|비밀 유지|최종 규정",
    "hi": "लागू क्षेत्र|भुगतान शर्तें|डिलीवरी समय|वारंटी|दायित्व|अनुबंध समाप्ति|गोपनीयता|अंतिम प्रावधान",
}
_COUNTED: Final = ("사진 3장을 보내줘", "예산이 5조 원이야?", "2番目の店はどこ？", "第一部电影叫什么？", "I ate 3. No idea why.")
_PLANS: Final = ("Give me the plan.", "Quel est le plan ?", "Dame la estructura", "Show me the parts", "ما هي العناوين؟")
_SIGNS: Final = "一二三四五六七八"


def _said(language: str, n: int) -> str:
    return prose(3000 + n, language, 10)


def _document(language: str, form: str) -> str:
    titles = enumerate(_TITLES[language].split("|"), 1)
    return "\n\n".join(f"{form.format(n=n, sign=_SIGNS[n - 1], title=title)}\n\n{_said(language, n)}" for n, title in titles)


def _talk(language: str, pasted: str) -> list[Message]:
    said: list[Message] = [{"role": "user", "content": pasted}, {"role": "assistant", "content": "OK."}]
    for n in range(30):
        said += [
            {"role": "user", "content": prose(n, language, 3)},
            {"role": "assistant", "content": prose(500 + n, language, 8)},
        ]
    return said


@each(
    ("language", "form", "question", "number"),
    every(
        2,
        [
            ("en", "Article {n}\n{title}", "What does the article on warranty say?", 4),
            ("en", "{title}", "Summarise the section on payment terms", 2),
            ("de", "§ {n}\n{title}", "Was steht im Abschnitt zur Haftung?", 5),
            ("de", "{title}", "Kannst du das Kapitel Lieferfristen vereinfachen?", 3),
            ("de", "{n}. {title}", "Zitier mir das 6. Kapitel.", 6),
            ("ru", "## {n}. {title}", "Что сказано в разделе о гарантии?", 4),
            ("ru", "Статья {n}\n{title}", "Процитируй 2-ю главу.", 2),
            ("zh", "{n}. {title}", "关于付款条件的部分说了什么？", 2),
            ("zh", "{sign}、{title}", "请解释第六条。", 6),
            ("zh", "**{n}. {title}**", "“责任”下面写了什么？", 5),
            ("ja", "## {title}", "秘密保持の章には何が書いてありますか。", 7),
            ("ja", "{n}. {title}", "6番の項目を説明してください。", 6),
            ("ar", "المادة {n}\n{title}", "ماذا تقول المادة ٣؟", 3),
            ("ar", "{n}. {title}", "لخص القسم الخاص بالضمان.", 4),
            ("ko", "제{n}조 {title}", "품질 보증에 관한 부분을 요약해 줘.", 4),
            ("ko", "{n}. {title}", "3장에는 뭐라고 쓰여 있어?", 3),
            ("hi", "{n}. {title}", "धारा 5 में क्या लिखा है?", 5),
        ],
    ),
)
def test_a_section_that_is_named_is_there_whole(language: str, form: str, question: str, number: int) -> None:
    assert _said(language, number) in forwarded(_talk(language, _document(language, form)), question)


@each(
    ("language", "question"),
    [
        ("de", "Wie ist der Text gegliedert?"),
        ("ru", "Дай мне оглавление документа."),
        ("zh", "给我文档的目录。"),
        ("ja", "この文書の見出しを一覧にして。"),
        ("ar", "ما هي أقسام المستند؟"),
        ("ko", "이 문서에는 어떤 섹션이 있어?"),
        ("hi", "दस्तावेज़ की विषय सूची दो।"),
    ],
)
def test_all_headings_are_there_for_whoever_asks_for_the_contents(language: str, question: str) -> None:
    assert asks_for_contents(question)
    sent = forwarded(_talk(language, _document(language, "{n}. {title}")), question)
    assert [title for title in _TITLES[language].split("|") if title not in sent] == []


@each(
    "question",
    [
        "사장이 누구야?",
        "누구 차례야?",
        "チームの構成は？",
        "哪些部分坏了？",
        "見出しの色は何がいい？",
        "大纲里老师说了什么缺点？",
        *_PLANS,
        "第三章节讲了什么？",
    ],
)
def test_words_for_contents_that_mean_something_else(question: str) -> None:
    assert not asks_for_contents(question)


@each(
    "question",
    [
        "Fasse das Dokument zusammen.",
        "Riassumi il documento.",
        "Кратко изложи документ.",
        "请总结这份文件。",
        "Belgeyi özetle.",
        "لخص المستند.",
        "Streść dokument.",
        "दस्तावेज़ का सारांश दो।",
        "¿De qué trata el texto?",
        "この文書の要約を作ってください。",
        "이 문서를 요약해 줘.",
    ],
)
def test_a_document_is_asked_for_as_a_whole(question: str) -> None:
    asked = asked_work(question.lower())
    assert asked is not None
    assert asked.kind != "code"


@each(
    ("question", "kind", "places"),
    [
        ("翻译第三段。", "block", (3,)),
        ("最后两句说了什么？", "sentence", (-2, -1)),
        ("二番目の段落を短くして。", "block", (2,)),
        ("세 번째 문단을 번역해 줘.", "block", (3,)),
        ("마지막 문장은?", "sentence", (-1,)),
        ("ترجم الفقرة الثالثة.", "block", (3,)),
        ("तीसरा अनुच्छेद अनुवाद करो।", "block", (3,)),
        ("倒数第二段写了什么", "block", (-2,)),
    ],
)
def test_places_of_parts(question: str, kind: str, places: tuple[int, ...]) -> None:
    named = named_parts(question)
    assert named is not None
    assert (named.kind, named.places) == (kind, places)


@each(
    "question",
    [
        *(
            "我有三段时间没去了",
            "他走了两步",
            "3번 반복해 줘",
            "昨天写了五句话给她",
            "我们分三点出发",
            "最后问一下，价格是多少？",
        ),
        *("最后行程怎么安排？", "最後の文書を送って", "第一条件是什么？", "какая часть последней записи была на немецком?"),
    ],
)
def test_what_only_counts_names_no_part(question: str) -> None:
    assert named_parts(question) is None


@each(
    ("question", "place"),
    [
        ("详细说说第三个建议。", 3),
        ("三つ目の提案について詳しく教えて。", 3),
        ("Расскажи подробнее о третьем варианте.", 3),
        ("Opowiedz więcej o trzeciej propozycji.", 3),
        ("Üçüncü öneriyi anlat.", 3),
        ("حدثني أكثر عن الاقتراح الثالث.", 3),
        ("तीसरे सुझाव के बारे में बताओ।", 3),
    ],
)
def test_offered_things_by_their_place(question: str, place: int) -> None:
    offer = named_offer(question.lower())
    assert offer is not None
    assert (offer.place, offer.noun) == (place, "")


@each(
    ("question", "begin", "end"),
    [
        ("10:44说了什么？", "10:44", ""),
        ("19:56 到 21:28 之间发生了什么？", "19:56", "21:28"),
        ("19:56から21:28までに何がありましたか。", "19:56", "21:28"),
        ("10:44'te ne söylendi? Açıkla", "10:44", ""),
        ("ماذا يحدث بين 19:56 و 21:28؟", "19:56", "21:28"),
    ],
)
def test_moments_are_read_in_other_languages(question: str, begin: str, end: str) -> None:
    named = named_moment(question)
    assert named is not None
    assert (named.begin, named.end) == (begin, end)


@each("message", ["[20:15] Müller: ich komme später", "We’ll meet – he arrived 5:30 yesterday", "José quedó 7:45 con Ana, ¿no?"])
def test_times_that_ask_for_no_moment(message: str) -> None:
    assert named_moment(message) is None


@each(
    "question",
    ["为什么count_berths遇到None会失败？", "count_berthsをリファクタリングしてください。", "count_berths를 설명해 줘."],
)
def test_a_function_whose_name_stands_against_another_script(question: str) -> None:
    own = "def count_berths(rows):\n    total = sum(len(row.free) for row in rows)\n    return total - RESERVED\n"
    others = "\n\n".join(
        f"def step_{n}(rows):\n    log.info('step {n}')\n    return [row.side_{n} for row in rows]" for n in range(90)
    )
    assert own.strip() in forwarded(_talk("zh", f"```python\n{others}\n\n{own}\n```"), question)


def test_titles_that_nothing_marks_are_few_words_above_a_paragraph() -> None:
    text = _document("en", "{title}")
    assert [" ".join(one.title) for one in text_sections(text)] == _TITLES["en"].lower().split("|")
    letter = f"Dear Ms Lund,\n\n{prose(1, 'en', 4)}\n\nYours,\nMara\n\n{prose(2, 'en', 4)}"
    assert text_sections(letter) == []


@each("message", ["他写了三章", "오늘 3번 전화했어", "2章分の原稿を書いた", *_COUNTED])
def test_numbers_that_count_name_no_section(message: str) -> None:
    assert named_sections(message).numbers == ()
