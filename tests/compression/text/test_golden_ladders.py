"""Which sentences need which, one word or one sentence more at a time (``tests.support.golden`` says when to write anew).

These tests cover for each rule that counts a sentence that it is for, made longer word by word, and moved away from what it
speaks of sentence by sentence, so that every limit lies between two of them. They leave out one phrase in each place
(``test_golden_ties.py``), texts of odd pieces (``test_golden.py``).
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.support import golden
from turnfold.compression.text.dialogue.self_statements import statement_weight
from turnfold.compression.text.dialogue.signals import signal_weight
from turnfold.compression.text.dialogue.standing.orders import is_standing_order
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.statements import objection, statements

FILES = Path(__file__).parent / "golden"

#: Sentences of the rules that count words; "~" is where more of them come.
COUNTED: Final = """\
It did not fail ~.
But only for pumps ~.
This was never true ~ of it.
All of this is invented ~.
None of it is true ~.
A report is required ~.
This is allowed provided that Anna signs ~.
Only if the second audit ~ passes.
If it drops below one bar ~.
Do not give it ~ to children.
It must not ~ be sold.
That contract was annulled ~.
Draft, not approved ~.
The following is not true ~.
These two claims ~ are false.
Update: the pump ~ is old.
Update the pump ~ is old.
Exempt are small pumps ~.
Wait, the pump ~ is old.
Wait the pump ~ is old.
Wrong, it was ~ Ben.
In the first, the valve ~ failed.
In the first the valve ~ failed.
Groups ~ do not.
For guests it is ~ small.
(for guests it is ~ small)
For guests ~.
No, not ~ at all, it holds.
Not the pump ~, the valve.
No it was ~ the pump.
Of course not ~.
Figures are ~ in millions.
All ~ figures are in thousands of euros.
We hire ~ the latter.
Option B ~ it is.
It is ~ 230k.
~ 230k.
4 for, 19 against ~.
Halve it ~ for children.
Sold out ~ by May.
On scans from abroad ~ it was low.
When the flag is up ~ it stays shut.
When the flag is up ~ Anna stays.
The spare one ~ is in the cellar.
The owner ~ wants more.
The opposite is true ~.
The opposite of it is true ~.
Bremen disputes ~ that.
Bremen says that it ~ never held.
She ~ said no.
~ nobody wants it.
Don't ~ do that.
We expect it ~ on the ninth.
Legal changed that ~ to 60.
Set it to 5 ~.
~ set it by 7.
The old pump and the new one ~ need it.
The crew ~ must see it.
Never sell them ~.
Stop them ~.
Should it rise ~, we stay.
According to their numbers ~ the lease is over.
In a cold kitchen ~ this takes two.
Only the client ~ may do so.
Nobody ~ may do so.
We agreed on ~ Amir's date.
The motion ~ failed.
Amir ~ objected because of rain.
Amir refused ~.
He ~ refused.
A higher ~ sum can be agreed.
~ a higher sum than that.
Burn ~ everything else.
The first of these ~ ends in May.
The very first of them ~ ends.
The hospital says ~ seven.
The hospital ~ says 7.
That date ~ assumes rain.
Caching was off ~ during the test.
Caching ~ was off meanwhile.
~ an expert rejected this.
We do not share ~ this view.
This year ~ it rains.
Made after that ~ it holds.
Critics call that ~ naive.
On site ~ that is fine.
Davon ~ zahlt die Kasse nichts.
The drop ~ is due to rain.
The drop in sales ~ is small.
Our ~ choice is therefore Alpha.
Its label, however, ~ was red.
The new lock ~, though, is taken twice.
There ~ the limit is 20.
Costs are ~ higher there.
Neither ~ had taken it.
Neither the gate ~ nor the crane.
The third ~ did not comment.
On the way back ~ the limit is lower.
They are ~ not any longer.
At night ~ the old one stays.
Newer ones ~ cost more.
I will only use ~ two.
Two ~ were our fault.
In the air ~ it was 12.
Now ~ it leaves from gate 4.
Later ~ the valve broke.
In the end ~ the valve held.
Marek wanted to ship ~ today.
We first ~ blamed the kernel.
They were thought to help ~.
He tried selling ~ it.
At first ~ it held.
She is ~ on 4.0.
I doubt ~ that it holds.
Otherwise ~ we meet on the square.
If not ~, on the square.
All other ~ valves hold.
~ all other valves hold.
We do ~ want it.
Some of ~ them hold.
The date ~ is wrong.
Ben says the pump ~ is old.
Only ~ on Mondays.
Unless Anna signs ~.
For small pumps ~ it is free.
Before May ~ it was free.
All staff ~ have access.
~ all staff have access.
They must ~ ask Anna.
No ~ crew goes there.
Rooms of the pump ~ don't.
The pump ~ is not sold.
The tram would run ~ all night.
Above that ~ it is free.
On Sundays ~ every thirty.
It ends ~ in May.
It still ~ depends.
Suppose that ~ it fails.
Remember ~ that.
That is ~ why.
Why ~?
The second pump ~?
Finally ~ it held.
Second, the valve ~ held.
Always answer ~ in French.
From now on ~ call me Ben.
I'm allergic ~ to nuts.
My budget is ~ 300 euros.
Please don't ~ push.
Skip step 2 ~.
Aber nur ~ am Montag.
Das gilt nicht ~ für Anna.
Sauf ~ le lundi.
Esto no es ~ cierto.
Toplantı ~ yapılmadı.
Bunu ~ istemediler.
Kazał ~ ją sprawdzić.
Marta la cambió ~ al 15.
Но не ~ в мае.
Though ~ was it late, the pump held.
Though was it ~ late?
Either or ~ it holds.
Both and ~ neither of them held.
Neither ~ and it held.
Both ~ or it held.
You must really ~ not push.
You always must ~ never push.
I want you ~ to always push.
When they ~ sail, it holds.
In that ~ it holds.
Wenn er ~ kommt, hält es.""".splitlines()
#: The same in scripts whose characters are counted.
_DENSE: Final = """\
但不是~泵。
但~，泵坏了。
不是~这样。
这~不对。
只有~周二。
如果~下雨，不去。
当~下雨时不去。
以下~是错的。
以上~都不是真的。
单位~是万元。
财务说~七万。
否则~不去。
其他~都可以。
不能~去。
それは~認めません。
ただし~火曜は除く。
次の~は嘘です。
明日~は来ない。
他は~よい。
単位は~円です。
那~还要等。
必须~签字。
~。
泵~三。
我说错~了。
开玩笑~的。
他~不来。
최종~ 아니다.
Anna는 ~ 온다고 했다.""".splitlines()
#: In front of a sentence: what it may speak of.
_BEFORE: Final = (
    "If it rains, the crew of Anna sells 300 pumps in Bremen. It runs.",
    "Ben says that all pumps cost 120k. Nobody, not even Anna, wants two of them at night.",
)
_DENSE_BEFORE: Final = ("如果下雨，安娜卖三百个泵。它很好。", "ポンプは３つある。彼は明日来ると言った。")
_MORE: Final = ("really", "quite", "often", "in", "the", "small", "harbour", "and", "boat")
_WORDS: Final = 21
_SIGNS: Final = (*range(14), 16, 18, 19, 20, 22, 23, 24, 26, 28, 29, 30, 34, 36, 38, 40, 43, 44, 46)


def _read(text: str) -> tuple[Any, ...]:
    found = statements(text)
    within = [sorted(found.complete_within([0, len(found.spans) - 1], most) or ()) for most in (90, 200)]
    return found.spans, found.needs, found.sizes, within


def longer(sentence: str, size: int, more: Iterable[str], blank: str) -> str:
    said = blank.join(word for word, _ in zip([*more] * size, range(size), strict=False))
    text = " ".join(sentence.replace("~", said).split()).replace(" .", ".").replace(" ,", ",")
    return text[0].upper() + text[1:]


def test_one_word_more() -> None:
    lines = []
    for number, sentence in golden.some(enumerate(COUNTED), 2):
        made = list[Any]()
        for size in (*range(14), *range(14, _WORDS, 2)):
            said = longer(sentence, size, _MORE, " ")
            front = _BEFORE[(number + size) % 2]
            told = (objection(said), is_standing_order(said), signal_weight(said), statement_weight(said))
            made.append((_read(f"{front} {said} Hoses hold."), told))
            if size < 13 and size % 4 == 1:
                made.append(_read(f"{front}\n{said} It is free.\n\nHoses hold."))
        lines.append(f"{sentence} {golden.name_of(made)}")
    for number, sentence in golden.some(enumerate(_DENSE), 2):
        made = list[Any]()
        for size in _SIGNS:
            said = longer(sentence, size, "的船在水上走了很久", "")
            made.append((_read(f"{_DENSE_BEFORE[(number + size) % 2]}{said}软管很好。"), objection(said)))
        lines.append(f"{sentence} {golden.name_of(made)}")
    golden.agrees_in(FILES / "one_word_more.txt", lines)


#: Two sentences of which one may need the other, however many stand between them.
_APART: Final = tuple(
    tuple(line.split(" | "))
    for line in """\
