"""The kind of request that a message makes, judged by its words.

Word tables recognise a message without content of its own ("continue", "the second one?"), one that refers to what was said
before ("when was he born?"), one that asks for the whole ("summarise the above", "what do you know about me?") or for its
beginning ("what did I ask first?"). They see single texts, never a conversation, and give no scores.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.memo import remembering
from turnfold.compression.text.lexicon import lexicon, one_of
from turnfold.compression.text.lower import PHRASE_START

# A request for a summary, by the word's stem in each language.
_COVER: Final = lazy.pattern(
    r"\b(?:summar|recap|overview|tl;?dr|wrap[- ]up|zusammenfass|zusammengefasst|überblick|résum|r[ée]capitul|synthèse|"
    r"resum(?:en|ir|í|id|a|o|e (?:lo|la|el|los|las|todo|esto))\b|riassu|riepilog|samenvat|sammanfatt|özet|tóm tắt|tổng kết|"
    r"ringkas|rangkum|podsumow|streszcz|yhteenve|összefoglal|rezum|shrn|резюм|обобщ|подытож|подвед\w* итог|кратко излож|итоги|"
    r"περίληψη|συνόψι)|ملخص|لخص|تلخيص|सारांश|संक्षेप|总结|總結|概括|概述|摘要|まとめ|要約|要点|요약|정리해"
)
#: An ASCII match of the pattern contains one of these; most messages are ASCII.
_IN_COVER: Final = (
    *("summar", "recap", "overview", "tl;dr", "tldr", "wrap-up", "wrap up", "zusammenfass", "zusammengefasst", "resum", "riassu"),
    *("riepilog", "samenvat", "sammanfatt", "ringkas", "rangkum", "podsumow", "streszcz", "yhteenve", "rezum", "shrn"),
)

# Before such a word: what agents' frameworks and people do not want ("the complete content, not a summary").
_DENIED: Final = lazy.pattern(
    r"(?:(?<!why )\bnot|n['’]t|\b(?:no|never|without|(?:instead|rather) (?:of|than)|nicht|keine?n?|ohne|pas(?: de| un| une)?|"
    r"sans|sin|non|senza|não|sem|niet|geen|inte|ingen|не|без))"
    r"(?! (?:only|forget|fail|hesitate|you|we)\b)(?: [\w'’-]+){0,2} (?:\w+[- ])?$|不要?[^，。\n]{0,2}$"
    r"|別[^，。\n]{0,2}$"
)

# The object of the summary is the conversation itself, or what its next reader needs.
_ALL: Final = lazy.pattern(
    rf"{PHRASE_START}(?:"
    r"\b(?:conversation|chat|session|discussion|dialog(?:ue)?|thread|work)(?: history)? "
    r"(?:so far|up to (?:now|this point)|to date|until now|above)\b|"
    r"\b(?:whole|entire|full|complete|our|this|current) (?:\w+ )?(?:conversation|chat|session|thread)\b|"
    r"\b(?:everything|all) (?:so far|above|(?:that )?(?:we|i)(?:'ve| have)? "
    r"(?:did|done|said|discussed|talked about|spoken about|covered|decided|told you))\b|"
    r"\bhand-?(?: ?off|over)\b|\bcontext checkpoint\b|"
    r"\b(?:bisherig\w*|gesamt\w*|ganz\w*|unser\w*) (?:\w+ )?(?:unterhaltung|gespräch\w*|konversation|chat\w*)\b|"
    r"\b(?:toute (?:la|notre)|notre|cette) (?:conversation|discussion)\b|\bconversation jusqu'|"
    r"\b(?:toda (?:la|nuestra)|nuestra|esta) conversación|\bconversación hasta|\b(?:tutta la|nostra) conversazione\b|"
    r"\b(?:toda a|nossa) conversa\b|\b(?:вс\w+|наш\w*) (?:\w+ )?(?:разговор|бесед|диалог|переписк)|"
    r"(?:整个|全部|目前为止的?|以上的?|我们的?|本次)(?:对话|聊天|会话)|(?:整個|至今的?|我們的?)對話|"
    r"(?:これまで|ここまで)の(?:会話|やり取り)|会話(?:全体|の全て)|(?:지금까지의?|전체) ?대화"
    r")"
)

# A line that a program draws: "=== short test summary info ===".
_HEADING: Final = lazy.pattern(r"^[ \t]*(?:={3,}|-{3,})[^\n]*", re.MULTILINE)

_LONGEST_ASKED: Final = 300  # characters of a person's request for a summary
_MOST_DENIED: Final = 60  # characters before a word within which it is denied

# The same without a word for "summary", in the words of agents.
_COMPACTION: Final = lazy.pattern(
    r"\bcontext (?:checkpoint )?compaction\b|"
    r"\b(?:prompt|brief(?:ing)?|notes?) for continuing (?:our|this|the) (?:conversation|session|work)\b|"
    r"\b(?:memento|message|notes?|summary|brief(?:ing)?|prompt)(?: message)? for the next "
    r"(?:agent|model|llm|assistant|session)\b|"
    r"\bcontinuation summary\b|\b(?:conversation|chat|message) history (?:will be|is|gets|has been) replaced\b|"
    r"\bgenerate the <?state[_ ]snapshot\b"
)
#: Each match contains one of these; most messages have none, which saves trying the pattern.
_IN_COMPACTIONS: Final = (
    "compaction",
    " for continuing ",
    " for the next ",
    "continuation summary",
    " history ",
    "generate the ",
)

# The whole conversation, requested in a separate question.
_WHOLE: Final = lazy.pattern(
    rf"{PHRASE_START}(?:"
    r"\bwhat (?:all )?(?:have|did) (?:we|i) (?:already |all )?(?:talk|discuss|cover|go over|gone over|speak|spoken|decide|agree|"
    r"tell you|told you)\w*(?: about| on| through| with you)?(?: so far| until now| up to now| today| yet| here| in this (?:chat|"
    r"conversation|session))*[\s?.!]*+$|"
    r"\bwhat do you (?:know|remember|have) (?:about|of|on) (?:me|us)\b(?: so far| already)?[\s?.!]*+$|"
    r"\b(?:list|name|repeat|give me|show me|what were|what are) (?:all|every)(?: of)?(?: the| our| my)? "
    r"(?:decisions?|facts?|rules?|instructions?|requirements?|preferences?|action items?|todos?|to-dos?|questions?|agreements?)"
    r"(?: (?:that )?(?:we|i|you)(?: have| had|'ve)? (?:made|took|taken|agreed on|decided|discussed|mentioned|given|told|asked|"
    r"gave|set|reached)(?: you)?)?"
    r"(?: so far| until now| up to now| today| yet| here| in (?:this|our) (?:chat|conversation|session))*|"
    r"\bworüber (?:haben|hatten) wir (?:bisher |bis jetzt |schon )?gesprochen|\bwas (?:haben|hatten) wir (?:bisher|bis jetzt) "
    r"(?:besprochen|beschlossen|entschieden)|"
    r"\bwas (?:weißt|weisst) du (?:\w+ )?über mich\b|"
    r"\bde quoi (?:avons|a)-?(?:nous| t-on)? ?(?:déjà )?parlé|\bqu'avons-nous (?:décidé|dit)|"
    r"\bque (?:sais|savez)-(?:tu|vous) (?:de|sur) "
    r"moi\b|\bde qué hemos hablado|\bqué (?:sabes|recuerdas) (?:de|sobre) mí(?!\w)|\bcosa sai di me\b|"
    r"\bчто ты (?:знаешь|помнишь) обо мне\b|你(?:知道|记得)(?:关于)?我(?:的)?(?:什么|哪些)|"
    r"^\s*+(?:到?目前为止|至今)?[，,]?\s*+我们(?:都)?(?:聊|谈)(?:过|了)(?:些)?什么|"
    r"私について(?:何を)?(?:知って|覚えて)"
    r")"
)

# The beginning of the conversation, or what was asked there.
_FIRST: Final = r"(?:first|1st|original|initial|opening|earliest|second|2nd|third|3rd|fourth|4th|fifth|5th)"
_BEGINNING: Final = lazy.pattern(
    rf"{PHRASE_START}(?:"
    rf"\bmy (?:very )?({_FIRST}) (?:message|question|request|prompt|ask|instructions?|task|words)\b|"
    rf"\b({_FIRST}) (?:thing|message|question|request|prompt) (?:that |which )?(?:i|we) (?:had |have |ever )?"
    r"(?:asked|said|wrote|sent|told|typed|requested|wanted|talked|discussed|spoke)\b|"
    r"\bwhat did (?:i|we) (?:(?:first|originally|initially) (?:ask|say|want|talk|discuss|write)|(?:ask|say|want|talk about|"
    r"discuss|write|start with|begin with)(?: you)? (?:first|originally|initially|at the (?:very )?(?:start|beginning)))\b|"
    r"\bhow did (?:this|our|the) (?:conversation|chat|discussion|session) (?:start|begin)\b|"
    r"\b(?:start|beginning) of (?:this|our|the) (?:conversation|chat|discussion|session)\b|"
    r"\bat the (?:very )?(?:start|beginning)[\s?.!]*+$|"
    r"\bmeine (?:aller)?(erste|zweite|dritte|vierte|fünfte|ursprüngliche) (?:frage|nachricht|bitte|anfrage|aufgabe)\b|"
    r"\bwas (?:habe|hab) ich (?:dich )?(?:zuerst|als erstes|ganz am anfang|am anfang|zu beginn)\b|"
    r"\bwie (?:hat|fing) (?:dieses|unser|das) "
    r"gespräch (?:begonnen|angefangen|an)\b|\bma (première|deuxième|seconde|troisième) (?:question|demande)\b|"
    r"\bma (?:demande|question) (?:initiale|d'origine)\b|\bau tout début\b|"
    r"\bmi (primera|segunda|tercera) (?:pregunta|petición|solicitud)\b|\bmi pregunta (?:original|inicial)\b|"
    r"\bla mia (prima|seconda|terza) (?:domanda|richiesta)\b|\bмой (первый|второй|третий) вопрос\b|"
    r"我(?:问的)?(?:的)?第(一|二|三)个问题|我(?:一开始|最开始|最初)(?:问|说)|最初(?:の質問|に(?:聞いた|言った))|첫 (?:번째 )?질문"
    r")"
)
_ORDINALS: Final = {
    **dict.fromkeys(("second", "2nd", "zweite", "deuxième", "seconde", "segunda", "seconda", "второй", "二"), 2),
    **dict.fromkeys(("third", "3rd", "dritte", "troisième", "tercera", "terza", "третий", "三"), 3),
    **dict.fromkeys(("fourth", "4th", "vierte"), 4),
    **dict.fromkeys(("fifth", "5th", "fünfte"), 5),
}

# Phrases that only say that something is asked, or that the other side said it: "show me", "you suggested", "do you remember".
_ASKING: Final = lazy.pattern(
    rf"{PHRASE_START}(?:"
    r"\b(?:(?:show|give|tell|send|remind) (?:me|us)|you (?:just |had |have )?(?:showed|gave|told|suggested|recommended|mentioned|"
    r"proposed|said|wrote|came up with)|did you (?:show|give|tell|suggest|recommend|mention|propose|say|write|come up with)|"
    r"(?:(?:can|could|would|will|do) (?:you|u) )?(?:please |pls |kindly |maybe |perhaps |still |happen to )*(?:help me )?(?:to )?"
    r"(?:remember|recall|remind me|know again|tell me|let me know|look up)(?: (?:one|another) (?:more )?thing)?"
    r"(?= (?:of|about|what|when|where|who|whose|which|how|why|if|whether|the|my|our)\b|[,?.:]| one\b)|"
    r"i(?: was|['’]m|'ve been| am| have been)? (?:just )?(?:wondering|thinking|curious|checking|trying to remember)"
    r"(?: (?:about|if|whether|something))*|"
    r"(?:list|enumerate)(?= (?:all|every|each|my|our|the)\b)|"
    r"(?:that )?i(?:['’]ve| have| had)? (?:ever )?(?:told|mentioned to|given|gave) you|"
    r"(?:did|have) i (?:ever )?(?:mention(?:ed)?|tell you|told you)|"
    r"before i forget|(?:a |one |just a )?quick (?:one|question|check)|one more (?:thing|question)|if you do(?:n['’]t| not) mind|"
    r"if (?:that|it)['’]?s ok(?:ay)?|by the way|btw|just (?:to check|wondering|curious|checking)|"
    r"sorry to (?:bother|interrupt|change the subject|go back)(?: you)?|"
    r"(?:many )?(?:thanks|thank you|thx|ty|cheers)(?: (?:so|very) much| a lot| a million)?(?: in advance)?|"
    r"(?:zeig|gib|sag|nenn|list)e? (?:mir|uns)|liste(?= (?:alle|meine|unsere)\b)|"
    r"(?:montre|donne|dis|rappelle)-(?:moi|nous)|hast du (?=[^?]{0,200}"
    r"\b(?:vorgeschlagen|empfohlen|gesagt|genannt)\b)|(?:vorgeschlagen|empfohlen)\b|"
    r"(?:kannst|könntest) du (?:mir )?(?:bitte )?(?:(?:noch)?mal )?(?:sagen|helfen)|weißt du noch|erinnerst du dich(?: daran)?|"
    r"(?:nur )?(?:kurz|eine kurze|noch eine) frage|übrigens|bevor ich['’]?s? (?:es )?vergesse|"
    r"(?:vielen |herzlichen )?danke?(?: im voraus)?|"
    r"(?:peux|pourrais|pouvez|pourriez)-(?:tu|vous) (?:me )?(?:dire|rappeler)|tu te souviens|au fait|avant que j['’]oublie|"
    r"(?:une )?petite question|merci (?:beaucoup |d['’]avance)?|"
    r"(?:puedes|podrías|me puedes) (?:decirme|recordarme|decir|recordar)|te acuerdas|por cierto|antes de que (?:se )?me olvide|"
    r"(?:una )?pregunta rápida|(?:muchas )?gracias(?: de antemano)?|você (?:se )?lembra|aliás|ti ricordi|"
    r"a proposito|grazie(?: mille)?)"
    r"|^\W*(?:hey|hi|hello|hallo|bonjour|salut|hola|olá|ciao)\b(?: (?:there|again|claude|chat))?"
    r")"
)

# Words that ask for more without naming it, and words that refer to something said before.
_TABLES: Final = lexicon("requests")
EMPTY: Final = _TABLES["empty"]
POINTERS: Final = _TABLES["pointers"]
#: Pointers that may also be the article of the next word.
ARTICLES: Final = _TABLES["pointers or articles"]
#: Words about talk that rarely occur in it: "discussed", "mentioned".
REPORTING: Final = _TABLES["reporting"]
#: Words for the person asking and their things, and for the person asked.
ASKER: Final = _TABLES["asker"]
ADDRESSED: Final = _TABLES["addressed"]
# Phrases in scripts without spaces that are removed before anything else is read.
_EMPTY_RUN_ON: Final = lazy.pattern(
    "继续|請繼續|繼續|接着|然后呢|為什麼|为什么|为何|第[一二三四五六两兩几0-9]+[个個项項种種点點条條]?|详细|說明|说明|解释|解釋|一下|更多|例子|举例|呢|吗|嗎|"
    "请|請|那个|这个|那個|這個|他们|她们|它们|上面|前面|刚才|是的|好的|"
    "続けて|続き|つづけて|ください|下さい|お願いします|もっと|詳しく|説明して|説明|なぜ|どうして|なんで|[一二三四五六1-6]つ目|[0-9一二三四五六]+番目?|"
    "最初|最後|それ|これ|あれ|どれ|例を|挙げて|教えて|ですか|ますか|について|何ですか|なに|[はのをにが？]|"
    "계속(?:해(?:줘|주세요)?)?"
)


@remembering
def asks_for_cover(folded: str) -> bool:
    """Whether a case-folded message asks for a summary of the conversation; a program's heading does not."""
    if folded.isascii() and not any(map(folded.__contains__, _IN_COVER)):
        return False
    folded = _HEADING.sub("", folded) if "===" in folded or "---" in folded else folded
    return any(_DENIED.search(folded, max(0, m.start() - _MOST_DENIED), m.start()) is None for m in _COVER.finditer(folded))


