"""Prose of any length in ten languages, made from a seed.

The sentences differ from each other and carry names, numbers and identifiers, so that whatever selects among them has something
to select. They come from a seed, which ``conversations.py`` lets Hypothesis draw: a long text drawn character by character would
use up what Hypothesis can shrink.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Final, NamedTuple


class Language(NamedTuple):
    """Pieces of sentences, put together as `frame` says; `gap` stands between sentences."""

    subjects: list[str]
    actions: list[str]
    things: list[str]
    frame: str
    gap: str


def _language(subjects: str, actions: str, things: str, frame: str, gap: str = " ") -> Language:
    return Language(subjects.split("|"), actions.split("|"), things.split("|"), frame, gap)


LANGUAGES: Final = {
    "en": _language(
        "The night shift|Marta Kowalski|Our second warehouse|The auditor|Nobody on the ferry|The old boiler|Team Heron",
        "moved|checked|forgot|repainted|counted|signed for|sent back|doubted",
        "the copper valves|a crate of lemons|the March invoice|both ladders|the tide table|her bicycle|the backup keys",
        "{s} {a} {t} in bay {n}, reference {i}.",
    ),
    "fr": _language(
        "Le facteur|Amélie Rousseau|L'équipe de nuit|Notre fournisseur|La mairie",
        "a déplacé|a vérifié|a oublié|a compté|a renvoyé",
        "les vannes|la facture d'avril|le vieux vélo|les plans du pont|trois caisses",
        "{s} {a} {t} au quai {n}, dossier {i}.",
    ),
    "de": _language(
        "Die Spätschicht|Jürgen Weiß|Unser Lieferant|Die Prüferin|Das Lager",
        "verschob|prüfte|vergaß|zählte|bestellte",
        "die Ventile|die Rechnung|den Fahrplan|beide Leitern|das Ersatzrad",
        "{s} {a} {t} an Tor {n}, Vorgang {i}.",
    ),
    "es": _language(
        "El turno de noche|Lucía Ibáñez|Nuestro almacén|La auditora",
        "movió|revisó|olvidó|contó",
        "las válvulas|la factura|el horario|las llaves",
        "{s} {a} {t} en el muelle {n}, ficha {i}.",
    ),
    "ru": _language(
        "Ночная смена|Марина Орлова|Наш склад|Аудитор",
        "перенесла|проверила|забыла|посчитала",
        "клапаны|счёт за март|расписание|запасные ключи",
        "{s} {a} {t} у ворот {n}, дело {i}.",
    ),
    "ar": _language(
        "الفريق الليلي|ليلى حداد|المستودع الثاني|المدقق",
        "نقل|فحص|نسي|عدّ",
        "الصمامات|فاتورة مارس|جدول المد|المفاتيح",
        "{s} {a} {t} في الرصيف {n}، مرجع {i}.",
    ),
    "hi": _language(
        "रात की टीम|मीरा शर्मा|हमारा गोदाम|लेखा परीक्षक",
        "ने देखा|ने गिना|ने भेजा|ने लौटाया",
        "ताँबे के वाल्व|मार्च का बिल|समय सारणी|चाबियाँ",
        "{s} {a} {t} खाड़ी {n} में, संदर्भ {i}।",
    ),
    "zh": _language(
        "夜班小组|王海燕|第二仓库|审计员",
        "搬走了|检查了|忘记了|清点了",
        "铜阀门|三月的发票|潮汐表|备用钥匙",
        "{s}{a}{t}，在{n}号码头，编号{i}。",
        "",
    ),
    "ja": _language(
        "夜勤の班|佐藤美咲|第二倉庫|監査人",
        "運んだ|確認した|忘れた|数えた",
        "銅のバルブ|三月の請求書|潮見表|予備の鍵",
        "{s}は{n}番で{t}を{a}、整理番号{i}。",
        "",
    ),
    "ko": _language(
        "야간 조|김서연|두 번째 창고|감사관",
        "옮겼다|확인했다|잊었다|세었다",
        "구리 밸브|삼월 청구서|조석표|예비 열쇠",
        "{s}은 {n}번에서 {t}를 {a}, 번호 {i}.",
    ),
}


def _below(rng: Random, end: int) -> int:
    """What ``rng.randrange(end)`` gives, in a third of its time: it is half of what a random conversation costs."""
    bits = end.bit_length()
    while (drawn := rng.getrandbits(bits)) >= end:
        pass
    return drawn


def sentence(rng: Random, language: str) -> str:
    """One sentence; its number and its reference make it unlike nearly all others."""
    subjects, actions, things, frame, _ = LANGUAGES[language]
    return frame.format(
        s=subjects[_below(rng, len(subjects))],
        a=actions[_below(rng, len(actions))],
        t=things[_below(rng, len(things))],
        n=1 + _below(rng, 899),
        i=f"{'ABCDEFGH'[_below(rng, 8)]}{'KLMNPQ'[_below(rng, 6)]}-{1000 + _below(rng, 98_999)}",
    )


@lru_cache(maxsize=8192)  # tests tell the same conversations in several options and on several wires
def prose(seed: int, language: str = "en", sentences: int = 5) -> str:
    """`sentences` sentences in paragraphs of seven; the same arguments give the same text."""
    rng = Random(seed)
    gap = LANGUAGES[language].gap
    rows = [sentence(rng, language) for _ in range(sentences)]
    return "\n\n".join(gap.join(rows[i : i + 7]) for i in range(0, len(rows), 7))


def _code(rng: Random) -> str:
    head = f"def load_{rng.choice(['tide', 'ferry', 'crate', 'ledger'])}_{rng.randrange(99)}(path: str) -> dict:"
    return f'```python\n{head}\n    """Reads {rng.randrange(9999)} rows."""\n    return json.loads(path)\n```'


def _rows(rng: Random) -> str:
    rows = [
        {"id": rng.randrange(10**6), "who": rng.choice("abcdef"), "ok": rng.random() < 0.5} for _ in range(rng.randrange(3, 40))
    ]
    return json.dumps(rows, indent=rng.choice([None, 2]))


def _log(rng: Random) -> str:
    return "\n".join(
        f"2026-03-{rng.randrange(1, 29):02} 11:{rng.randrange(60):02}:00 {rng.choice(['INFO', 'INFO', 'INFO', 'ERROR'])} "
        f"worker-{rng.randrange(9)} took {rng.randrange(5000)} ms"
        for _ in range(rng.randrange(5, 80))
    )


def _diff(rng: Random) -> str:
    n = rng.randrange(900)
    return f"diff --git a/bay.py b/bay.py\n--- a/bay.py\n+++ b/bay.py\n@@ -{n},2 +{n},2 @@\n-valves = {n}\n+valves = {n + 1}\n"


def _mixed(rng: Random) -> str:
    return "\n\n".join([prose(rng.randrange(10**6), "en", 2), _code(rng), prose(rng.randrange(10**6), "de", 2), _rows(rng)])


#: Texts that are not plain prose, by kind.
KINDS: Final[dict[str, Callable[[Random], str]]] = {"code": _code, "json": _rows, "log": _log, "diff": _diff, "mixed": _mixed}


def text_of_kind(kind: str, seed: int) -> str:
    """A text of one of KINDS; the same arguments give the same text."""
    return KINDS[kind](Random(seed))
