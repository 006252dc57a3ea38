"""The kind of request that a message makes, judged by its words.

Lives here: word tables that recognise a message without content of its own ("continue", "the second one?"), one that refers to
what was said before ("when was he born?"), and one that asks for a summary of the whole ("summarise the above"). Does not belong
here: scores, messages.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.text.lexicon import lexicon

# Asking for a summary, by the stem of the word in each language.
_COVER: Final = re.compile(
    r"\b(?:summar|recap|overview|tl;?dr|wrap[- ]up|zusammenfass|zusammengefasst|überblick|résum|r[ée]capitul|synthèse|"
    r"resum(?:en|ir|í|id|a|o|e (?:lo|la|el|los|las|todo|esto))\b|riassu|riepilog|samenvat|sammanfatt|özet|tóm tắt|tổng kết|"
    r"ringkas|rangkum|podsumow|streszcz|yhteenve|összefoglal|rezum|shrn|резюм|обобщ|подытож|подвед\w* итог|кратко излож|итоги|"
    r"περίληψη|συνόψι)|ملخص|لخص|تلخيص|सारांश|संक्षेप|总结|總結|概括|概述|摘要|まとめ|要約|要点|요약|정리해"
)

# What is to be summarised is the conversation itself, or what somebody needs who takes it over.
_ALL: Final = re.compile(
    r"\b(?:conversation|chat|session|discussion|dialog(?:ue)?|thread|work) "
    r"(?:so far|up to (?:now|this point)|to date|until now|above)\b|"
    r"\b(?:whole|entire|full|complete|our|this|current) (?:\w+ )?(?:conversation|chat|session|thread)\b|"
    r"\b(?:everything|all) (?:so far|above|we(?:'ve| have)? (?:did|done|said|discussed))\b|"
    r"\bhand-?(?: ?off|over)\b|\bcontext checkpoint\b|"
    r"\b(?:bisherig\w*|gesamt\w*|ganz\w*|unser\w*) (?:\w+ )?(?:unterhaltung|gespräch\w*|konversation|chat\w*)\b|"
    r"\b(?:toute (?:la|notre)|notre|cette) (?:conversation|discussion)\b|\bconversation jusqu'|"
    r"\b(?:toda (?:la|nuestra)|nuestra|esta) conversación|\bconversación hasta|\b(?:tutta la|nostra) conversazione\b|"
    r"\b(?:toda a|nossa) conversa\b|\b(?:вс\w+|наш\w*) (?:\w+ )?(?:разговор|бесед|диалог|переписк)|"
    r"(?:整个|全部|目前为止的?|以上的?|我们的?|本次)(?:对话|聊天|会话)|(?:整個|至今的?|我們的?)對話|"
    r"(?:これまで|ここまで)の(?:会話|やり取り)|会話(?:全体|の全て)|(?:지금까지의?|전체) ?대화"
)

# The same without a word for "summary", as agents put it.
_COMPACTION: Final = re.compile(
    r"\bcontext (?:checkpoint )?compaction\b|"
    r"\b(?:prompt|brief(?:ing)?|notes?) for continuing (?:our|this|the) (?:conversation|session|work)\b"
)

# Words that ask for more without saying of what, and words that point at something said before.
_TABLES: Final = lexicon("requests")
EMPTY: Final = _TABLES["empty"]
POINTERS: Final = _TABLES["pointers"]
# In scripts without spaces: phrases that are taken out before anything else is read.
_EMPTY_RUN_ON: Final = re.compile(
    "继续|請繼續|繼續|接着|然后呢|為什麼|为什么|为何|第[一二三四五六两兩几0-9]+[个個项項种種点點条條]?|详细|說明|说明|解释|解釋|一下|更多|例子|举例|呢|吗|嗎|"
    "请|請|那个|这个|那個|這個|他们|她们|它们|上面|前面|刚才|是的|好的|"
    "続けて|続き|つづけて|ください|下さい|お願いします|もっと|詳しく|説明して|説明|なぜ|どうして|なんで|[一二三四五六1-6]つ目|[0-9一二三四五六]+番目?|"
    "最初|最後|それ|これ|あれ|どれ|例を|挙げて|教えて|ですか|ますか|について|何ですか|なに|[はのをにが？]|"
    "계속(?:해(?:줘|주세요)?)?"
)


def asks_for_cover(folded: str) -> bool:
    """Whether a case-folded message asks for a summary of the conversation."""
    return _COVER.search(folded) is not None


def asks_for_all(folded: str) -> bool:
    """Whether a case-folded message asks for a summary of the conversation as a whole."""
    return _COMPACTION.search(folded) is not None or (asks_for_cover(folded) and _ALL.search(folded) is not None)


def without_cover_words(folded: str) -> str:
    """The message without its words for "summary": what is left names the topic, if there is one."""
    return re.sub(rf"(?:{_COVER.pattern})\w*", " ", folded)


def without_empty_phrases(folded: str) -> str:
    """The message without Chinese and Japanese phrases that say nothing about the subject."""
    return folded if folded.isascii() else _EMPTY_RUN_ON.sub(" ", folded)
