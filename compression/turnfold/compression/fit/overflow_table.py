"""The wordings of upstreams for a full context, similar wordings that mean something else, and where the figures are.

It is one table with one rule per line; ``overflow`` applies it.

The wordings come from the providers' documents, from the sources of servers (vLLM, SGLang, llama.cpp, TGI, LM Studio, Ollama) and
from errors that their users posted. A new wording is a new line here and a new case in the tests.
"""

# ruff: noqa: E501  (a rule is one line of the table, however long its pattern)

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from turnfold.compression import lazy

Says = Literal["no", "full", "certain", "compared", "limit", "total", "prompt", "output", "prompt-only", "at-least"]
Where = Literal["text", "code", "field"]


@dataclass(frozen=True)
class OverflowRule:
    """One line of the table.

    Its patterns are compiled when first used: most processes never see an error, and compiling all takes 40 ms.

    Attributes:
        says: "no": something else, whatever other rules say; "full": a full context; "certain": a full context under any error
            status; "compared": two figures of input tokens, the smaller of which is the limit;
            "limit", "total", "prompt", "output": group 1 is that figure; "prompt-only", "at-least": what the figures mean.
        where: whether the pattern is searched in messages, matches a whole code, or matches the name of a numeric field.
        source: the pattern.
        exception: a pattern; if the same message matches it, the rule does not apply.
    """

    says: Says
    where: Where
    source: str
    exception: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern."""
        return re.compile(self.source)

    @cached_property
    def unless(self) -> re.Pattern[str] | None:
        """The compiled exception."""
        return re.compile(self.exception) if self.exception else None


def _rule(says: Says, where: Where, pattern: str, unless: str = "") -> OverflowRule:
    """A rule. In patterns, N stands for a figure that is no excess ("by 120 tokens"), and ~ for up to sixty characters of one
    sentence.
    """
    full = pattern.replace("~", r"(?:[^.\n]|(?<=\d)\.(?=\d)){0,60}?").replace(
        "N", rf"(?<!\bby )\(?[`']?(?<!\d)(?<!\d[,.])({_NUMBER})"
    )
    if where != "text":
        full = rf"(?:{full})\Z"
    return OverflowRule(says, where, full, unless)


# 128,000 with any separator, 128k, 32.8k, 1m, 128000. Tokens are whole, so a point before three figures separates thousands.
_NUMBER: Final = r"\d{1,3}(?:[,. _'\u2007\u2009\u202f\xa0]\d{3})+(?![\dkm])|\d{1,6}(?:[.,]\d{1,3})? ?[km]\b|\d{1,12}(?![\da-z_])"
# What an input is called in languages of servers, and what it is counted in.
_INPUT: Final = (
    r"(?<![a-z])(?:prompt|input|prefill|sequence|context|messages?|conversation|history|request|window|model|chat|sent|text|n_ctx)(?![a-z])"
    r"|istem|girdi|bağlam|mesaj|lời nhắc|запрос|запит|контекст|ввод|entrada|mensaje|saisie|eingabe|kontext|zapytani|промпт|requête|トークン数|토큰이|토큰 수|token ?数"
)
_UNIT: Final = r"(?:tok[ei]n\w*|tok\b|belirteç\w*|токен\w*|jeton\w*|トークン|토큰|टोकन|טוקנ\w*|โทเค็น)"
#: A figure anywhere, if it is no part of a name.
FIGURE: Final = lazy.pattern(rf"(?<![\w.,-])(?<!\bby )({_NUMBER})(?![-:]\d)")
_TOKENS: Final = r"context|\btokens?\b"

#: Everything is matched in lower case. For each kind of figure, the first matching line counts.
TABLE: Final[tuple[OverflowRule, ...]] = (
    # -- something else: rates, money, filters, output caps, strings, media, bytes -----------------------------------------
    _rule("no", "code", "rate_limit\\w*|tokens|requests|insufficient_\\w+|content_?filter\\w*|throttl\\w*|too_?many_?requests\\w*"),
    _rule("no", "code", "\\w*above_max_length|overloaded_error|image_\\w+|invalid_image\\w*|model_not_found|\\w*billing\\w*"),
    _rule("no", "text", r"\b(?:tokens?|requests?|images?) ?(?:per|/) ?(?:min|sec|hour|day)|\b(?:i|o)?[tr]p[mds]\b|rate.?limit"),
    _rule("no", "text", r"too many requests|throttl|please (?:wait|slow)|try again in|\brefill|\bresets? (?:at|in|on)\b|(?:this|your) api key|concurren|频率|限流|速率|今日|每日|当日|每天|本月|每月|レート制限|요청 한도|enqueued"),
    _rule("no", "text", r"(?:por|par|pro|al|per|na|в|на|за|je|mỗi) (?:\w+ )?(?:minut|минут|menit|phút|ngày|d[ií]a\b|jour\b|tag\b|giorn|dzień|hari\b|сутки|день|хвилин|секунд|sekund|segund|second)|dakika|günlük|saatlik|aylık|\bkota|cuota|kontingent|квот|kuota|hạn ngạch|الدقيقة|حصة|प्रति मिनट|कोटा|分あたり|分間|분당|每分|每秒|每小时"),
    _rule("no", "text", r"\btim(?:e|ed) ?out|deadline|took too long|zaman aş|\bstop (?:tokens|sequences?|words?)\b|\bbalance\b|\btop_[kp]\b|invalid token\b|\bexpired\b|(?:audio|video|image) (?:is|has) \d"),
    _rule("no", "text", r"quota|billing|(?:insufficient|more|enough|out of) (?:credit|balance|fund)|can only afford|余额|配额"),
    _rule("no", "text", r"content.(?:filter|management|polic|moderat)|safety (?:system|setting|polic|filter)|responsible ?ai|flagged"),
    _rule("no", "text", r"(?:string|array|list|object|name|description|id|key|url)s?(?: is| are)? too (?:long|large)|but got an? \w+ with length"),
    _rule("no", "text", r"at most \d+ (?:completion|output) tokens|range of max_(?:\w+_)?tokens|maximum tokens you requested"),
    _rule("no", "text", r"maximum (?:allowed )?(?:number of )?(?:output|completion) tokens(?! \()|maximum output tokens \(\d+\)\W*$|max_tokens: \d+ >"),
    _rule("no", "text", r"\b(?:daily|weekly|monthly|hourly|session|today's|spending|usage)\b~limit|limit~\b(?:today|this (?:day|week|month))\b"),
    _rule(
        "no",
        "text",
        r"(?<!\+ )(?<!\+ [`'])max(?:imum)?[_ ](?:completion_|output_|new_)?tokens[`'\"]*~(?:must|should|can(?:not)?|has to) be"
        r"(?! (?:at least 1, got |greater than 0,[^\n]{0,60}\()-)",
    ),
    _rule("no", "text", r"(?:image|file|audio|video|document|attachment|picture)s?(?: (?!and )\w+){0,5} (?:too|exceed|larger|limit|must)"),
    _rule("no", "text", r"\b(?:context|token)s?[ _-](?:window|length|size|limit)(?: is)? too (?:small|short|low)\b|\bcach(?:ed|ing|e)\b~(?:at least|minimum)"),
    _rule("no", "text", r"(?:invalid|too many) image|megapixel|\bpixels?\b|image (?:data|size|dimension)"),
    _rule("no", "text", r"entity too large|payload too large|\b(?:bytes|mb|mib|kb|kib)\b|content.length\b|maximum (?:allowed )?size", _TOKENS),
    _rule("no", "text", r"\bcharacters?\b", _TOKENS),
    _rule("no", "text", r"^(?:invalid|unsupported) value\b|^invalid '|must be followed by|internal (?:server )?error", "length_error"),
    _rule("no", "text", r"\b(?:name|description|title|\w*id|metadata|tools?|stop\w*|label|tag|key)\b[^\s:]{0,40}: ?expected maxlength"),
    # -- a full context, by its code ------------------------------------------------------------------------------------------
    _rule("certain", "code", r"(?:model_)?context_?(?:length|window|size)_?exceeded(?:_?error|_?exception)?"),
    _rule("certain", "code", r"exceed_context_size_error|context_overflow\w*|context_too_(?:long|large)"),
    _rule("certain", "code", r"\w*prompt_?(?:is_?)?too_?(?:long|large)|model_max_prompt_tokens_exceeded|outofcontexterror"),
    _rule("certain", "text", r"input length exceeds (?:the |maximum |the maximum )?context length|\bexceed(?:s|ed) (?:the )?max(?:imum)? context length\b"),
    _rule("certain", "text", r"exceeds? the available context size|context size (?:has been |was )?exceeded|exceeds? the (?:loaded )?context size of"),
    _rule("certain", "text", r"maximum context length is N tokens\. however,|contextwindowexceedederror|too big compared to kv size"),
    _rule("certain", "text", r"\b(?:prompt|input)\b~exceed\w* (?:the )?max(?:imum)? (?:context|sequence|prompt|input) length|tokens to keep from the (?:initial )?prompt~context length"),
    _rule("certain", "text", r"\b(?:prompt|input|request)\b~(?:\d\)?|\d tokens\)?|tokens?:? ?\(?\d+\)?) ?(?:exceed\w*|(?:is |are )?(?:longer|larger|greater) than)~\bcontext (?:window|length|size)\b"),
    _rule("certain", "text", r"sequence length \(?\d+\)? (?:exceeds|(?:is )?(?:longer|larger|greater) than) (?:the )?(?:max_seq_len|max_model_len|max_position_embeddings)"),
    _rule("full", "code", r"tokens?_limit_(?:reached|exceeded)|message_length_exceeds_limit|input_token_limit\w*|max_context_length\w*"),
    _rule("full", "text", r"max(?:imum)? tokens? of \d+ (?:was |has been |were )?exceeded|expected maxlength: ?\d{4,}, actual: ?\d+"),
    _rule("full", "code", r"3051|5021|1261|input_?(?:text_?)?(?:is_?)?too_?long|input_?(?:length|tokens?)_?(?:limit_?)?exceeded|max_(?:prompt|input|context)_tokens_exceeded"),
    # -- a full context, by its words -------------------------------------------------------------------------------------------
    _rule("full", "text", r"(?:maximum|model|available|allowed|supported|exceed\w*|loaded)~\b(?:context|sequence)[ _-]?(?:length|window|size|limit)"),
    _rule("full", "text", r"(?:context|token|input|prompt|sequence)[ _-]?(?:length|window|size|limit|count)s?~(?:exceed|overflow|too (?!small|short|low)|full\b|reached|surpass|larger|greater|longer|beyond)"),
    _rule("full", "text", r"(?:exceed|surpass|overflow|longer than|larger than|greater than|more than|beyond)~(?:context|(?:token|input|prompt)s? limit|tokens allowed|maximum number of (?:input |prompt )?tokens|max(?:imum)? (?:\w+ )?tokens|maximum (?:allowed |model |(?:en|de)coder |input |prompt |sequence )+(?:length|tokens?|size))"),
    _rule("full", "text", r"\b(?:prompt|input|messages?|conversation|context|history)(?: \w+){0,3}? ?too ?(?:long|large|big)"),
    _rule("full", "text", r"\b(?:prompt|input|messages?|context|conversation|request)\b~\d ?[km]? tokens?\b~\b(?:max|maximum|limit|only|at most|window|exceed\w*)\b", r"max_\w*tokens|output|completion"),
    _rule("full", "text", r"(?:not enough|no|insufficient) (?:room|space)\b~\bcontext\b|\bfits? (?:in|into|within|inside)\b~(?:context|window)|(?:not enough|no|insufficient) context\b|context(?: \w+){0,2} exhausted"),
    _rule("full", "text", r"exceed~(?:max|session|n)_(?!tokens|new|completion|output)|tokens?\b~\bover (?:the )?(?:model|context|max)|\bn_keep\b|input_length_error|(?:input|prompt)[ _]tokens?~(?:must|should) be (?:no more|at most|less|fewer|below|under)|tokens?\b~\bmax_(?:position_embeddings|model_len|seq_len)\b"),
    _rule("full", "text", r"too many (?:input |prompt |total |context )?tokens|(?:number|amount) of (?:\w+ )?tokens~(?:exceed|larger|greater|over)"),
    _rule("full", "text", r"(?:number|amount) of (?:\w+ )?tokens~(?:must|should) be (?:no more|at most|less|fewer|below|under)", "output|completion|generat|max_|batch"),
    _rule("full", "text", r"(?:reduce|shorten|decrease) (?:the |your )?(?:(?:length|size|number of tokens) (?:of|in) )?(?:the |your )?(?:input |chat )?(?:prompt|messages|conversation|context|history|input)\b"),
    _rule("full", "text", r"(?:tokens?|ctx|context|length|len)\b~\d\)? ?>=? ?(?:\w+ )?\(?\d|over the (?:model's )?(?:\d[\d,.]*k?[ -])?tokens? limit|which is over~token limit"),
    _rule("full", "text", r"(?:total|prompt|input|context) tokens? (?:exceed(?:ed|s? the model)|reached)|\bmessage(?: is)? too long|out of context\b|n_ctx~exceed"),
    _rule("full", "text", r"request (?:is )?too (?:long|large)~\d+ tokens|tokens? in (?:the )?prompt~must be|(?:use|using|provide) a shorter (?:prompt|input)"),
    _rule("full", "text", r"maximum (?:prompt|input)[ _-](?:length|tokens?|size)|(?:requested|prompt|input|messages?|context) tokens?~exceed|context(?: \w+){0,2} overflow"),
    _rule("full", "text", r"[`']?\binputs\b[`']?(?: tokens)? (?:\+ [`']?max_new_tokens[`']? must be|must have less than)|range of input length should be"),
    _rule("full", "text", r"max_total_tokens~max_seq_len|max_(?:completion_)?tokens must be at least 1, got -|than the (?:\w+ )?kv cache|too long by \d|prompt~longer than allowed|\btext(?: is)? too long~tokens|\A(?:the |your |input |prompt )*text(?:[ _]is)?[ _]too[ _]long\b(?! (?:for|in) (?!(?:this|the) (?:\w+ )?(?:model|context)))", "characters|voice|speech"),
    _rule("full", "text", r"(?:上下文|提示词|输入|輸入|prompt|tokens?)[^。\n]{0,20}(?:超过|超出|超過|超长|超長|过长|過長|过大)|(?:超过|超出|超過)[^。\n]{0,20}(?:上下文|token)"),
    _rule("full", "text", r"(?:コンテキスト|プロンプト|入力|トークン)[^。\n]{0,30}(?:超え|超過|長すぎ)|(?:컨텍스트|프롬프트|입력|토큰)[^.\n]{0,30}(?:초과|너무 )"),
    _rule("full", "text", r"(?:kontextl[äa]nge|kontextfenster|eingabe|prompt)~(?:überschr|ueberschr|übersteig|zu lang)"),
    _rule("full", "text", r"longueur maximale~contexte|(?:contexte?|contesto|invite|requête|saisie)~(?:dépass|excéd|trop long|super|ecced)|(?:dépass|excéd|super|ecced)~(?:contexte|contesto|jetons)"),
    _rule("full", "text", r"(?:contexto|mensaje|entrada|prompt)~(?:exced|super|sobrepas|ultrapass|demasiado larg|longo demais)|(?:exced|super|ultrapass)~contexto"),
    _rule("full", "text", r"(?:контекст|запрос|промпт|токен)~(?:превы|слишком длин)|слишком длин\w+ (?:запрос|промпт|контекст|ввод)|(?:prompt|invoer)~te (?:lang|groot)|превы~(?:контекст|токен)"),
    _rule("full", "text", r"(?:istem|bağlam|girdi|mesaj|istek|metin|sohbet)~(?:uzun(?! sür)|aş|büyük)|(?:zapytani|wejści|kontekst|prompt)~(?:przekr|za dług|zbyt dług)|przekr~(?:kontekst|token)|(?:запит|контекст|промпт|ввід)~(?:перевищ|задовг|занадто довг)|перевищ~(?:контекст|токен)"),
    _rule("full", "text", r"(?:đầu vào|ngữ cảnh|lời nhắc|tin nhắn)~(?:vượt|quá dài)|(?:input|masukan|konteks|prompt)~(?:melebihi|terlalu panjang)|(?:السياق|الإدخال|المدخل|النص|الرسال)~(?:يتجاوز|تتجاوز|تجاوز|طويل)|(?:يتجاوز|تتجاوز|تجاوز)~(?:السياق|الرموز|رمز)|(?:इनपुट|संदर्भ|प्रॉम्प्ट)~(?:लंबा|अधिक)"),
    _rule("full", "text", r"(?:příliš dlouh|för lång|for lang|liian pitk|túl hosszú|prea lung|υπερβαίν|ארוך מדי|ยาวเกิน|te lang|zu lang|trop long|troppo lung)~(?:tok[ei]n|טוקנ|โทเค็น)|reached the (?:maximum )?context (?:length |window |size )?limit"),
    _rule("full", "text", r"\bthe length of (?:your |the )?(?:(?:input|prompt)~|(?:chat )?(?:messages|conversation|context) )exceed|\b(?:prompt|input)\b~\d~(?:\+|plus|and)~max_\w*tokens~exceed|\b(?:prompt|input|context|conversation|history) exceeds? \d[\d,.]*k? tokens"),
    _rule(
        "compared",
        "text",
        rf"\A(?=(?s:.{{0,600}}?)(?:{_INPUT}))(?s:.{{0,600}}?)(?:N[- ](?:[a-z]+ ){{0,2}}{_UNIT}|{_UNIT}(?: count| length| in (?:the |your )?\w+)?(?: is| of| are|:|=)? ?N"
        rf"|{_UNIT}(?: [^\W\d]+){{0,4}} ?[:(=：（] ?N|(?:トークン|토큰|token ?数)[^\d\n]{{0,14}}N"
        r"|(?:prompt|input|prefill|sequence|context|window)(?:[ _](?:length|len|size))?(?: is| of|:|=)? ?N)",
        r"output|completion|max_(?:new_)?tokens|generat|budget_tokens|reasoning|thinking|\bcosts?\b|\bprice|batch|choice|minimum|between|vocab|logprob|speech"
        r"|voice|embedd|(?:n|num)_predict|top_k|reserved|retry|image|audio|video|\bfiles?\b|page|remaining|prepaid|allowance|\btier\b",
    ),
    # -- figures: the limit ------------------------------------------------------------------------------------------------------
    _rule("limit", "field", r"n_ctx|max_context_length|context_length|context_window|max_model_len|max_input_tokens"),
    _rule("limit", "text", r"n_ctx\W{0,3}N|\bneeds?:? \d[^.\n]{0,20}\bhave N"),
    _rule("limit", "text", r"max size:? *N|(?:max(?:imum)? tokens?|model's max(?:imum)?) of N|expected maxlength: ?N|context size of N|max(?:imum)? for (?:this|the) (?:\w+ )?model(?: is|:)? *N|(?:supported|model) context(?: of| is|:)? N"),
    _rule("limit", "text", r"\d\)? \+ [a-z_ ]{0,40}\(?\d+\)?\)? (?:>|exceeds?) ?[a-z_ ]{0,20}N"),
    _rule("limit", "text", r"\(\d+ ?/ ?N|\d{3} ?/ ?N|\d{3}(?: tokens)? (?:out )?of N"),
    _rule("limit", "text", r"(?:exceed\w*|than|over|beyond|>=?) (?:the |its |model's |model )*[a-z]+_[a-z_]+(?: of| is|:|=)? ?N"),
    _rule("limit", "text", r"\d (?:tokens? )?> N"),
    _rule("limit", "text", r"(?:context|model)[ _-](?:length|window|size|len|limit)s?(?: limit)?(?:(?!exceed|current|request|input|prompt)[^\d\n.]){0,25}N"),
    _rule("limit", "text", r"(?:model )?(?:token|context)s? limit(?: is| of|:|=)?\s*N"),
    _rule("limit", "text", r"with N (?:maximum )?context|max_(?:seq|model|context|prompt|input)\w{0,8}\W{0,4}N|max(?:imum)? seq(?:uence)?[ _]len(?:gth)?\W{0,3}N"),
    _rule("limit", "text", r"max(?:imum)? (?:prompt |input |allowed |model |sequence |context |total )*(?:length|tokens?|size|context|number of tokens)(?: allowed)?(?:(?!prompt|input|request|received|got )[^\d\n.]){0,25}N"),
    _rule("limit", "text", r"N[ -](?:tokens?[ -])?(?:maximum|max\b|limit|context (?:window|length)|window)|\b(?:window|ctx)(?: of| is|:)? N"),
    _rule("limit", "text", r"limit for (?:this|the) (?:\w+ )?model(?: is|:)? *N|cache size N|max_position_embeddings(?: is)?\W{0,3}N"),
    _rule("limit", "text", r"limit(?! \((?!1024|2048)[12]\d{3}\)\W*\Z)(?:ed)?(?: is| of|:| to)? *N"),
    _rule("limit", "text", r"(?:cannot exceed|must be <=|must be less than|less than or equal to|must have less than|no more than|\[\d+,|(?<!add )(?<!adds )up to|at most|only) *N"),
    _rule("limit", "text", r"exceed\w* (?!limit \((?!1024|2048)[12]\d{3}\)\W*\Z)(?:the |its |a )?(?:maximum|max|limit)?(?: of| is|:)? *N"),
    _rule("limit", "text", r"(?:tokens?|prompt|input|length) (?:to )?(?:under|below) N|\b(?:ceiling|threshold) (?:of|is)? ?N"),
    _rule("limit", "text", r"(?:longer|larger|greater) than (?:the )?(?:maximum (?:of )?)?N|(?:less|fewer|smaller) than N|\bmax(?:imum)?(?: is|:|\.)? N|N (?:tokens? )?allowed"),
    _rule("limit", "text", r"(?:最大|上限|限制|最多|최대|máxim[oa]|maxima\w*|maxim(?:um|ale)|massim[oa]|максим\w*|maksym\w*|maksim\w*|en fazla|enintään|legfeljebb|μέγιστο|מקסימום|สูงสุด|s[ıi]n[ıi]r\w*|tối đa|الحد الأقصى|अधिकतम)[^\d\n。]{0,40}?N"),
    _rule("limit", "text", r"(?:kontext|context[eo]\b|contesto|bağlam|kontek?st\w*|konteks\b|контекст\w*|ngữ cảnh|السياق|संदर्भ|窗口)[^\d\n.。]{0,25}N|\bcontext: N|\(context N|N (?:tokens )?(?:available|fit\b)"),
    _rule("limit", "field", r"limit|(?:context|token|model)_limit|max_(?:context|prompt)_tokens"),
    # -- figures: what was asked for ---------------------------------------------------------------------------------------------
    _rule("total", "text", r"total of (?:at least )?N|your request (?:will|would) take N|\bsum of [^\d\n.]{0,40} is N"),
    _rule("total", "text", r"(?:requested about|requested(?: tokens)?:?|requested a total of|received|current length is) *N(?! output)"),
    _rule("total", "text", r"(?<!max )(?<!maximum )total(?: number of)? tokens?:? *N"),
    _rule("total", "text", r"(?:maximum output tokens|max_total_tokens) *N"),
    _rule("prompt", "field", r"n_prompt_tokens|prompt_tokens|input_tokens"),
    _rule("prompt", "text", r"n_keep\W{0,3}N"),
    _rule("prompt", "text", r"maxlength: ?\d+, actual: ?N"),
    _rule("prompt", "text", r"N\)? \+ [a-z_ ]{0,40}\(?\d+\)?\)? (?:>|exceeds?) ?[a-z_ ]{0,20}\(?\d"),
    _rule("prompt", "text", r"N ?/ ?\d+\)|N ?/ ?\d{3}|N(?: tokens)? (?:(?:out )?of|vs\.?) \d{1,3}|(?<!max_)(?:prompt|input)_tokens?=N|N (?:tokens? )?(?:provided|given|were given|received)"),
    _rule("prompt", "text", r"resulted in N|\(current(?:ly)?:? N|\bneeds?:? N"),
    _rule("prompt", "text", r"N (?:tokens? )?> \d++(?! -)"),
    _rule("prompt", "text", r"N (?:tokens? )?(?:in|from) (?:the|your) (?:input )?(?:messages|prompt|input)"),
    _rule("prompt", "text", r"(?:request|prompt|input) has N"),
    _rule("prompt", "text", r"(?:contains?|has|have|had|got) (?:at least |about )?N (?:input |prompt )?tokens?"),
    _rule("prompt", "text", r"(?:prompt|input)(?: is)? too (?:long|big|large):? *\(?N"),
    _rule("prompt", "text", r"(?:token count|sequence length|(?:many|of) tokens:?)(?: of| is)? *N"),
    _rule("prompt", "text", r"(?<!max )(?<!maximum )(?:prompt|input|request|messages?)(?:'s)?(?: token)?(?: count| length|[ _]tokens?)?(?: is| of|:)? *(?:\((?:total )?(?:length )?)?N"),
    _rule("prompt", "text", r"(?:长度|長度|数量?|トークン数|토큰 수|当前|實際|实际|收到)(?:为|是|は|：|:)? ?N"),
    _rule("prompt", "text", r"tokens in (?:the |your )?\w+\W{1,3}N|N (?:belirteç|token\w*|jeton\w*) (?:gönder|wysłan|envoy|gesendet|enviad)"),
    _rule("prompt", "text", r"N (?:`inputs`|input|prompt) tokens?|given: N|keep the first N|\b(?:got|used|actual|sent):? N"),
    _rule("prompt", "text", r"\A(?:\w+ ){0,3}N tokens? (?:requested|is|are|exceed)|(?:context|sequence) (?:length|size) N (?:tokens )?(?:is|exceed)"),
    _rule("prompt", "field", r"requested(?:_tokens)?|(?:token|prompt_token)_count|num_tokens|total_tokens"),
    _rule("output", "text", r"\d\)? \+ [a-z_ ]{0,40}N\)?\)? (?:>|exceeds?) ?[a-z_ ]{0,20}\(?\d"),
    _rule("output", "text", r"N > \d+ - \d"),
    _rule("output", "text", r"N (?:tokens? )?(?:in|for|from) (?:the|your) (?:completion|output)"),
    _rule("output", "text", r"N (?:output tokens|`max_new_tokens`)"),
    _rule("output", "text", r"max_(?:completion_)?tokens['` ]{0,3}(?:is too large: |=)N"),
    # -- what the figures mean ----------------------------------------------------------------------------------------------------
    _rule("at-least", "text", r"at least \d+ (?:input|prompt|tokens)|at least \d+ tokens|more than \d+ tokens (?:in|were)"),
    _rule("prompt-only", "text", r"maximum prompt length|input tokens exceed the configured limit|input token count|prompt token count"),
)  # fmt: skip
