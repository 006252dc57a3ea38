"""Words of a text as terms that can be looked up again.

Lives here: what counts as a word in each script, which language a text is in, function words, stems, and the 32-bit hash
under which a term is indexed. Must not: scores, passages.

Terms are CRC-32 values of folded stems: the same in every process, small, and comparable in numpy. Two of 10,000 terms
collide once in about 86 texts, which costs a little precision and nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence, Set
from typing import Final
from zlib import crc32

import numpy as np
import numpy.typing as npt
import Stemmer

Hashes = npt.NDArray[np.uint32]

# Marks that belong to the letter before them but are no \w: Latin accents, Hebrew and Arabic points, Indic and Thai vowels.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0dff\u0e31-\u0e4e\u200c\u200d"
_WORD: Final = re.compile(rf"[\w{_MARKS}]+")
_TOKEN: Final = re.compile(rf"[\w{_MARKS}]+(?:[-./:@#][\w{_MARKS}]+)*")
# What has one of these is an identifier, a number, or a version, and must match as it is.
_UNSTEMMED: Final = re.compile(r"[\d_./:@#]")
_PART: Final = re.compile(r"[^\W_]+")
# Scripts written without spaces between words: kana, Han, Thai, Lao, Burmese, Khmer. Hangul has spaces, but its particles stick.
_RUN_ON: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9d\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003ffff]+")
_PAIRED_RANGES: Final = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9D), (0x20000, 0x3FFFF),
)  # fmt: skip
_PAIRED: Final = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _PAIRED_RANGES) + "]")
_NONE: Final = np.zeros(0, np.uint32)
_LONGEST_STEMMED: Final = 40

# Function words and question words: they say in which language a text is, and never what it is about.
FUNCTION_WORDS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(words.split())
    for name, words in {
        "english": "a about after again all also am an and any are as at be because been before being between both but by can could did do does doing don "
        "during each else every few for from further had has have having he her here hers herself him himself his how i if in into is isn it its itself "
        "just ll let may me might more most much must my myself no nor not now of off on once only or other our ours out over own please re same shall she "
        "should so some such than that the their theirs them themselves then there these they this those through to too under until up upon us ve very was we "
        "were what when where whether which while who whom whose why will with would yes you your yours yourself tell said say says",
        "german": "aber alle allem allen aller alles als also am an andere auch auf aus bei beim bin bis bist da damit dann das dass dem den denn der des dich die "
        "dies diese diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch für gegen gibt habe haben hat hatte hatten hier "
        "ich ihm ihn ihnen ihr ihre ihrem ihren im in ist ja jede jeder jedes jetzt kann kein keine können man mehr mein meine mich mir mit muss nach nicht noch nun "
        "nur ob oder ohne sehr sein seine seinem seinen seiner sich sie sind so soll sondern über um und uns unser unter viel vom von vor wann war waren warum was "
        "weil welche welchem welchen welcher welches wem wen wenn wer werde werden wie wieso will wir wird wo wurde wurden zu zum zur zwischen",
        "french": "à ai au aucun aussi autre aux avait avec avez avoir c ce cela ces cet cette ceux chez comme comment d dans de des donc dont du elle elles en entre est "
        "et étaient était été être eu eux fait il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne ni nos notre nous on ont ou où par pas pendant plus "
        "pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son sont sous sur t ta tes toi ton tout toute toutes tous très tu un une vos votre vous y",
        "spanish": "a al algo alguna algunos ante antes aunque como cómo con contra cual cuál cuáles cuando cuándo cuánto cuántos cuántas de del desde donde dónde durante e el él ella "
        "ellas ellos en entre era eran es esa ese eso esta está están estas este esto estos fue fueron ha había han hasta hay la las le les lo los más me mi mis "
        "mucho muy nada ni no nos nosotros o otra otro otros para pero poco por porque qué que quien quién quienes se según ser si sí sido sin sobre son su sus también "
        "tan te tiene tienen todo todos tu tus un una uno unos y ya yo",
        "portuguese": "a ao aos aquela aquele as até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era eram essa esse esta está estão "
        "este eu foi foram há isso isto já lhe mais mas me mesmo meu meus minha muito na não nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo "
        "pelos por porque qual quais quando quanto que quem são se sem ser seu seus só sua suas também te tem têm teu tu tua um uma você vocês",
        "italian": "a agli ai al alla alle allo anche avere aveva c che chi ci come con contro cosa cui da dagli dai dal dalla dalle degli dei del dell della delle dello di "
        "dopo dove e è ed era erano essere fa fra gli ha hanno ho i il in io la le lei li lo loro lui ma mi mia mio ne negli nei nel nella nelle noi non nostro o "
        "ogni perché per più prima quale quali quando quanto quanti quella quello questa queste questi questo se sei si sia siamo sono stato su sua sue sugli sui sul sulla suo suoi tra tu un una uno vi voi",
        "dutch": "aan al alle als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een en er ge geen haar had heb hebben heeft hem het hier hij "
        "hoe hun iemand iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over te tegen toch "
        "toen tot u uit uw van veel voor waar waarom want waren was wat welke werd wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou",
        "swedish": "alla att av blev bli blir de dem den denna deras dess det detta dig din du då där efter ej eller en er ett från för ha hade han hans har henne hennes hon "
        "honom hur här i inte jag kan kunde man med mellan men mig min mot mycket ni nu när någon något och om oss på samma sedan sig sin sina skulle som så till under "
        "upp ut utan vad var vara varför vem vi vid vilka vilken vilket är än över",
        "turkish": "acaba ama ancak bana bazı belki ben beni benim bir biri birkaç biz bize bizim bu buna bunda bundan bunlar bunu bunun çok çünkü da daha de değil diye eğer en fakat gibi "
        "hangi hem hep hepsi her hiç için ile ise kadar kaç kez ki kim kime kimin mı mi mu mü nasıl ne neden nedir nerede nereye niçin niye o olan olarak oldu olduğu olur ona "
        "onlar onu onun sana sen seni senin siz sizin sonra şey şu tüm var ve veya ya yani yok zaman",
        "vietnamese": "ai bao bị bởi các cái cho chúng có còn của cũng đã đang để đến điều đó được gì hay họ khi không là lại làm lên mà mình một này nào nên nếu ngày như nhưng những nó nơi ở "
        "phải qua ra rằng rất rồi sao sẽ sự ta tại thế thể thì theo thứ tôi trên trong từ và vào vẫn về vì việc với vậy đâu",
        "indonesian": "ada adalah agar akan aku anda apa apakah atau bagaimana bahwa banyak belum berapa bisa dalam dan dapat dari dengan di dia hanya hari ini itu juga kami kamu kapan karena ke "
        "kepada kita lagi lebih mana mengapa mereka oleh pada para saat saja sangat saya sebagai secara sedang sebuah siapa sudah telah tersebut tetapi tidak untuk yang",
        "polish": "aby ale bardzo był była było były być czy dla do gdy gdzie go ich ile ja jak jaka jaki jakie jako je jego jej jest jeszcze już kiedy kto która które który lub ma mnie może na nad nie "
        "niego o od on ona one oni oraz po pod przez przy się są ta tak także tam te tego tej ten to tu tych tylko tym w we więc wszystko z za ze że",
        "finnish": "ei en että he hän hänen ja jo jos joka jotka kanssa kuin kuinka kun me mikä miksi millainen milloin missä mitä mukaan mutta myös ne niin no nyt olen oli olivat ole on ovat se sekä "
        "sen siellä siinä sitä tai tämä tämän te vain voi vuonna",
        "hungarian": "a az és egy hogy is nem de van volt ez azt mint már csak meg ki mi mely vagy ha el még azok ezek után lehet kell minden volna amely aki ami hol mikor miért hogyan milyen melyik között szerint",
        "romanian": "a ai al ale am ar are au ca care ce cea cei cel cele cine cu când cât câte cum da dar de decât deci din dintre după ea ei el ele este eu fi fost în încă între la le lui mai mea meu mi "
        "ne nici noi nu o pe pentru prin sa sau se și sunt și sub ta te tot toate un una unde unei unui unor voi vă",
        "czech": "aby ale ani asi až bez být bude by byl byla byli bylo co což do ho i jak jaká jaké jaký jako je jeho její jejich jen ještě jsem jsme jsou k kde kdo kdy když která které který má mezi mi může "
        "na nad nebo není o od po pod podle pro proč proti při s se si své tak také tam ten to tom u už v ve však z za ze že",
        "russian": "а без более был была были было быть в вам вас весь во вот все всего всех всё вы где да даже для до его ее ей ему если есть ещё еще ею её же за здесь и из или им их к как какая какие какой каким какого "
        "какое когда кого кому кто куда ли либо мне много может мой мы на над надо нам нас наш не него неё нее нет ни них но ну о об однако он она они оно от откуда очень по под после потому почему при про раз с "
        "сам свою себя сейчас сколько со так также такой там те тем то того тоже той только том ты у уже чего чей чем что чтобы чья эта эти это этого этой этом этот я",
        "arabic": "أن إن أو أي أين إلى إذا الذي التي الذين الى ان او أنا أنت إنه به بها بعد بين تلك تم ثم حتى حول حيث خلال ذلك عن عند عندما على علي غير في فيه فيها قبل قد كان كانت كل كم كما كيف لا لكن لم لماذا لن له لها لهم ما ماذا متى مع "
        "من منذ منه منها من هذا هذه هل هم هنا هناك هو هي و وقد ولا وهو وهي يكون",
        "hindi": "अगर अपना अपनी अपने अब आप इन इस इसका इसके इसमें उन उनका उनके उनकी उन्हें उन्होंने उस उसका उसके उसकी एक एवं और कब कर करता करते करना करने कहा कहाँ का कि कितना कितने कितनी किया किस किसने की कुछ के को कोई कौन क्या क्यों गया "
        "गई गए जब जा जो तक तब तो था थी थे दिया द्वारा न नहीं ने पर बाद बारे भी मुझे मैं में यदि यह या ये रहा रही रहे लिए वह वाले वे साथ से हम ही हुआ हुई हुए है हैं हो होता होती होते होने",
        "greek": "αλλά αν από αυτά αυτή αυτό αυτός για δεν εγώ είναι εκείνο ένα ένας εμείς εσύ η ήταν θα και κι με μετά μια μου να ο οι όταν ότι ποιά ποιο ποιος πολύ πότε πού πως πώς σας σε στα στη στην στις στο στον "
        "στους τα τη την της τι τις το τον του τους των ως",
    }.items()
}
_LANGUAGES_OF: Final[dict[str, tuple[str, ...]]] = {}
for _language, _words in FUNCTION_WORDS.items():
    for _word in sorted(_words):
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)
ALL_FUNCTION_WORDS: Final = frozenset(_LANGUAGES_OF)
_STEMMED: Final = frozenset(Stemmer.algorithms())
_DEFAULT: Final = "english"


def fold(text: str) -> str:
    """Lower case and compatibility forms folded (full-width digits, ligatures); accents stay, they carry meaning."""
    text = text.lower()
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def words(folded: str) -> list[str]:
    """The words of a folded text in order; an identifier such as ``a.b-c`` is there whole and, at the end, in its parts.

    Text of scripts without spaces is left out: see :func:`run_on_terms`.
    """
    if not folded.isascii():
        folded = _RUN_ON.sub(" ", folded)
    found = _TOKEN.findall(folded)
    parts: list[str] = []
    for token in [t for t in found if not t.isalnum()]:
        parts += [w for w in _WORD.findall(token) if w != token]
        if "_" in token:
            parts += _PART.findall(token)
    return found + parts


def content(folded: str) -> list[str]:
    """The distinct words that can say what a text is about: no function words, no single letters."""
    return [w for w in dict.fromkeys(words(folded)) if w not in ALL_FUNCTION_WORDS and (len(w) > 1 or w.isdigit() or not w.isascii())]


def has_pairs(folded: str) -> bool:
    """Whether :func:`run_on_terms` finds anything."""
    return not folded.isascii() and _PAIRED.search(folded) is not None


def language(found: Set[str]) -> str:
    """The language of a text by the function words among its words, as the stemmer names it; English where nothing speaks against it."""
    votes: dict[str, int] = {}
    for word in _LANGUAGES_OF.keys() & found:
        for name in _LANGUAGES_OF[word]:
            votes[name] = votes.get(name, 0) + 1
    best = max(votes, key=lambda name: (votes[name], name), default=_DEFAULT)
    return best if votes.get(best, 0) > max(1, votes.get(_DEFAULT, 0)) else _DEFAULT


def term(word: str) -> int:
    """The hash of one folded word as it stands."""
    return crc32(word.encode("utf-8", "surrogatepass"))


def stemmed(distinct: Collection[str], name: str) -> dict[str, int]:
    """The term of each word in a language; identifiers are not stemmed. A stemmer is made for each call: one object must not
    serve two threads."""
    short = [w for w in distinct if len(w) <= _LONGEST_STEMMED and not _UNSTEMMED.search(w)]
    stems: Sequence[str] = Stemmer.Stemmer(name, 0).stemWords(short) if name in _STEMMED else short
    found = {w: term(s) for w, s in zip(short, stems, strict=True)}
    return found | {w: term(w) for w in distinct if w not in found}


def codes(text: str) -> Hashes:
    """Code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def gram_hashes(points: Hashes, size: int) -> Hashes:
    """A hash for the ``size`` code points from each position on; ``len(points) - size + 1`` values."""
    total = max(0, len(points) - size + 1)
    mixed = np.full(total, size * 0x9E3779B1 & 0xFFFFFFFF, dtype=np.uint32)
    for i in range(size):
        mixed = (mixed ^ points[i : i + total]) * np.uint32(0x85EBCA6B)
        mixed ^= mixed >> np.uint32(15)
    return mixed


def grams(texts: Sequence[str], size: int = 4) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """Character grams of each text, side by side, and how many each has; none spans two texts."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    hashes = gram_hashes(codes("".join(texts)), size)
    to_end = np.repeat(np.cumsum(lengths), lengths)[: len(hashes)] - np.arange(len(hashes))
    return hashes[to_end >= size], np.maximum(0, lengths - size + 1)


def run_on_terms(folded: str) -> Hashes:
    """Terms of the parts in scripts without spaces, and of Hangul: each sign, and each pair of neighbours."""
    if not has_pairs(folded):
        return _NONE
    points = codes(folded)
    mask = np.zeros(len(points), dtype=bool)
    for low, high in _PAIRED_RANGES:
        mask |= (points >= low) & (points <= high)
    pairs = gram_hashes(points, 2)[mask[:-1] & mask[1:]]
    return np.concatenate([gram_hashes(points, 1)[mask], pairs])
