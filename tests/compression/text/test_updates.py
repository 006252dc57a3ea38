"""Which messages put something else in place of what an earlier one told."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.memo import Memo
from turnfold.compression.text.dialogue.updates import updates
from turnfold.compression.text.quotes import Source


def _pairs(*said: str) -> list[tuple[int, int]]:
    """Renewals among messages; those of the assistant begin with ">"."""
    roles = [("assistant", text[1:]) if text.startswith(">") else ("user", text) for text in said]
    sources = [Source(role, text, str(n).encode()) for n, (role, text) in enumerate(roles)]
    return [(one.newer, one.older) for one in updates(sources, Memo())]


@each(
    ("old", "new"),
    [
        ("We fly from the 12th to the 19th of April.", "no wait, the 14th, not the 12th. what would that cost?"),
        ("The plumber comes on Monday at 9.", "they moved it to Wednesday. anything to prepare?"),
        ("I take 10 mg of it.", "The doctor raised it to 15 mg yesterday."),
        ("Es kommen acht Gäste.", "nein, zehn, nicht acht. Wie viel Reis?"),
        ("le rendez-vous est mardi", "c'est jeudi finalement, pas mardi"),
        ("llega el martes", "al final es el jueves, no el martes"),
        ("vengono dodici bambini", "non dodici, quattordici"),
        ("usta salı günü gelecek", "salı değil perşembe olmuş"),
        ("мастер придёт в субботу", "перенёс на воскресенье"),
        ("будет 11 метров", "не 11, а 9 метров"),
        ("五月三号去", "不对，是五月五号，不是三号"),
        ("会議は十時からです", "時間が十四時に変わりました"),
        ("6월 7일에 가요", "7일이 아니라 9일이에요"),
        ("نصل يوم 12", "لا، يوم 14 وليس 12"),
        ("पार्सल सोमवार को आएगा", "अब बुधवार को आएगा, सोमवार को नहीं।"),
        ("Minha prova é no dia 21 de novembro.", "A prova foi adiada para 5 de dezembro."),
        ("We fly home on April 17 from Kansai.", "Our flight is on April 19 now."),
        ("पार्टी 14 जून को है", "पार्टी अब 21 जून को होगी"),
        ("Дія відбувається 1991 року.", "Я передумала: дія відбувається 2004 року."),
        ("Budget is 7,500 euros without flights.", "My brother gives us 1,000 on top, so we have 8,500 now."),
        ("lights to 30 percent at nine", "make the lights 20 instead"),
        ("We need 2 kg of potatoes.", "make it 5 kg, we have guests"),
        # Written before the rule was run on them, and not changed after.
        ("La cena es el 3 de mayo.", "La cena se retrasó, ahora el 10 de mayo."),
        ("Das Seminar beginnt am 2. März.", "Das Seminar wurde verschoben, es beginnt am 9. April."),
        ("The deposit is 1,250 dollars.", "The landlord changed his mind, so we pay 1,400 now."),
        ("Set the oven to 180 degrees.", "make the oven 200 instead"),
        ("Нужно 3 килограмма муки.", "пусть будет 4 килограмма"),
        ("งบประมาณ 600,000 บาท", "งบตอนนี้เป็น 750,000 บาท"),
    ],
)
def test_a_value_told_anew_updates_the_message_that_told_it(old: str, new: str) -> None:
    assert _pairs(old, ">Good.", "And how is the weather?", ">Fine.", new) == [(4, 0)]


@each(
    ("old", "new"),
    [
        ("Nina starts on Tuesday.", "No sorry, Thursday."),
        ("Rent is 3,200 zł.", "Sorry, typo: 2,990 zł."),
        ("Delivery is on Monday.", "no, Wednesday"),
        ("Der Kurs ist am Dienstag.", "Nein, sorry, Donnerstag."),
        ("La clase es el martes.", "No, perdón, el jueves."),
        ("Урок во вторник.", "Нет, извини, в четверг."),
        ("Ders salı günü.", "Yok pardon, perşembe."),
        ("レッスンは火曜日です。", "すみません、木曜日でした。"),
        ("课在星期二。", "不好意思，说错了，是星期四。"),
        ("الدرس يوم الثلاثاء.", "عفواً، يوم الخميس."),
        ("क्लास मंगलवार को है.", "माफ़ करना, गुरुवार को है."),
        ("Movers come on the 8th.", "new date for the move, the 11th"),
        # Written before the rule was run on them, and not changed after.
        ("We meet at 5 pm.", "oops, sorry, 6 pm"),
        ("Lieferung am Montag bitte.", "nee, Mittwoch"),
        ("Consegna lunedì.", "scusa, mercoledì"),
        ("Dostawa w poniedziałek.", "pomyłka, w środę"),
        ("배송은 월요일이에요.", "미안, 수요일이에요"),
    ],
)
def test_a_bare_correction_updates_what_it_corrects(old: str, new: str) -> None:
    assert _pairs(old, ">OK.", new) == [(2, 0)]


@each(
    "said",
    [
        "Sorry, I'm busy on Thursday evening with my kids.",
        "No, I play tennis on Thursday.",
        "Sorry, my sister comes over on Thursday.",
        "No, thanks. And is the shop open on Thursday?",
    ],
)
def test_an_excuse_corrects_nothing(said: str) -> None:
    assert _pairs("The meeting is on Tuesday.", ">OK.", said) == []


def test_what_the_answer_says_again_is_updated_too() -> None:
    assert _pairs("It is on Monday.", ">Monday, then.", "They moved it to Friday.") == [(2, 0), (2, 1)]


def test_of_several_messages_the_one_about_the_same_is_updated() -> None:
    assert _pairs("The rent is 600 euros.", ">Ok.", "The bike was 250 euros.", ">Ok.", "The rent is 650 euros now.") == [(4, 0)]


@each(
    "said",
    [
        ("There are 12 eggs.", ">Ok.", "I am not hungry now."),
        ("There are 12 eggs.", ">Ok.", "We now have 3 cats."),
        ("Does it open on Monday?", ">Yes.", "They moved the desk on Friday."),
        (">It is on Monday.", "They moved it to Friday."),
        ("The rent is 900 euros.", ">Ok.", "We have 3 cats now."),
        ("The car costs 18,500 euros.", ">Ok.", "It was built in 2019, they changed the tyres."),
        ("[8 May, 2023] Anna: hi", ">Ben: hi", "[9 May, 2023] Anna: I changed my hair"),
    ],
)
def test_another_thing_of_another_kind_or_speaker_is_not(said: tuple[str, ...]) -> None:
    assert not _pairs(*said)