def asks_for_all(folded: str) -> bool:
    """Whether a case-folded message asks for a summary of the conversation as a whole."""
    return _asks_to_compact(folded) or (asks_for_cover(folded) and _ALL.search(folded) is not None)


def _asks_to_compact(folded: str) -> bool:
    return any(map(folded.__contains__, _IN_COMPACTIONS)) and _COMPACTION.search(folded) is not None


def asks_for_compaction(folded: str) -> bool:
    """Whether a case-folded message is an agent's request for a summary that replaces the conversation, as sent by "/compact".

    It says in detail what to keep, where a person asks in a sentence.
    """
    return _asks_to_compact(folded) or (len(folded) > _LONGEST_ASKED and asks_for_all(folded))


def asks_for_whole(folded: str) -> bool:
    """Whether a case-folded message asks about everything that was said ("what do you know about me?")."""
    return _WHOLE.search(folded) is not None


def without_whole(folded: str) -> str:
    """The message without such a question: the rest names its topic, if any."""
    return _WHOLE.sub(" ", folded)


@remembering
def asks_for_beginning(folded: str) -> int:
    """How many of the user's first messages a case-folded message asks for ("my second question": 2); 0 for none."""
    found = _BEGINNING.search(folded)
    if found is None:
        return 0
    return _ORDINALS.get(next((group for group in found.groups() if group), ""), 1)