The flight leaves from gate 2. | Now it leaves from gate 4.
If it rains we meet in the hall. | Otherwise on the square.
Ada Lee runs the desk. | She is on 4.0.
Amir proposed 4 May. | We agreed on Amir's date.
The pump of bay 7 is new. | The pump was not sold.
The clinic says six. | The hospital says seven.
The budget is 300k. | It's 230k.
Revenue was 812. | Figures are in millions.
Figures are in millions. | Revenue was 812.
All pumps are new. | None of this is true.
The pump is new. | Scratch that.
The pump is new. | Edit: it is old.
The valve was moved in May. | Note: the valve is old.
All staff have access. | Ben must ask Anna.
Option A: sell it. Option B: keep it. | We take option B.
We sell the boat. We keep the boat. | We do the latter.
Throughput was 900. | Caching was turned off during the test.
The motion was read. | The motion failed.
The price is 40. | That price assumes rain.
Rooms are free. | Rooms of Anna are not.
They were thought to help. | In the end they did not.
Suppose that it fails. | The valve shuts.
The following is not true. | The valve shuts.
First, the pump. | Second, the valve.
The pump is red.* | *It was red in May.
Nobody may sail. | Only Anna may do so.
The contract of Anna is signed. | Anna's contract was annulled.
Always sail at nine. | Never do it on Mondays.
Is the pump new? | No.
He came in May. | His boat is red.
The old rules (no longer in force): sail at nine. | Come at ten.
For small pumps only: Sail at nine. | Come at ten.""".splitlines()
)
_BETWEEN: Final = (
    "The boats of Lisbon lay there for years and years.",
    "It runs.",
    "Three hoses cost 40 euros in May.",
)
_FORMS: Final = (" ", "\n", "\n\n", "\n- ")
_DISTANCES: Final = (*range(1, 7), 11, 12, 13)


def _moved_apart(first: str, last: str, form: str) -> Iterator[str]:
    for distance in _DISTANCES:
        some = [_BETWEEN[0] if distance % 2 else _BETWEEN[(i + distance) % 3] for i in range(distance)]
        yield form.join(["Oars lie there.", first, *some, last, "Hoses hold."])


def test_one_sentence_farther() -> None:
    lines = []
    for (first, last), form in golden.some(product(_APART, _FORMS), 2):
        made = [_read(text) for text in _moved_apart(first, last, form)]
        lines.append(f"{first} | {last} {form!r} {golden.name_of(made)}")
    golden.agrees_in(FILES / "one_sentence_farther.txt", lines)


def _lists() -> Iterator[tuple[str, list[str]]]:
    """Lists, outputs and dialogues of more and more lines with a last or first line that speaks of all of them."""
    sizes = (2, 3, 4, 5, 6, 7, 11, 12, 13, 23, 24, 25, 26, 100, 101)
    items = {size: [f"- pump {i} costs {3 * i} euros" for i in range(size)] for size in sizes}
    for note in ("Not audited.", "All others are free.", "None of them is new.", "The rest is free.", "In thousands of euros.",
                 "(as of May)", "Except pump 3.", "It was sold, and so on, and nobody in all of Lisbon wanted it."):  # fmt: skip
        yield f"items, {note}", ["\n".join([*some, note, "", "Hoses hold."]) for some in items.values()]
        yield f"items, apart, {note}", ["\n".join([*some, "", note, "", "Hoses hold."]) for some in items.values()]
        yield f"an item, {note}", ["\n".join([*some, f"- {note}", "", "Hoses hold."]) for some in items.values()]
    for head in ("Pumps (in euros)", "Old pumps", "Is it new?", "Never buy:", "Rejected are these", "Skip steps 2 and 99."):
        yield head, ["\n".join([head, *some, "", "Hoses hold."]) for some in items.values()]
        yield f"{head}, apart", ["\n".join([head, "", *(one[2:] for one in some), "Hoses hold."]) for some in items.values()]
    numbered = {size: [f"{i}. Open valve {i}." for i in range(1, size)] for size in sizes}
    yield "steps", ["\n".join([*some, "", "Skip steps 1 and 2."]) for some in numbered.values()]
    for end in ("dry run", "exit status 1", "It is all done now, and well", "done", "total: 3"):
        outputs = [[f"reel {i} of {7 * i} moved" for i in range(size)] for size in sizes[:9]]
        yield f"{end} last", ["\n".join([*some, end]) for some in outputs]
        yield f"{end} first", ["\n".join([end, *some]) for some in outputs]
    for reply in ("No.", "That's wrong.", "12.", "It is not new, Anna.", "I meant Ben.", "*Ben"):
        said = [[f"max: The pump {i} is new." for i in range(size)] for size in sizes[:9]]
        yield f"to a label, {reply}", ["\n".join(["lea: The pump costs 10.", *some, f"lea: {reply}"]) for some in said]
        yield f"quoted, {reply}", ["\n".join([*(f"> {one}" for one in some), reply, "Hoses hold."]) for some in said]


def test_lists_of_more_and_more_lines() -> None:
    lines = [f"{name} {golden.name_of([_read(text) for text in texts])}" for name, texts in golden.some(_lists(), 2)]
    golden.agrees_in(FILES / "one_line_more.txt", lines)


#: Where "~" stands more and more characters come.
_CHARACTERS: Final = (
    "~: The pump was old. It is free.",
    "The pump is old. Note ~: it was sold.",
    "These rules (~) are false: the pump is old. It is free.",
    "In the EU ~ only: The pump is stored. It is free.",
    "Old rules (~ no longer in force): sail at nine. Come at ten.",
    "Anna ~: The pump is old.\nBen: No.",
    "He said “~ of it. Nobody came” and left. It rained.",
    "It was ~x. It did not hold.",
)
_LENGTHS: Final = [edge + more for edge in (12, 24, 40, 60, 80, 120, 200, 400) for more in (-2, -1, 0, 1, 2)]


def test_one_character_more() -> None:
    lines = []
    for sentence in _CHARACTERS:
        made = []
        for size in _LENGTHS:
            more = ("boats of the small harbour and " * 20)[: max(0, size - len(sentence.partition("~")[0]))]
            made.append(_read(sentence.replace("~", more.rstrip() + "s" * (len(more) - len(more.rstrip())))))
        lines.append(f"{sentence[:40]!r} {golden.name_of(made)}")
    golden.agrees(FILES / "one_character_more.txt", lines)


def test_capitals_of_every_alphabet() -> None:
    """Which of them begin a name."""
    capitals = [chr(i) for i in (*range(0x41, 0x600), *range(0x1DF0, 0x1F20)) if unicodedata.ucd_3_2_0.category(chr(i)) == "Lu"]
    lines = []
    for at in range(0, len(capitals), 30):
        texts = [
            f"The crew met {one}asan Lee and the {one}ora {one}. of bay 7. Then {one}or left." for one in capitals[at : at + 30]
        ]
        lines.append(f"{capitals[at]} {golden.name_of([(entities(text), _read(f'It held. {text}')) for text in texts])}")
    golden.agrees(FILES / "capitals.txt", lines)


def test_values_that_go_on_over_lines() -> None:
    """Values in JSON that end inside a line, with it, or behind it, alone or beside others; names in Arabic of one word more."""
    lines = []
    value = json.dumps({"id": 7, "in": [1, {"x": "It rained. So what?"}], "said": "No. Never."})
    ends = ("", ".", ". It left.", "\nIt left.", f" and {value}. No.", f"\n{value}")
    for indent, front, end in product((None, 0, 2), ("", "It held. See ", "It held.\n", "a: "), ends):
        text = front + json.dumps(json.loads(value), indent=indent) + end
        lines.append(f"{indent} {front!r} {end[:9]!r} {golden.name_of((sentences(text), _read(text)))}")
    names = (
        "الدكتور أحمد حسن علي",
        "الدكتور أحمد بن حسن علي",
        "محمد علي حسن",
        "شركة النيل الكبرى",
        "الدكتور في القاهرة",
        "قال محمد، علي",
    )
    for said, front, end in product(names, ("", "قال "), ("", " في بيت")):
        lines.append(f"{front}{said}{end} {[one[1:] for one in entities(f'{front}{said}{end}')]}")
    golden.agrees(FILES / "over_lines.txt", lines)


#: Fronts about the time to come, and words of which some command, forbid, bind or point.
_ORDERED: Final = {
    "From now on|Every time I ask,|Whenever we sail,|In future|Please": (
        "use ask answer write call push always only never not then when docker French main me it you everything for in to please "
        "keep the boat"
    ),
    "Ab jetzt|Immer wenn ich frage,|Künftig|Bitte": (
        "nutze antworte schreib nenn immer nur nie nicht dann docker deutsch mich es alles für auf zu bitte das Boot"
    ),
    "Désormais|À partir de maintenant|Chaque fois que je demande,": (
        "utilise réponds écris appelle toujours que jamais ne pas docker en français moi le tout pour"
    ),
    "A partir de ahora|Cada vez que pregunte,": (
        "usa responde escribe llámame siempre solo nunca no docker en español todo para el barco"
    ),
}


def test_orders_of_random_words() -> None:
    lines = []
    for fronts, listed in _ORDERED.items():
        for front in fronts.split("|"):
            random = Random(front)
            said = [f"{front} {' '.join(random.choice(listed.split()) for _ in range(1 + i % 6))}." for i in range(240)]
            told = "".join(".x"[is_standing_order(one)] for one in said)
            lines += [f"{front} {told[i : i + 80]}" for i in range(0, 240, 80)]
    golden.agrees(FILES / "order_words.txt", lines)
