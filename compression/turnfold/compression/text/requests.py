"""What kind of request a message is, as far as its words tell.

Lives here: word tables that tell a message without content of its own ("continue", "the second one?"), one that leans on
what was said before ("when was he born?"), and one that asks for a cover of the whole ("summarise the above"). Must not:
scores, messages.
"""

from __future__ import annotations

import re
from typing import Final

# Asking for a summary, by the stem of the word in each language.
_COVER: Final = re.compile(
    r"\b(?:summar|recap|overview|tl;?dr|wrap[- ]up|zusammenfass|zusammengefasst|überblick|résum|r[ée]capitul|synthèse|resum(?:en|ir|í|id|a|o|e (?:lo|la|el|los|las|todo|esto))\b|riassu|riepilog|"
    r"samenvat|sammanfatt|özet|tóm tắt|tổng kết|ringkas|rangkum|podsumow|streszcz|yhteenve|összefoglal|rezum|shrn|резюм|обобщ|подытож|подвед\w* итог|кратко излож|итоги|"
    r"περίληψη|συνόψι)|ملخص|لخص|تلخيص|सारांश|संक्षेप|总结|總結|概括|概述|摘要|まとめ|要約|要点|요약|정리해",
)

# Words that ask for more without saying of what, and words that point at something said before.
EMPTY: Final = frozenset(
    "continue continued go going proceed next more another again further elaborate explain detail details expand clarify mean meant means meaning example examples "
    "instead else first second third fourth fifth last latter former one ones two three previous earlier above below option answer question thing things "
    "part point item yes yeah yep ok okay sure thanks thank great good nice right wrong correct really exactly hmm well hello hi hey keep please give show try like get got "
    "think know sorry sounds "
    "weiter weitermachen mach bitte fortfahren genauer erkläre erklär erklären mehr beispiel zweite zweiten zweites erste ersten letzte letzten dritte nächste nächsten danke gut genau ja nein "
    "continuez continue encore détaille explique expliquer exemple suite suivant deuxième second seconde premier première dernier dernière troisième merci oui non vas accord plaît "
    "continúa continua sigue adelante explica explicar ejemplo siguiente segundo segunda primero primera último última tercero gracias vale bien claro "
    "prossimo avanti spiega esempio secondo primo prima ultimo grazie vai "
    "próximo próxima explique exemplo último obrigado primeiro "
    "doorgaan verder leg uit volgende tweede eerste laatste voorbeeld dank devam et açıkla örnek ikinci birinci ilk üçüncü sonraki evet hayır teşekkürler "
    "tiếp tục nữa giải thích thêm ví dụ tiếp "
    "продолжай продолжи продолжайте дальше далее ещё подробнее объясни поясни пример второй вторая второе второго первый первая первое последний последняя третий следующий спасибо хорошо да нет давай "
    "تابع استمر أكمل المزيد اشرح وضح مثال الثاني الثانية الأول الأولى الأخير الثالث التالي شكرا نعم "
    "जारी रखें रखो आगे समझाओ समझाइए उदाहरण दूसरा दूसरे दूसरी पहला पहले पहली तीसरा अगला आखिरी बताओ बताइए धन्यवाद हाँ और विस्तार "
    "계속 계속해 계속해줘 계속해주세요 더 설명해줘 설명해 자세히 왜 왜요 두 번째 두번째 첫 첫번째 세번째 마지막 다음 예시 그건 그거 네 응 감사합니다 번째는 것은".split()
)
# In scripts without spaces: phrases that are taken out before anything else is read.
_EMPTY_RUN_ON: Final = re.compile(
    "继续|請繼續|繼續|接着|然后呢|為什麼|为什么|为何|第[一二三四五六两兩几0-9]+[个個项項种種点點条條]?|详细|說明|说明|解释|解釋|一下|更多|例子|举例|呢|吗|嗎|请|請|那个|这个|那個|這個|他们|她们|它们|上面|前面|刚才|"
    "続けて|続き|つづけて|ください|下さい|お願いします|もっと|詳しく|説明して|説明|なぜ|どうして|なんで|[一二三四五六12345]つ目|[0-9一二三四五六]+番目?|最初|最後|それ|これ|あれ|どれ|例を|挙げて|教えて|ですか|ますか|について|何ですか|なに|は|の|を|に|が|？"
)
POINTERS: Final = frozenset(
    "he him his she her hers it its they them their theirs this that these those there er ihn ihm sie ihr ihnen dessen deren il elle ils elles lui leur celui celle él ella ellos ellas lo le esto eso "
    "ele ela eles elas lui lei loro hij hem zij haar hun han hon den det o onu ona onun bu bunu anh ấy nó họ он она оно они его её ее ему ей им их этот эта это هو هي هم هذا هذه ذلك वह यह वे उस उसका उसकी उसके इस इसका इसकी इसके "
    "그 그녀 그것 이것 그들".split()
)


def asks_for_cover(folded: str) -> bool:
    """Whether a folded message asks for a summary of what was said."""
    return _COVER.search(folded) is not None


def without_cover_words(folded: str) -> str:
    """The message without its words for "summary": what is left names the topic, if there is one."""
    return re.sub(rf"(?:{_COVER.pattern})\w*", " ", folded)


def without_empty_phrases(folded: str) -> str:
    """The message without phrases of Chinese and Japanese that say nothing of the subject."""
    return folded if folded.isascii() else _EMPTY_RUN_ON.sub(" ", folded)