def without_beginning(folded: str) -> str:
    """The message without its words for the beginning: the rest names its topic, if any."""
    return _BEGINNING.sub(" ", folded)


def without_cover_words(folded: str) -> str:
    """The message without its words for "summary": the rest names its topic, if any."""
    return re.sub(rf"(?:{_COVER.pattern})\w*", " ", folded)


_LONGEST_COURTESY: Final = 80  # characters
_COURTESY: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('requests', 'courtesy')})(?!\w)|{one_of('requests', 'courtesy run-on')}")
_BESIDE_COURTESY: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('requests', 'beside courtesy')})(?!\w)")
_WORD: Final = lazy.pattern(r"\w")
_SUBJECT: Final = lazy.pattern(r"\b(?:of|about)\b[^.!?\n]*", re.IGNORECASE)
#: What is said here may be meant, by a name that nobody has used in it: "our Monday call", "the Q3 Planning meeting".
_SAID_HERE: Final = lazy.pattern(
    r"\b(?:our|my|we|us|i|this|these|that|those|above|here|(?:meeting|call|conversation|chat|discussion|talk|session|interview"
    r"|transcript|thread|document|text|article|paper|report|file|e?mail|message|note|plan|project|trip)s?)\b",
    re.IGNORECASE,
)

_OVER_TIME: Final = lazy.pattern(rf"(?<!\w)(?:{one_of('requests', 'over time')})(?!\w)|{one_of('requests', 'over time run-on')}")


@remembering
def asks_over_time(folded: str) -> bool:
    """Whether a question is about more than the current state: earlier states, their order, frequency, or time in between."""
    return _OVER_TIME.search(folded) is not None


def without_asking(folded: str) -> str:
    """The message without phrases that only say that something is requested, or that the other side said it."""
    return _ASKING.sub(" ", folded)


def is_courtesy(folded: str) -> bool:
    """Whether a case-folded message only thanks, greets, praises, takes leave, or asks who the other side is.

    One that may also approve of something ("ok, thanks") or asks to go on is more than that.
    """
    if len(folded) > _LONGEST_COURTESY:
        return False
    left, said = _COURTESY.subn(" ", folded)
    return said > 0 and not _WORD.search(_BESIDE_COURTESY.sub(" ", left))


def subject(text: str) -> str:
    """What an English message wants summarised, with its preposition; "" if it does not say, or may mean this conversation."""
    found = _SUBJECT.search(text)
    return found.group() if found and not _SAID_HERE.search(found.group()) else ""


def without_empty_phrases(folded: str) -> str:
    """The message without Chinese and Japanese phrases that say nothing about its subject."""
    return folded if folded.isascii() else _EMPTY_RUN_ON.sub(" ", folded)
