"""Requests about the whole conversation without a word for "summary".

This module tells whether a message asks for something that all of the conversation goes into ("give me feedback on all my
answers", "write the minutes", "what is still open?"). Requests for a summary, or for the beginning, are in ``requests``; a work
that the conversation made is in ``wanted.works``. Which passages make up the whole is decided in ``recall.cover``; single words
are in ``lexicon/overall.txt``.

Such a request shares no words with what it needs. It names a number of things by their owner ("all my answers"), by what was done
("every bug we found"), or by a time ("all decisions so far"); or it names the conversation itself, or something that comes at the
end of any conversation: the minutes, the next steps, what is open.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import PHRASE_START, plain_words, words

_THINGS: Final = one_of("overall", "things")
_TALKS: Final = one_of("overall", "talks")
_SAID: Final = one_of("overall", "said")
_PRODUCTS: Final = one_of("overall", "products")
_END: Final = r"[\s?.!…？。！]*+$"

#: A match of a form contains one of these words, unless the text has words beyond ASCII.
_Needed = frozenset[str]


def _words(listed: str) -> _Needed:
    return frozenset(listed.split())


def _last_words(section: str) -> _Needed:
    return frozenset(words(phrase.replace("_", " "))[-1] for phrase in lexicon("overall")[section] if phrase.isascii())


_THING_WORDS: Final = _last_words("things")
_TALK_WORDS: Final = _last_words("talks")
_PRODUCT_WORDS: Final = _last_words("products")

_UNTIL_NOW: Final = r"(?:so far|until now|up to now|to date)"
_NOW: Final = rf"(?:{_UNTIL_NOW}|today|here|overall|in total|altogether|as (?:it|things) stands?(?: now)?)"
_WE: Final = rf"(?:(?:that|which) )?(?:we|i|you)(?:['’](?:ve|d)| have| had)? (?:just |already |both )?(?:{_SAID})\b"
_TALK: Final = (
    rf"(?:(?:this|our|the (?:whole|entire|full|complete)|(?:all|whole) of (?:this|our)) (?:\w+ )?(?:{_TALKS})|"
    r"(?:our|the whole) (?:meeting|call|thread))\b"
)
_TODAY: Final = rf"(?: (?:together|{_NOW}|(?:in|from|during|of) {_TALK}))*"
_OPEN: Final = (
    r"(?:(?:left|open|missing|unresolved|unclear|outstanding|remaining|pending|undecided|remains?)(?: (?:open|unclear))?"
    r"(?: to (?:do|be done|decide|be decided|discuss|clarify))?|to (?:decide|discuss|clarify|be done))"
)

_ENGLISH: Final = (
    # "everything we agreed", "all the words we practised", "the problems we ran into".
    (_words("all every each any everything"), rf"(?<!for )\b(?:everything|all|every|each|any) (?:[\w'-]+ ){{0,4}}?{_WE}"),
    (_THING_WORDS, rf"\b(?:the|these|those|new) (?:\w+ )?(?:{_THINGS}) {_WE}"),
    # "all of my answers", "each of our ideas", "all decisions so far", "all the new words from this lesson".
    (_words("all every each any"), rf"\b(?:all|every|each|any)(?: of)? (?:my|our|your) (?:\w+ )?(?:{_THINGS})\b"),
    (
        _THING_WORDS,
        rf"\b(?:{_THINGS})(?: and [\w-]+)*(?: mentioned| made| given)? (?:{_UNTIL_NOW}|(?:in|from|during|of) {_TALK})",
    ),
    (
        _THING_WORDS,
        rf"\b(?:all|every|the|list|show)(?: of)?(?: the)? (?:\w+ )?(?:{_THINGS})(?: mentioned| made)? (?:today|here|in total)\b",
    ),
    (
        _TALK_WORDS | _words("meeting call thread"),
        r"\b(?:about|on|from|of|in|into|up|covers?|translate|turn|convert|score|grade|rate|evaluate|assess|document) " + _TALK,
    ),
    (_words("here far above"), r"\b(?:mentioned|said|discussed|agreed|decided|settled) (?:here|so far|above)\b"),
    (_words("everything"), r"\beverything (?:that )?(?:happened|came up)\b"),
    (_words("what"), rf"\b(?:of|on|from|for|with|into) what (?:we|i)(?:['’]ve| have)? (?:{_SAID})\b"),
    (_THING_WORDS, rf"\b(?:what|which) (?:{_THINGS}) (?:did|have) (?:we|i) (?:\w+ )?(?:{_SAID})\b"),
    # The final state.
    (
        _words("where"),
        rf"\bwhere (?:did|do|were|had|have|are) we (?:leave|left|stop|stopped|at)(?: (?:it|things))?(?: off)?{_END}",
    ),
    (_words("what"), rf"\bwhat (?:were we (?:doing|working on)|did we do)(?: (?:before|until|when) .{{1,40}})?{_END}"),
    (
        _words("what which"),
        rf"\b(?:what|which (?:points|questions|issues|topics|tasks|items))(?:['’]s| is| are)? (?:still |yet )?"
        rf"{_OPEN}{_TODAY}{_END}",
    ),
    (
        _words("steps items points questions issues tasks todos dos"),
        r"\b(?:the|my|our|all|any) (?:next steps|action items|open (?:points|questions|issues|tasks|items)|to-?dos|"
        rf"remaining (?:tasks|steps|points))(?: (?:now|then|for me|for us|{_NOW}))*{_END}",
    ),
    (_words("who"), rf"\bwho (?:has to|must|should|does|needs to) do(?:es)? what(?: (?:by|until) when)?{_END}"),
    (
        _words("up"),
        r"\b(?:catch|get|bring) (?:me|us|[\w ]{2,30}) up(?: (?:to (?:speed|date)|on (?:this|everything|it all)))?[\s?.!,]",
    ),
    (
        _PRODUCT_WORDS,
        r"\b(?:write|draft|create|make|prepare|take|send|give (?:me|us)|i need)"
        rf"(?: (?:up|me|us|the|a|an|some|short|brief|now|out))* (?:{_PRODUCTS})(?: (?:from|of|for|to) [\w ]{{2,40}})?{_END}",
    ),
    (_words("over"), r"\b(?:he|she|they|[a-z]+) (?:takes|is taking|will take) (?:this |it )?over from here\b"),
    # How it went.
    (
        _words("how"),
        r"\bhow (?:did|have|am|was|were|are) (?:i|we|my performance|our \w+)(?: (?:do|doing|done|perform\w*|score\w*))?"
        + _TODAY
        + _END,
    ),
    (
        _words("mistakes errors weaknesses"),
        r"\b(?:my|our) (?:\w+ )?(?:most (?:common|frequent)|biggest|typical|recurring|main) (?:mistakes|errors|weaknesses)\b",
    ),
    (
        _words("mistakes errors"),
        r"\b(?:which|what) (?:mistakes|errors) (?:did|have|do) (?:i|we) (?:keep )?(?:make|made|making)\b",
    ),
    (
        _words("what"),
        r"\bwhat (?:did|have) (?:i|we) (?:learn\w*|accomplish\w*|achieve\w*|do|done|get done|got done)(?: about (?:me|us|it))?"
        + _TODAY
        + _END,
    ),
    (_words("told"), rf"\bwhat have i told you (?:about (?:me|myself|us)|so far){_TODAY}{_END}"),
    (
        _words("takeaways points insights"),
        rf"\b(?:main|key|most important) (?:takeaways|points|insights)(?: (?:from|of) (?:today|this|it all|{_TALK}))?{_END}",
    ),
    (
        _words("current"),
        rf"\bcurrent (?:state|status) of (?:the |our |my )?(?:project|work|plan|things|task|game|discussion){_END}",
    ),
    # How much, how often.
    (_words("how"), rf"\bhow (?:much|many|often) (?:[\w'-]+ )?(?:have|did|do|had) (?:i|we|you) (?:[\w'-]+ ){{0,4}}?{_NOW}"),
    (
        _words("how"),
        r"\bhow (?:many|often) (?:\w+ )?(?:have |did |had )?(?:i|we) (?:asked?|said|say|mention(?:ed)?|talk(?:ed)? about)\b",
    ),
    (
        _words("which any anything ask"),
        r"\b(?:which|any(?:thing)?) (?:of my questions|(?:did )?i (?:ask|asked))\b|\bdid i ask anything\b",
    ),
    # Everything in one.
    (
        _words("all everything"),
        r"\b(?:put|pull|bring|compile|combine|collect|gather|merge|assemble|write) (?:it all|everything|all (?:of )?(?:it|this|"
        r"that|the \w+))(?: up)? (?:together|into (?:a|one) .{1,40}|in (?:a|one) .{1,40}|as (?:a|one) .{1,40})",
    ),
    (
        _words("all every each"),
        rf"\b(?:with|including|apply(?:ing)?) (?:all|every|each)(?: of)?(?: the| our| your)? (?:{_THINGS})(?: {_WE}| included)?",
    ),
    (_words("quiz test"), r"\b(?:quiz|test) (?:me|us) on (?:everything|all|what)\b"),
    (
        _words("message notes changelog description"),
        r"\b(?:commit message|release notes|changelog|pr description|pull request description) for "
        r"(?:all|everything|what we|these|this session|today|our)",
    ),
)

_GERMAN: Final = (
    (
        _THING_WORDS,
        r"\b(?:alles|alle[rnm]?|sämtliche\w*|jede\w*)(?: (?:mein\w*|unser\w*|dein\w*|der|die))? (?:\w+ )?"
        rf"(?:{_THINGS})\b(?=.{{0,30}}\b(?:wir|ich|du|bisher|heute|bis jetzt)\b)",
    ),
    (_THING_WORDS, rf"\b(?:alle[rnm]?|sämtliche\w*) (?:mein\w*|unser\w*|dein\w*) (?:\w+ )?(?:{_THINGS})\b"),
    (
        _words("alles"),
        r"\balles,? was (?:wir|ich|du)\b|\b(?:fass\w*|schreib\w*|stell\w*) (?:\w+ ){0,2}alles (?:noch )?(?:\w+ )?zusammen\b",
    ),
    (
        _TALK_WORDS,
        rf"\b(?:aus|über|zu|von|in) (?:unser\w*|dies\w*|de[rm] (?:ganzen|gesamten)|dem) (?:\w+ )?(?:{_TALKS})\b(?! mit)",
    ),
    (
        _words("was"),
        r"\bwas (?:ist|wäre|bleibt|fehlt|steht)(?: (?:jetzt|noch|denn|uns))*"
        rf"(?: (?:offen|zu tun|zu klären|übrig|aus|ungeklärt))?(?<!ist){_END}",
    ),
    (_words("wo"), rf"\bwo (?:waren|sind) wir(?: (?:stehen ?geblieben|gerade|dran))?{_END}"),
    (
        _words("was welche"),
        r"\b(?:was|welche \w+) (?:haben|hatten) wir (?:(?:bisher|heute|alles|bis jetzt) )*(?:beschlossen|entschieden|vereinbart|"
        rf"besprochen|getroffen|gelernt|geschafft|gemacht|festgelegt){_END}",
    ),
    (
        _words("fehler wie"),
        r"\b(?:welche|was für) fehler (?:habe|hab|mache) ich\b|\bwie (?:habe|hab) ich mich geschlagen|\bwie war ich\b",
    ),
    (
        _PRODUCT_WORDS,
        r"\b(?:mach|schreib|erstell|verfass|brauch|hätte|möchte)\w* (?:\w+ ){0,4}"
        rf"(?:{_PRODUCTS})(?: (?:für|von|daraus|über) [\w ]{{2,40}})?{_END}",
    ),
    (
        _words("schritte punkte fragen"),
        rf"\b(?:die|meine|unsere) (?:nächsten schritte|offenen (?:punkte|fragen))(?: (?:jetzt|nun))?{_END}",
    ),
)

_ROMANCE: Final = (
    (
        _words("tous toutes chacun chacune toda todas todo todos tutti tutte"),
        r"\b(?:tou(?:te)?s|chacune?|todas?|todos?|tutt[ei]) (?:de )?(?:les |las |los |le |i |gli |as |os )?(?:mes|nos|tes|vos|"
        rf"mis|nuestr[ao]s|tus|minhas?|meus|nossas?|nossos|(?:le )?mie|(?:i )?miei|nostr[ei]) (?:\w+ )?(?:{_THINGS})",
    ),
    (_THING_WORDS, rf"\b(?:{_THINGS}) (?:que|qu['’]|che) (?:nous|on|hemos|he|abbiamo|vimos|tomamos|discutimos|decidimos)\b"),
    (
        _words("liste lista elenco"),
        rf"\b(?:liste complète|lista completa|elenco completo) (?:de[si]?|das?|dos?|delle|degli|de las|de los) (?:{_THINGS})",
    ),
    (
        _words("tout todo tudo tutto quello"),
        r"\b(?:tout|todo|tudo|tutto|quello) (?:ce )?(?:que|qu['’]|che|lo que|o que) (?:nous|on|hemos|he|abbiamo|discutimos|"
        r"decidimos|combinamos|falamos)",
    ),
    (_TALK_WORDS, rf"\b(?:notre|cette|toute la|nuestra|esta|toda la|nossa|toda a|nostra|questa|tutta la) (?:{_TALKS})\b"),
    (_words("est"), rf"\bqu['’]est-ce qu[i'’] ?(?:il )?(?:nous )?reste(?: (?:à faire|en suspens|ouvert|à décider))?{_END}"),
    (_words("reste"), rf"\bque reste-t-il (?:à faire|en suspens){_END}"),
    (_words("falta resta ficou"), rf"\bo que (?:falta|resta|ficou)(?: (?:fazer|pendente|por fazer|em aberto|decidir))?{_END}"),
    (_words("cosa che"), rf"\b(?:(?:che )?cosa|che) (?:resta|rimane|manca)(?: (?:da fare|in sospeso|da decidere))?{_END}"),
    (
        _words("donde onde"),
        r"\boù en (?:étions|sommes)-nous|\bd[óo]nde (?:nos quedamos|estábamos|lo dejamos)|\bonde (?:paramos|estávamos)",
    ),
    (_words("dove"), r"\bdove eravamo(?: rimasti)?"),
    (
        _words("quelles quelle avons"),
        rf"\bquelles? (?:\w+ )?(?:{_THINGS}) (?:avons-nous|a-t-on)\b|\bqu['’]avons-nous (?:décidé|convenu)",
    ),
    (_words("hemos"), rf"\bqué (?:(?:{_THINGS}) )?hemos \w+{_END}"),
    (
        _words("combinamos decidimos abbiamo"),
        rf"\bo que (?:decidimos|combinamos){_END}|\b(?:che )?cosa abbiamo (?:deciso|concordato|detto){_END}",
    ),
    (
        _PRODUCT_WORDS,
        r"\b(?:fais|rédige|écris|haz|hazme|redacta|escribe|faz|redige|escreve|faça|escreva|scrivi|fai|prepara)\S* (?:\w+ ){0,2}"
        rf"(?:{_PRODUCTS})\b",
    ),
)

_OTHERS: Final = (
    (
        _TALK_WORDS | _words("mijn onze waar"),
        rf"\b(?:ons|dit|het hele) (?:{_TALKS})\b|\bal (?:mijn|onze) (?:{_THINGS})|\bwaar waren we(?: gebleven)?",
    ),
    (
        _words("wat"),
        rf"\bwat hebben we (?:\w+ )?(?:besloten|afgesproken|besproken){_END}|\bwat (?:moet|staat|is) er nog (?:\w+ ?)*{_END}",
    ),
    (
        _words("czego co"),
        rf"\b(?:co|czego) (?:jeszcze )?(?:zostało|pozostało)(?: (?:jeszcze|nam))?(?: do (?:zrobienia|ustalenia))?{_END}",
    ),
    (
        _words("wszystkie nasza nasze naszej naszego naszemu naszym naszych naszymi"),
        rf"\bco ustaliliśmy{_END}|\bna czym stanęliśmy|\bwszystkie (?:moje|nasze) (?:{_THINGS})"
        rf"|\bnasz(?:[aeą]|ej|ego|emu|ymi?|ych) (?:{_TALKS})",
    ),
    (_PRODUCT_WORDS, rf"\b(?:{_PRODUCTS}) (?:yaz|hazırla|çıkar)\w*"),
)

#: Forms with a word beyond ASCII.
_FOREIGN: Final = (
    rf"\bqué (?:queda|falta|nos falta)(?: (?:pendiente|por (?:hacer|decidir)|abierto))?{_END}",
    rf"\bчто (?:ещ[её] )?(?:осталось|открыто|не решено)(?: (?:сделать|решить|открытым))?{_END}|\bна ч[её]м мы остановились",
    rf"\bчто мы (?:решили|обсудили|выяснили){_END}|\bвсе (?:мои|наши) (?:{_THINGS})|\bвсё,? что мы",
    rf"\b(?:наш|нашего|нашу|нашей|весь|этого) (?:{_TALKS})|\b(?:составь|напиши|сделай)\S* (?:\w+ )?(?:{_PRODUCTS}){_END}",
    rf"\bneleri? (?:kararlaştırdık|konuştuk){_END}|\bgeriye ne kaldı|\bnerede kalmıştık|\btüm (?:{_THINGS})",
    r"(?:我们|咱们)(?:到?目前为止|到现在|今天|都|一共|已经){0,2}(?:讨论|决定|说|谈|聊|学|确定|商定|做)(?:了|过)?"
    r"(?:的(?:都|所有|全部|内容|东西)|什么|哪些|的(?=.{0,6}(?:整理|写|做成|列)))",
    r"还(?:有|剩)(?:什么|哪些)(?:没|未|要|问题|事)|(?:会议|谈话|讨论)(?:纪要|记录)|(?:所有|全部)的?决定|我们(?:刚才)?(?:说|讲|聊)到哪",
    r"(?:我|我们)的?(?:所有|全部)(?:回答|答案|决定|想法|问题|错误)",
    r"議事録|(?:これまで|ここまで|今日)の(?:話|内容|議論|決定(?:事項)?|会話|やり取り)|どこまで(?:話し|やり|進み)",
    r"(?:残り|未解決)の(?:タスク|課題|問題|作業|点)|私の(?:回答|答え)(?:を)?(?:すべて|全部|全て)|(?:すべて|全部|全て)の(?:回答|決定)",
    r"회의록|(?:지금까지|오늘) ?(?:우리가 ?)?(?:결정|논의|이야기|배운|얘기)|남은 ?(?:할 ?일|작업|문제)",
    r"어디까지 ?(?:했|이야기|얘기)",
    r"내 ?(?:모든 ?)?(?:답변|대답) ?(?:전부|모두)",
    r"(?:كل|جميع) ما (?:قررنا|ناقشنا|تحدثنا|قلنا)|ماذا (?:قررنا|بقي)|محضر (?:اجتماع|الاجتماع)|أين توقفنا",
    r"(?:كل|جميع) (?:إجاباتي|قراراتنا)",
    r"(?:अब तक|आज) हमने (?:क्या|जो)|क्या (?:बाकी|बचा) (?:है|रह)|हम कहाँ (?:थे|रुके)|मेरे सभी (?:जवाब|उत्तर)",
)


#: Each form with its words.
FORMS: Final = tuple(
    (needed, lazy.pattern(form))
    for needed, form in (*_ENGLISH, *_GERMAN, *_ROMANCE, *_OTHERS, *((frozenset[str](), form) for form in _FOREIGN))
)


_OVERALL: Final = lazy.pattern(f"{PHRASE_START}(?:{'|'.join(f'(?:{form.pattern})' for _, form in FORMS)})")


def _by_word() -> dict[str, tuple[re.Pattern[str], ...]]:
    """The forms, by the words of which each needs one."""
    found: dict[str, tuple[re.Pattern[str], ...]] = {}
    for needed, form in FORMS:
        for word in sorted(needed):
            found[word] = (*found.get(word, ()), form)
    return found


_BY_WORD: Final = _by_word()


_MOST: Final = 300  # characters; a longer message brings its own subject
_THING: Final = lazy.pattern(rf"\b(?:{_THINGS})\b")
_SCAFFOLD: Final = lazy.pattern(rf"\b(?:{_TALKS}|{_SAID}|{_PRODUCTS})\b")
# A sentence that states something and asks for nothing.
_TELLS: Final = lazy.pattern(
    r"\W*(?:(?:yes|yeah|no|well|actually|but|and|so|thanks|ok(?:ay)?|ja|nein|aber|und|danke|oui|non|mais|merci)\W+)*"
    r"(?:(?:i|we|it|this|that|they|s?he|you|there|one|ich|wir|es|das|er|man|je|nous|on|ils?|elles?|c['’]est)\b|j['’])"
    r"(?:['’]\w+)?\s*+(?!(?:need|want|would like|like|brauche\w*|bräuchte\w*|möchte\w*|hätte\w*|will|wollen|veux|voudrai\w*|"
    r"aimerai\w*|ai besoin|avons besoin)\b)[^?]*+\Z"
)


@remembering
def asks_for_overall(folded: str) -> bool:
    """Whether a case-folded message asks for something that depends on the whole conversation."""
    if len(folded) > _MOST or _TELLS.match(folded):
        return False
    said = plain_words(folded)
    if said is None:
        return _OVERALL.search(folded) is not None
    likely = dict.fromkeys([form for word in _BY_WORD.keys() & said for form in _BY_WORD[word]])
    return any(form.search(folded) for form in likely)


def without_overall(folded: str) -> str:
    """Such a message without the words that say so: the rest names its topic, if any. Other messages are unchanged."""
    if not asks_for_overall(folded):
        return folded
    return _SCAFFOLD.sub(" ", _OVERALL.sub(lambda found: f" {' '.join(_THING.findall(found[0]))} ", folded))
