"""What a shortened text says is what the whole says: where a claim is shown, so is what limits, corrects or heads it.

These tests cover natural texts of 19 languages (``meaning.txt``, ``structures.txt``, ``references.txt``, ``paragraphs.txt``,
``distant.txt`` and ``domains.txt`` in ``cases``), alone and within a longer text, through layers, FACTS, summaries and the round
trip. They leave out which rule ties what (``test_ties.py`` and its neighbours).

A case of the files is a line with its half (``open``: looked at while the rules were written; ``held``: not) and language, a
text, and lines of ``>>``, claims (parted by ``|``), ``=>``, and what must stand beside each (any one of several, parted by
``||``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.support.cases import each
from tests.support.effort import is_thorough
from turnfold.compression import compress
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.memo import Memo
from turnfold.compression.scorers.base import Scorer
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.judged_text import JudgedText
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

#: Around a text, so that it is a part of a longer one.
BEFORE: Final = (
    "Good morning everybody, and thanks for the quick answers of last week. "
    "The kitchen on the second floor has been painted, and the coffee machine works again. "
    "A choir from Lund sang in the market hall in the evening. Nora painted the fence, and her brother carried the buckets. "
    "The ferry to the islands took ninety minutes that day. The garden behind the old school has two ponds."
)
BEHIND: Final = (
    "The train to the coast was full of families with bicycles. Somebody brought a large cake with cherries for the team. "
    "We also talked about the new chairs for a while, and about the weather in Norway. "
    "The baker on the corner sells bread with walnuts. Two men repaired the clock of the town hall and whistled. "
    "The swallows came back on a warm morning, and children collected feathers on the beach."
)
#: Still wrong: a claim is shown alone in some output. A repair takes its line out.
STILL_WRONG: Final[frozenset[str]] = frozenset(
    (
        "They may invite three guests => free tier",
        "入場料は大人千円 => 市民は半額",
        "looked fine at 80 percent => crashed at 93",
        "bans single-use cups from July => use up their stock",
        "fine with me => they already said no",
        "Unserer misst => tiefer als",
        "The deficit is => mistake in row 7",
        "friday or so => 150 back",
        "die Hälfte nehmen => acht Personen",
        "I was for A => Let's take B",
        "otherwise I book it => Option B",
        "Lea prefers B => Option B",
        "yes, if you take => shift on saturday",
        "Der Statiker hatte => 450",
        "500 berechnet => 450",
        "reicht es trotzdem => Decke",
        "Ne les prenez => comprimés",
        "Two years => Batteries",
        "they would cost 9 => Returns",
        "we'd take the second => might want that one",
        "700 for the week => the first then || first two weeks",
        "one in 300 => Newer ones",
        "Ring twice => Adler",
        "The lab opens in May => has yet to be granted",
        "the ceiling is 210 => Hotel costs",
        "hold the fair on 27 June => has still to confirm",
        "The deposit of 1,900 is returned => may keep back",
        "that usually takes two days => Repeat this",
        "The company had wanted 115 => Night shifts",
        "The existing rule goes on => weekends",
        "day two on the river => above 2.10 m",
        "Children from ten may paddle => Younger ones",
        "Kappa is the cheapest => room for 6,000",
        "The reduction is not granted => pays 80",
        "lend us 350k => pledge the workshop",
        "We would have to pledge => out of the question",
        "The museum is free => Special exhibitions",
        "got 2,900 orders => coupon site",
        "a key can reach 600 in each => plan to change that",
        "Der Aufzug fährt ab Mittwoch => Schwere Lasten",
        "14時までです => 金曜日",
        "It concerns the houses 12 to 20 => Number 16",
        "Start-up now takes 1.9 seconds => fastest of the phones",
        "press the small button => settings are lost",
        "Guests can use the second network => switched off",
        "Rehearsals move to Tuesdays => gets its hall back",
        "Der Beitrag steigt auf 48 => Familien",
        "Den Grill bringt => schon versprochen",
        "Genauigkeit von 96 Prozent => Labor",
        "vier von elf => Risse",
        "20 centimes par jour => a renoncé",
        "La piscina abre a las diez => en obras",
        "水筒なら持ち込めます => パソコンの席",
        "takes nine weeks => took thirty",
        "Corvex has cut its emissions by half since 2015. => What the release leaves out is that two of its mills were sold",
        "Lund played brilliantly, a real wall in goal. => Five balls went past that wall in the first half alone.",
        "the machine is from 1994 => All right, the nurse did tell me.",
        "Call the number in Dublin and have it blocked. => Was it lost outside the country?",
        "A new card is free. => The metal ones have a price of their own.",
        "The valuer puts the house at 640,000. => The bank's own valuer arrives at barely 500,000.",
        "the fees fall by a fifth. => they fall in the first year and go up after it.",
        "Hot water will be shut off on Friday. => Somebody has been putting up a false notice in the stairwell.",
        "Members pay half price for the concert. => Honorary members get in for nothing; student members pay in full.",
        "Our test shows that brand A lasts longest. => The maker supplied the samples and paid for the test.",
        "Do not open the cabinet. => That warning is for visitors.",
        "The committee recommends candidate 2. => The head of the committee is her brother-in-law, as came out after the vote.",
        "You can export your data as CSV. => Free accounts see it greyed out.",
        "Your parcel arrives tomorrow between 8 and 10. => I have now set the parcel to wait at the depot",
        "the room for Thursday is booked => The booking runs under option until Wednesday noon",
        "Police arrested a man of 34 on Tuesday. => and he is free again",
        "40,000 goes to the roof. => that sum was spent in January",
        "The vaccine reduced hospital stays by 81 percent. => Its control group was on average twenty years older.",
        "please transfer the 3,000 to Vogel => Before you do, ask Ruth whether she has paid it already.",
        "rename this to parse_header => Feel free to ignore all my nits.",
        "I'm free on Tuesday. => Forget Tuesday, I see there's the dentist.",
        "The contract is for an indefinite period. => The first six months are a trial period",
        "Are we good for the release tonight? => Then I'll move it to Friday.",
        "I'll leave the banner as it is. => I'll take it down.",
        "you have been chosen for our study programme => sent to all applicants by a fault",
        "The fee is waived. => sent to all applicants by a fault",
        "The treasurer reports a surplus of 3,200 euros. => without it there would have been a loss",
        "It can be extended twice. => Reserved titles go back on the day.",
        "Sensor 4 reported 180 degrees at noon. => The reading was off by a hundred",
        "a jack can be put on anything => My cousins play that a jack can't go on a jack",
        "The biopsy is benign. => Whether that holds for the right one, nobody has checked.",
        "Chapter 2 can go to print. => What I haven't seen are the figures on page 40",
        "Support for the plan has risen to 60 percent. => All of them were members of the party.",
        "Die Garantie gilt fünf Jahre. => Akku und Netzteil sind nach einem Jahr draußen.",
        "Your refund was approved today. => The voucher part can't be paid out, so it's 54.",
        "We offer a fixed price of 18,000 for the roof. => Scaffolding and disposal come on top",
        "Set max_connections to 500. => On the small instances that will eat all memory, so leave it at 100 there.",
        "Data is deleted after 90 days. => Legal hold suspends the job for the accounts named in it.",
        "The sauce is gluten free. => The soy sauce most shops sell has wheat in it, so buy tamari.",
        "I accept your offer. => There is one thing I'd need in writing",
        "The heirs accept the estate. => Karl does so with the reservation that the debts stay below 40,000.",
        "If the light stays red, reset it with a pin. => You lose your own settings that way.",
        "Die Beiträge steigen auf 90 Euro. => Abgestimmt wird darüber im Juni.",
        "Bring the blue suitcase. => Take the grey one. || The zip is broken",
        "71 percent are happy with the bus. => Among those who actually take it, a mere 38 percent are happy.",
        "We deliver within three days. => Items marked with a truck go by freight and take longer.",
        "Returns are possible for 30 days. => Opened software is yours to keep.",
        "La radiografía es normal. => Una segunda radiografía muestra una mancha en la base.",
        "El alta está prevista para el viernes. => La familia ha pedido que se quede hasta el lunes y se le ha concedido.",
        "This curry is mild. => Thai readers write that it is not mild at all with the paste sold in Asia",
        "The function is O(n). => `keys()` copies the whole dict on every call, and you call it in the loop",
        "Users can reset their password themselves. => Accounts with single sign-on have no password with us.",
        "Company cars may be used privately. => The two vans in the yard are not company cars in the sense of this rule",
        "A new battery charges in three minutes => Larger ones overheated.",
        "80 left an address. => about half, says Lars",
        "The maker speaks of a single case. => We have heard from nine readers since.",
        "이틀 안에 도착 => 제주도는",
        "계약이 끝났다고 => 아직 서명하지",
        "open all year => out of use in winter || The last",
        "自由に使えます => 金曜の午後",
        "The money has been transferred. => The first half of it, to be exact.",
        "La comtesse a brûlé le testament. => Voilà du moins ce que raconte la bonne.",
        "O elevador aguenta dez pessoas. => É o que diz a placa; ontem parou com seis.",
        "You may drive again. => At dusk you see next to nothing on the left, so leave the car at home then.",
        "the office is closed on Friday => Support works as usual, sorry.",
        "Le musée est gratuit le dimanche. => L'exposition du sous-sol reste payante.",
        "Bicycles may be parked in the yard. => The wall under the windows of the flat on the left is taboo.",
        "Travel is cut by a third. => the decisions under items 2 and 3 are subject to the approval of the treasurer",
        "Yes to the first question, no to the second. => You had asked whether we deliver to Norway",
        "Die Praxis nimmt neue Patienten auf. => Kassenpatienten landen auf einer Warteliste.",
        "The new build fixes the crash on start. => Oskar's phone, the one we wrote the fix for, still crashes.",
        "My neighbour says so. => He also said that last year, and it was open.",
        "The cheaper one won. => Option B costs 4,000 and takes three.",
        "You may use AI tools for your thesis. => Supervisors can forbid it, and in chemistry all of them have.",
        "Mrs Kaya reports no pain. => The night nurse found her in tears at three and gave 5 mg of morphine.",
        "Run the installer as administrator. => On a Mac, skip the first of these.",
        "We suspected a leak in the parser. => The memory belonged to the profiler they had attached.",
        "You can merge this as it is. => Hold on until Petra has looked at the migration, though.",
        "My grandmother adds a glass of rum. => I leave it out",
        "The relaunch moves to autumn. => the decisions under items 2 and 3 are subject to the approval of the treasurer",
    )
)
#: The same amid these paragraphs.
STILL_WRONG_IN_LONGER_TEXTS: Final[frozenset[str]] = frozenset(
    (
        "They may invite three guests => free tier",
        "入場料は大人千円 => 市民は半額",
        "계약이 끝났다고 => 아직 서명하지",
        "looked fine at 80 percent => crashed at 93",
        "bans single-use cups from July => use up their stock",
        "都可以参加考试 => 缺课超过十次",
        "自由に使えます => 金曜の午後",
        "Unserer misst => tiefer als",
        "The deficit is => mistake in row 7",
        "he'll send 150 => unless he forgets",
        "I was for A => Let's take B",
        "otherwise I book it => Option B",
        "Lea prefers B => Option B",
        "half as much => 249",
        "that one's fine => holiday",
        "what about monday's => shift",
        "Two years => Batteries",
        "they would cost 9 => Returns",
        "we'd take the second => might want that one",
        "700 for the week => the first then || first two weeks",
        "one in 300 => Newer ones",
        "hold the fair on 27 June => has still to confirm",
        "The deposit of 1,900 is returned => may keep back",
        "The company had wanted 115 => Night shifts",
        "The existing rule goes on => weekends",
        "Kappa is the cheapest => room for 6,000",
        "The reduction is not granted => pays 80",
        "lend us 350k => pledge the workshop",
        "The museum is free => Special exhibitions",
        "got 2,900 orders => coupon site",
        "a key can reach 600 in each => plan to change that",
        "Der Aufzug fährt ab Mittwoch => Schwere Lasten",
        "14時までです => 金曜日",
        "Ravi would go for object storage => other way round",
        "It concerns the houses 12 to 20 => Number 16",
        "Start-up now takes 1.9 seconds => fastest of the phones",
        "press the small button => settings are lost",
        "Guests can use the second network => switched off",
        "Rehearsals move to Tuesdays => gets its hall back",
        "Der Beitrag steigt auf 48 => Familien",
        "Den Grill bringt => schon versprochen",
        "20 centimes par jour => a renoncé",
        "水筒なら持ち込めます => パソコンの席",
        "takes nine weeks => took thirty",
        "Corvex has cut its emissions by half since 2015. => What the release leaves out is that two of its mills were sold",
        "Lund played brilliantly, a real wall in goal. => Five balls went past that wall in the first half alone.",
        "the machine is from 1994 => All right, the nurse did tell me.",
        "Call the number in Dublin and have it blocked. => Was it lost outside the country?",
        "A new card is free. => The metal ones have a price of their own.",
        "The valuer puts the house at 640,000. => The bank's own valuer arrives at barely 500,000.",
        "The money has been transferred. => The first half of it, to be exact.",
        "Hot water will be shut off on Friday. => Somebody has been putting up a false notice in the stairwell.",
        "La comtesse a brûlé le testament. => Voilà du moins ce que raconte la bonne.",
        "O elevador aguenta dez pessoas. => É o que diz a placa; ontem parou com seis.",
        "You may drive again. => At dusk you see next to nothing on the left, so leave the car at home then.",
        "Our test shows that brand A lasts longest. => The maker supplied the samples and paid for the test.",
        "Do not open the cabinet. => That warning is for visitors.",
        "the office is closed on Friday => Support works as usual, sorry.",
        "The committee recommends candidate 2. => The head of the committee is her brother-in-law, as came out after the vote.",
        "You can export your data as CSV. => Free accounts see it greyed out.",
        "Your parcel arrives tomorrow between 8 and 10. => I have now set the parcel to wait at the depot",
        "the room for Thursday is booked => The booking runs under option until Wednesday noon",
        "Police arrested a man of 34 on Tuesday. => and he is free again",
        "40,000 goes to the roof. => that sum was spent in January",
        "The vaccine reduced hospital stays by 81 percent. => Its control group was on average twenty years older.",
        "Travel is cut by a third. => the decisions under items 2 and 3 are subject to the approval of the treasurer",
        "The relaunch moves to autumn. => the decisions under items 2 and 3 are subject to the approval of the treasurer",
        "Yes to the first question, no to the second. => You had asked whether we deliver to Norway",
        "please transfer the 3,000 to Vogel => Before you do, ask Ruth whether she has paid it already.",
        "rename this to parse_header => Feel free to ignore all my nits.",
        "I'm free on Tuesday. => Forget Tuesday, I see there's the dentist.",
        "Die Praxis nimmt neue Patienten auf. => Kassenpatienten landen auf einer Warteliste.",
        "The new build fixes the crash on start. => Oskar's phone, the one we wrote the fix for, still crashes.",
        "Take two tablets in the morning with plenty of water. => Patients over 65 take one.",
        "The contract is for an indefinite period. => The first six months are a trial period",
        "you have been chosen for our study programme => sent to all applicants by a fault",
        "The fee is waived. => sent to all applicants by a fault",
        "The treasurer reports a surplus of 3,200 euros. => without it there would have been a loss",
        "Sensor 4 reported 180 degrees at noon. => The reading was off by a hundred",
        "a jack can be put on anything => My cousins play that a jack can't go on a jack",
        "The biopsy is benign. => Whether that holds for the right one, nobody has checked.",
        "Chapter 2 can go to print. => What I haven't seen are the figures on page 40",
        "Support for the plan has risen to 60 percent. => All of them were members of the party.",
        "You may use AI tools for your thesis. => Supervisors can forbid it, and in chemistry all of them have.",
        "Die Garantie gilt fünf Jahre. => Akku und Netzteil sind nach einem Jahr draußen.",
        "Your refund was approved today. => The voucher part can't be paid out, so it's 54.",
        "Set max_connections to 500. => On the small instances that will eat all memory, so leave it at 100 there.",
        "Data is deleted after 90 days. => Legal hold suspends the job for the accounts named in it.",
        "Mrs Kaya reports no pain. => The night nurse found her in tears at three and gave 5 mg of morphine.",
        "The partner contributes 200,000. => Draft of 7 June, for discussion only.",
        "The sauce is gluten free. => The soy sauce most shops sell has wheat in it, so buy tamari.",
        "I accept your offer. => There is one thing I'd need in writing",
        "My grandmother adds a glass of rum. => I leave it out",
        "Die Beiträge steigen auf 90 Euro. => Abgestimmt wird darüber im Juni.",
        "Bring the blue suitcase. => Take the grey one. || The zip is broken",
        "71 percent are happy with the bus. => Among those who actually take it, a mere 38 percent are happy.",
        "We deliver within three days. => Items marked with a truck go by freight and take longer.",
        "Returns are possible for 30 days. => Opened software is yours to keep.",
        "This curry is mild. => Thai readers write that it is not mild at all with the paste sold in Asia",
        "The function is O(n). => `keys()` copies the whole dict on every call, and you call it in the loop",
        "Users can reset their password themselves. => Accounts with single sign-on have no password with us.",
        "Company cars may be used privately. => The two vans in the yard are not company cars in the sense of this rule",
        "A new battery charges in three minutes => Larger ones overheated.",
        "80 left an address. => about half, says Lars",
    )
)


#: A line that says what must stand beside what. A text may begin a line with ">>" too.
_CHECK: Final = re.compile(r"^>> (.*) => (.*)$", re.MULTILINE)


class Case(NamedTuple):
    text: str
    claims: tuple[str, ...]
    limit: str
    number: int

    @property
    def name(self) -> str:
        return f"{self.claims[0]} => {self.limit}"


def _cases(name: str) -> Iterator[Case]:
    blocks = (Path(__file__).parent / "cases" / name).read_text(encoding="utf-8").split("\n---\n")
    for number, block in enumerate(blocks):
        text = _CHECK.sub("", block.partition("\n")[2]).strip("\n")
        for check in _CHECK.finditer(block):
            yield Case(text, tuple(re.split(r"(?<! )\|(?! )", check[1])), check[2], number)


def _flat(text: str) -> str:
    return re.sub(r"[\s>]+", " ", text).lower()


@pytest.fixture(scope="module", autouse=True)
def judged_once() -> Iterator[None]:
    """Rate the sentences of a text once for all ratios; a result depends on the text, the scorer and the query alone.

    `compress` makes a compressor for each call, so the compressor is no part of what it is remembered by.
    """
    judge, known = Compressor._judge, dict[tuple[str, str, str | None], JudgedText]()

    def judged(compressor: Compressor, text: str, scorer: Scorer, query: str | None) -> JudgedText:
        key = (text, scorer.name, query)
        if key not in known:
            known[key] = judge(compressor, text, scorer, query)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compressor, "_judge", judged)
        yield


_COMPRESSOR: Final = Compressor()


@cache
def _outputs(text: str) -> tuple[str, ...]:
    return tuple(map(_flat, chain(_layers(text, 0.1, 0.3, 0.45), _folded(text))))


@cache
def _outputs_in_longer(text: str) -> tuple[str, ...]:
    whole = f"{BEFORE}\n\n{text}\n\n{BEHIND}"
    return tuple(map(_flat, (*_layers(whole, 0.1, 0.25, 0.45), _facts(whole, "assistant"))))


def _layers(text: str, *ratios: float) -> Iterator[str]:
    for ratio in ratios:
        yield from (layer.text for layer in _COMPRESSOR.compress(CompressRequest(text, l1_ratio=ratio)).layers[1:])


def _facts(text: str, role: str) -> str:
    return facts(text, role=role, words=frozenset(), known=frozenset(), count=count)


def _folded(text: str) -> Iterator[str]:
    yield from (_facts(text, role) for role in ("user", "assistant"))
    for budget in (60, 120):
        quotes = summarise([Source("assistant", text, b"a")], budget, count, Memo(1))
        yield " ".join(text[quote.start : quote.end] for quote in quotes)
    asked = [{"role": "user", "content": "Can you keep these notes for me?"}, {"role": "assistant", "content": text}]
    later = [{"role": ("user", "assistant")[i % 2], "content": f"Let us talk about point {i} tomorrow."} for i in range(8)]
    yield "\n".join(str(message["content"]) for message in compress([*asked, *later], {"token_budget": 120}).messages)


def _is_wrong(case: Case, outputs: Callable[[str], tuple[str, ...]]) -> bool:
    limits = [_flat(limit) for limit in case.limit.split(" || ")]
    alone = [shown for shown in outputs(case.text) if not any(limit in shown for limit in limits)]
    return any(_flat(claim) in shown for shown in alone for claim in case.claims)


CASES: Final = {
    name: tuple(_cases(name))
    for name in ("meaning.txt", "structures.txt", "references.txt", "paragraphs.txt", "distant.txt", "domains.txt")
}


def _check(case: Case) -> None:
    """Look at a text alone or within a longer one, at every other in the one way; at each in both in the profile "thorough"."""
    assert all(_flat(part) in _flat(case.text) for part in (*case.claims, *case.limit.split(" || ")))
    if case.number % 2 or is_thorough():
        assert _is_wrong(case, _outputs) == (case.name in STILL_WRONG)
    if case.number % 2 == 0 or is_thorough():
        assert _is_wrong(case, _outputs_in_longer) == (case.name in STILL_WRONG_IN_LONGER_TEXTS)


@each("case", CASES["meaning.txt"])
def test_no_claim_stands_without_what_limits_it(case: Case) -> None:
    _check(case)


@each("case", CASES["structures.txt"])
def test_nor_in_lists_tables_quotes_and_dialogues(case: Case) -> None:
    _check(case)


@each("case", CASES["references.txt"])
def test_nor_without_what_it_refers_to(case: Case) -> None:
    _check(case)


@each("case", CASES["paragraphs.txt"])
def test_nor_in_longer_paragraphs(case: Case) -> None:
    _check(case)


@each("case", CASES["distant.txt"])
def test_nor_behind_a_sentence_that_stands_between(case: Case) -> None:
    _check(case)


@each("case", CASES["domains.txt"])
def test_nor_in_contracts_incidents_medicine_and_mails(case: Case) -> None:
    _check(case)


def test_what_is_still_wrong_is_a_case() -> None:
    assert {case.name for case in chain(*CASES.values())} >= STILL_WRONG | STILL_WRONG_IN_LONGER_TEXTS
