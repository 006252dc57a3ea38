"""Sentences that refer to an earlier statement of the user: "the address I gave you at the start".

This module knows the forms of such a sentence. What it is answered with is decided in ``recall``; a work that is asked for again
is in ``wanted.works``, requests for the beginning as such are in ``requests``.

Whoever asks for a thing twice in such words repeats the words: the earlier request resembles the new one more than the message
with the answer does, and contains nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from turnfold.compression.text import words
from turnfold.compression.text.lower import PHRASE_START
from turnfold.compression.text.sentences import rough_sentences

_LONGEST: Final = 4000  # characters of a message in which somebody says so; a longer one contains pasted text
_BEFORE: Final = (
    r"(?:earlier|before|above|previously|already|further up|up there|initially|originally|a (?:while|moment) ago|last time|"
    r"yesterday|in the beginning|(?:at|from) the (?:very )?(?:start|beginning|outset|top))"
)
_GAVE: Final = (
    r"(?:gave|given|told|sent|mentioned|shared|named|showed|shown|wrote|written|pasted|listed|said|provided|posted|described|"
    r"specified|noted|dictated)"
)
_FORMS: Final = (
    rf"\b(?:(?:that|which) )?(?<!\bas )(?:i|we)(?:['’](?:ve|d)| have| had)? (?:already |just |also )?"
    rf"{_GAVE}(?: (?:to )?(?:you|it|them))?"
    rf" (?:[\w'-]+ ){{0,3}}?{_BEFORE}\b",
    rf"\b(?:(?:that|which) )?(?<!\bas )(?:i|we)(?:['’](?:ve|d)| have| had)? "
    rf"(?:already |earlier |previously |just ){_GAVE}\b(?: you\b)?",
    rf"\b{_GAVE} {_BEFORE}\b|\b(?:from|as|like) (?:earlier|before|above)\b(?! (?:that|this|the|you|we|i)\b)",
    r"\b(?:ich|wir) (?:(?:dir|euch|ihnen) )?(?:\w+ ){0,2}?(?:vorhin|oben|früher|eben|vorher|bereits|schon|am anfang|anfangs|"
    r"zu beginn|eingangs)(?: \w+){0,3}? "
    r"(?:gegeben|genannt|gesagt|geschickt|erwähnt|geschrieben|mitgeteilt|gezeigt)\b(?: hab\w*)?",
    r"\b(?:vorhin|oben|eingangs|anfangs) (?:genannt|erwähnt|gegeben|geschickt|mitgeteilt)\w*",
    r"\bqu(?:e |['’])(?:je|nous|j['’])? ?(?:t['’]|te |vous )?(?:ai|avais|avons) (?:déjà )?"
    r"(?:donn|dit|envoy|indiqu|mentionn|montr|partag|cit)\w*"
    r"(?: \w+){0,3}? (?:tout à l['’]heure|plus haut|avant|plus tôt|au début|précédemment|ci-dessus)",
    r"\bque (?:ya )?(?:te|le|os|les) (?:he |había )?(?:di|dije|envié|mandé|mencioné|pasé|mostré|dado|dicho|enviado|mencionado|"
    r"pasado)\b(?: \w+){0,3}? (?:antes|arriba|al principio|al inicio|previamente)\b",
    r"\bque (?:eu )?(?:já )?(?:te |lhe )?(?:dei|disse|enviei|mandei|mencionei|passei|mostrei)\b(?: \w+){0,3}? "
    r"(?:antes|acima|no início|no começo|mais cedo)\b",
    r"\bche (?:ti|vi|le) (?:ho|avevo|abbiamo) (?:già )?(?:dato|detto|mandato|inviato|menzionato|mostrato|indicato)"
    r"(?: \w+){0,3}? (?:prima|sopra|all['’]inizio|in precedenza)\b",
    r"\b(?:die|dat) ik (?:je|jullie|u) (?:eerder|net|daarnet|hierboven|in het begin)(?: \w+){0,2}? "
    r"(?:gaf|gegeven|noemde|genoemd|stuurde|gestuurd|zei)\b(?: heb\b)?",
    r"\bktór\w+ (?:ci |wam )?(?:wcześniej|na początku|wyżej) (?:\w+ )?(?:poda|powiedzia|wysła|wspomnia)\w*",
    r"\bкотор\w+ я (?:(?:тебе|вам) )?(?:(?:ранее|раньше|выше|до этого|в начале) (?:\w+ )?(?:дал|назвал|прислал|сказал|отправил|"
    r"указал|упомин)\w*|(?:дал|назвал|прислал|указал)\w* (?:ранее|раньше|выше|в начале))",
    r"我(?:之前|刚才|先前|前面|上面|一开始|早些时候)(?:给|告诉|说|提|发|提供)[过了]?[你您]?的?",
    r"(?:さっき|先ほど|前に|以前|最初に|上で)(?:伝え|言っ|渡し|教え|送っ|挙げ|述べ)[たて]?",
    r"(?:아까|전에|앞서|위에서|처음에) ?(?:말한|말했던|준|알려준|보낸|언급한)",
)


@cache
def _forms() -> re.Pattern[str]:
    forms = "|".join(f"(?:{form})" for form in _FORMS)
    return re.compile(f"{PHRASE_START}(?:{forms})")


def points_back(folded: str) -> bool:
    """Whether a case-folded text refers to something its writer said earlier."""
    return len(folded) <= _LONGEST and _forms().search(folded) is not None


def told_before(text: str) -> list[str]:
    """The sentences of a message that ask for something the user said earlier, without the words that say so."""
    if not points_back(words.fold(text)):
        return []
    said = (words.fold(text[start:end].strip()) for start, end in rough_sentences(text))
    return [_forms().sub(" ", one) for one in said if points_back(one)]
