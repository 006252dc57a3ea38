"""Standing orders: what a user wants done from now on, whatever the turn.

Lives here: finding the sentences that say so, in the main languages. Must not: obeying them, other signals (``signals``).

Orders are told from talk by form: a phrase that only orders have ("from now on", "you must never"), or an order's word where an
imperative begins ("Always answer ..." but not "I always ..." nor "Always wanted to ...").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression.text.lower import lowered, words
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.spans import Span

# All patterns look at text in small letters with straight apostrophes.
_ANYWHERE: Final = re.compile(
    r"\b(?:from now on|going forward,|in (?:the )?future,|for the rest of (?:this|the|our) (?:chat"
    r"|conversation|session|project)"
    r"|at all times|under no circumstances|until i (?:say|tell you)|please (?:always|never|don't|do not|only|make sure"
    r"|remember|avoid|keep in mind)"
    r"|you (?:must|are to|shall)\b|you should (?:always|never|not|only)|you (?:may|can) (?:only|never)"
    r"|i(?:'d like| want| need| would like) you to (?:always|never|only|not)|(?:must|should) never|(?:every"
    r"|each) time (?:you|i (?:ask|say|send|write))"
    r"|whenever (?:you (?:answer|write|reply|respond|use|give|generate|change|edit|see)|i (?:ask|say|send|write))"
    r"|in (?:all|every|each) (?:of )?(?:your )?(?:answers?|repl(?:y|ies)|responses?|messages?)"
    r"|ab (?:jetzt|sofort)|von (?:jetzt|nun) an|in zukunft|zukünftig|künftig|bitte (?:nie|niemals|immer|keine|nur|stets|nicht)"
    r"|du (?:sollst|darfst|musst) (?:immer|nie|nicht|nur|stets)|sie (?:sollen|dürfen|müssen) (?:immer|nie|nicht|nur|stets)"
    r"|désormais|dorénavant|à partir de maintenant|à l'avenir|tu (?:dois|ne dois)|vous (?:devez|ne devez)"
    r"|de ahora en adelante|a partir de ahora|en adelante,|por favor,? (?:no|siempre|nunca|sólo|solo)|debes (?:siempre"
    r"|nunca)|nunca debes"
    r"|a partir de agora|daqui em diante|de agora em diante|por favor,? (?:não|sempre|nunca|só)|você deve"
    r"|d'ora in (?:poi|avanti)|da ora in poi|per favore,? (?:non|sempre|mai|solo)|devi (?:sempre|solo)|non devi"
    r"|отныне|с этого момента|впредь|пожалуйста,? (?:не|всегда|никогда|только)|ты должен|вы должны"
    r")"
)
_NOT_TALK: Final = (
    r"(?! *(?:\w+(?:ing|ed)|been|had|seen|heard|thought|knew|got|gone|a|an|the|my|our|in|on|at|good|great|nice|there|too|mind"
    r"|i|we|that|it|one)\b)"
)
_AT_START: Final = re.compile(
    r"[\s\-*•>\d.)(\"']*(?:[a-z]+: *)?"
    r"(?:(?:and|also|but|so|then|please|ok|okay|important|note|rule|bitte|por favor|s'il (?:te|vous) plaît"
    r"|пожалуйста)[,:!]? +)*"
    rf"(?:(?:always|never){_NOT_TALK} +\w"
    r"|only +(?:use|answer|reply|respond|write|return|output|include|show|speak|change|edit|touch|give|do|call|commit"
    r"|deploy|run|add|if|when)\b"
    r"|do not +\w|don't +(?!worry|hesitate|give up|you\b|know\b|think\b|get me|sweat|mention|miss\b|be (?:shy|afraid"
    r"|sad|sorry))\w"
    r"|avoid +\w|make sure\b|be sure to\b|ensure\b|remember to\b|remember,? that (?:i|you|we|my|the)\b|keep in mind\b"
    r"|stick to\b|refrain from\b"
    r"|(?:use|answer|reply|respond|write|speak|call|address|format|return|include|cite|keep)\b.*\b(?:always|never|only"
    r"|every|each|unless)\b"
    r"|(?:immer|niemals|nie|stets|nur)\b|vergiss nicht|vergessen sie nicht|stell(?:e|en sie)? .{0,12}sicher"
    r"|achte(?:n sie)? .{0,12}darauf|denk(?:e|en sie)? daran"
    r"|(?:verwende|benutze|nutze|antworte|schreibe?)(?:n sie)?\b.*\b(?:immer|nie|niemals|nur|stets|keine)\b"
    r"|(?:toujours|jamais|ne +\w|n'(?:oublie|utilise|écri|ajoute|emploie))|assure(?:z)?[- ](?:toi|vous)|veille(?:z)? à"
    r"|n'oublie|(?:utilise|réponds"
    r"|répondez|écris|écrivez)z?\b.*\b(?:toujours|jamais|que|uniquement)\b"
    r"|(?:siempre|nunca|jamás|no (?:uses?|hagas?|escribas?|cambies?|olvides?|respondas?|toques?|borres?|modifiques?|incluyas?)\b)"
    r"|asegúr(?:ate|ese)|recuerd[ae] que|ten en cuenta"
    r"|(?:usa|responde|escribe)\b.*\b(?:siempre|nunca|solo|sólo)\b|(?:sempre|nunca|não (?:use|faça|esqueça|mude"
    r"|altere))\b|certifique-se|lembre-se"
    r"|(?:mai|non (?:usare|fare|scrivere|cambiare|dimenticare|toccare))\b|assicurati|si assicuri|ricorda(?:ti)? (?:di"
    r"|che)|(?:usa|rispondi|scrivi)\b.*\b(?:sempre|mai|solo)\b"
    r"|(?:всегда|никогда|только|не (?:используй|меняй|пиши|забывай|трогай|удаляй)(?:те)?)\b|убеди(?:сь|тесь)|помни(?:те)?\b)"
)
_DENSE: Final = re.compile(
    r"من الآن|अब से|"
    r"从现在(?:开始|起)|从今以后|今后(?:请|都|不|要)|以后(?:都|请|要|不|每)|(?:\A|[，。、；：,\s请你])(?:不要|务必|请勿|必须|一定要|记住|确保|只能|只用|别再)"
    r"|(?:\A|请|你要|你应)(?:始终|总是|永远)|请(?:一直|只|不要|记住|确保)|每次(?:回答|回复|都)"
    r"|(?:必ず|常に|いつも|毎回|今後は?|これから(?:は|も)?|絶対に|決して|二度と).{0,60}"
    r"(?:ください|下さい|こと|なさい|して|ほしい|欲しい|ない|禁止|ように|よう|お願い)"
    r"|(?:し|ら|か|わ|さ|が|ま|た|な|ば)?ないでください|てはいけ(?:ない|ません)|てはなら(?:ない|ず)|ようにしてください|忘れないで"
    r"|앞으로|지금부터|(?:항상|반드시|절대로?|언제나|꼭).{0,60}(?:세요|십시오|줘|해라|마라|마세요)"
    r"|하지 ?마(?:세요|라)|지 ?마세요|말아 ?주세요|잊지 ?마"
    r"|(?:\A|[\s،])(?:دائم[اًا]*|أبد[اًا]*|لا تستخدم|تأكد|لا تنس|يجب أن|لا تقم)|(?:हमेशा|कभी).{0,60}(?:करें|दें|रखें"
    r"|करो|लिखें|ना|न |मत)|सुनिश्चित कर|मत कर|याद रख"
)
_ASKS: Final = re.compile(r"[?？؟]\s*\Z")
_ASKS_YOU: Final = re.compile(r"\b(?:can|could|would|will) you\b|\bplease\b|\bbitte\b|por favor|s'il (?:te|vous)")
# One of these is in every order; most messages have none, and a look at their words is all they cost.
_TRIGGER_WORDS: Final = (
    "d'ora n'oubliez n'utilisez n'écris n'écrivez n'ajoute n'ajoutez n'emploie now until should forward times always "
    "never only don not avoid sure ensure remember mind stick refrain future "
    "circumstances must shall whenever every each unless ab von zukunft zukünftig künftig "
    "bitte sollst darfst musst sollen dürfen müssen immer niemals nie stets nur vergiss vergessen stell stelle stellen "
    "achte achten denk denke denken keine désormais dorénavant partir avenir dois devez toujours jamais ne assure "
    "assurez veille veillez oublie oubliez que uniquement adelante ahora favor debes siempre nunca jamás no asegúrate "
    "asegúrese recuerda recuerde cuenta solo sólo agora diante deve sempre não certifique lembre ora favore devi mai non "
    "assicurati assicuri ricorda ricordati n отныне момента впредь пожалуйста должен должны всегда никогда только не "
    "убедись убедитесь помни помните don't n'oublie n'utilise "
)
_TRIGGERS: Final = frozenset(_TRIGGER_WORDS.split())


def is_standing_order(sentence: str, known: Sequence[str] | None = None) -> bool:
    """Whether one sentence tells the reader how to behave beyond this turn; a question is none unless it is a polite order.

    `known` are its words (``words(lowered(sentence))``) where the caller has them already.
    """
    if not sentence.isascii() and _DENSE.search(sentence):
        return not _ASKS.search(sentence)
    if known is not None and _TRIGGERS.isdisjoint(known):
        return False
    low = lowered(sentence)
    if known is None and _TRIGGERS.isdisjoint(words(low)):
        return False
    if not (_AT_START.match(low) or _ANYWHERE.search(low)):
        return False
    return not _ASKS.search(low) or bool(_ASKS_YOU.search(low))


def may_order(known: Sequence[str]) -> bool:
    """Whether among the words of a text is one that every order has; False is certain for scripts with blanks."""
    return not _TRIGGERS.isdisjoint(known)


def standing_orders(text: str) -> list[Span]:
    """The sentences of a text that are standing orders, white space behind them included; kind ``order``."""
    if text.isascii() and _TRIGGERS.isdisjoint(words(lowered(text))):
        return []
    return [Span(s.start, s.end, "order") for s in sentences(text) if not s.kind and is_standing_order(s.of(text))]
