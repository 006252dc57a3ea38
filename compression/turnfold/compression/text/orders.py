"""Standing orders: what a user wants done from now on, whatever the turn.

Lives here: finding the sentences that say so, in the main languages. Must not: obeying them, other signals (``signals``).

An order that is lost costs more than a sentence kept for nothing, so doubtful cases count, except plain statements about oneself
("I always go there").
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.spans import Span

# Phrases that are orders wherever they stand.
_FIRM: Final = (
    r"from now on|from here on|going forward|in (?:the )?future|for the rest of (?:this|the|our)|at all times"
    r"|under no circumstances"
    r"|make sure|be sure to|ensure (?:that|you)|remember (?:to|that)|keep in mind|don't forget|do not forget"
    r"|don't ever|not ever"
    r"|please (?:always|never|don't|do not|avoid|only|keep|stop|remember|refrain)|you (?:must|should|shall|need to"
    r"|have to|are to)"
    r"|(?:must|should|may|can) (?:always|never|not|only)|mustn't|shouldn't|whenever (?:you|i)|every time (?:you|i)"
    r"|each time (?:you|i)"
    r"|in (?:all|every) (?:your |of your )?(?:answers?|repl(?:y|ies)|responses?|messages?)|i (?:want|need|would like"
    r"|'d like) you to"
    r"|stick to|no matter what|as a (?:standing )?rule|instead of|the rule is"
    r"|ab (?:jetzt|sofort|nun)|von (?:jetzt|nun) an|in zukunft|künftig|zukünftig|stell(?:e|en sie)? (?:bitte )?sicher"
    r"|achte(?:n sie)? (?:bitte )?darauf"
    r"|bitte (?:nicht|nie|immer|keine|nur|stets)|vergiss nicht|vergessen sie nicht|denk(?:e|en sie)? daran"
    r"|du (?:sollst|musst)|sie (?:sollen|müssen)"
    r"|désormais|dorénavant|à partir de maintenant|à l'avenir|assure[sz]?[- ](?:toi|vous)|veille[sz]? à"
    r"|n'oublie[sz]? pas|il (?:ne )?faut"
    r"|s'il (?:te|vous) plaît,? n|ne [a-zà-ÿ]+ (?:pas|jamais|plus)|tu dois|vous devez"
    r"|de ahora en adelante|a partir de ahora|en adelante|en el futuro|asegúrate|asegúrese|por favor,? (?:no|siempre"
    r"|nunca)|recuerda|recuerde"
    r"|no olvides|ten en cuenta|debes|debe[sn]?|tienes que"
    r"|a partir de agora|daqui em diante|de agora em diante|no futuro|certifique-se|por favor,? (?:não|sempre|nunca)"
    r"|lembre-se|não esqueça|você deve"
    r"|d'ora in poi|d'ora in avanti|in futuro|assicurati|si assicuri|per favore,? (?:non|sempre)|ricorda(?:ti)?"
    r"|non dimenticare|devi"
    r"|отныне|с этого момента|впредь|в дальнейшем|убедись|убедитесь|пожалуйста,? не|не забывай|помни|ты должен|вы должны"
    r"|从现在(?:开始|起)|从今以后|今后|以后(?:都|请|要|不)|务必|请勿|请不要|不要|不许|不准|必须|一定要|记住|确保|每次都?"
    r"|今後は?|これから(?:は|も)?|必ず|絶対に|決して|ないでください|しないで|ようにしてください|忘れないで|毎回|てはいけない|てはならない"
    r"|앞으로|지금부터|반드시|절대로?|하지 ?마|지 ?마세요|말아 ?주세요|꼭|잊지 ?마"
    r"|من الآن فصاعد|من الآن|لا تستخدم|تأكد|يجب|لا تنس|अब से|सुनिश्चित|कृपया .{0,20}(?:न|मत)|मत करो|याद रख"
)
# Words that are orders unless somebody speaks of what somebody does.
_LOOSE: Final = (
    r"always|never|do not|don't|only|avoid|must|immer|stets|niemals|nie|nur|toujours|jamais|uniquement|siempre|nunca"
    r"|jamás|solo|sólo|evita"
    r"|sempre|somente|apenas|mai|evite|всегда|никогда|только|总是|始终|永远|一直|只能|只用|常に|いつも|항상|언제나|دائم[اًا]+|أبد[اًا]+|हमेशा|कभी"
)
_SUBJECT: Final = (
    r"\b(?:i|we|he|she|they|it|who|which|that|there|people|everyone|i'?ve|i'?m|we'?ve|we're|they'?ve|they're|he's"
    r"|she's|it's|ich|wir|er|es|je|j'ai"
    r"|nous|il|elle|on|ils|yo|nosotros|eu|nós|io|noi|я|мы|он|она|они|我|我们|他|她|它|他们|私|僕|俺)\b"
)
_LATIN_WORD: Final = r"[^\W\d_]"
_FIRM_RE: Final = re.compile(rf"(?<!{_LATIN_WORD})(?:{_FIRM})", re.IGNORECASE)
_LOOSE_RE: Final = re.compile(rf"(?<!{_LATIN_WORD})(?:{_LOOSE})(?!{_LATIN_WORD}*[a-z])", re.IGNORECASE)
_SUBJECT_RE: Final = re.compile(_SUBJECT, re.IGNORECASE)
_ASKS: Final = re.compile(r"[?？؟]\s*\Z")
_ASKS_YOU: Final = re.compile(r"\b(?:can|could|would|will) you\b|\bplease\b|\bbitte\b|por favor|s'il (?:te|vous)", re.IGNORECASE)


def is_standing_order(sentence: str) -> bool:
    """Whether one sentence tells the reader how to behave beyond this turn; a question is none unless it is a polite order."""
    if _ASKS.search(sentence) and not _ASKS_YOU.search(sentence):
        return False
    if _FIRM_RE.search(sentence):
        return True
    loose = _LOOSE_RE.search(sentence)
    return bool(loose) and not _SUBJECT_RE.search(sentence, 0, loose.start() if loose else 0)


def standing_orders(text: str) -> list[Span]:
    """The sentences of a text that are standing orders, white space behind them included; kind ``order``."""
    if not (_FIRM_RE.search(text) or _LOOSE_RE.search(text)):
        return []
    return [Span(s.start, s.end, "order") for s in sentences(text) if not s.kind and is_standing_order(s.of(text))]
