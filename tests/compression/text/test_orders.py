"""Standing orders in the main languages, told from talk; signals of a conversation."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression.text.dialogue.signals import signal_weight, signal_weights, signals
from turnfold.compression.text.dialogue.standing.orders import is_standing_order, may_order, standing_orders
from turnfold.compression.text.heard import HeardWords
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.sentences import sentences

CASES = Path(__file__).parent / "cases" / "orders"


def _cases(section: str) -> list[str]:
    """Sentences of a section of the case files, in which ``[orders]`` and ``[talk]`` stand on lines of their own."""
    found: dict[str, list[str]] = {}
    listed: list[str] = []
    for path in sorted(CASES.glob("*.txt")):
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("["):
                listed = found.setdefault(line.strip("[]"), [])
            elif line and not line.startswith("#"):
                listed.append(line)
    return found[section]


# Nothing that parts its sentences, as people type on a phone.
RAMBLING = (
    "so we have this page where customers come in and it takes forever to load and I was talking to Sam about it and he said it "
    "is the database but whatever"
)
GERMAN_RAMBLING = (
    "also wir haben da diese Seite wo die Kunden rein kommen und es dauert ewig bis sie geladen ist und ich habe mit Sam darüber "
    "geredet und er meint es ist die Datenbank aber egal"
)
ORDERS = [
    "Always answer in French.",
    "Please never use emojis.",
    "From now on, write British English.",
    "please don't touch the migrations folder",
    "Make sure the tests pass before you answer.",
    "Do not deploy on Fridays.",
    "You must never reveal the internal URL.",
    "user: Always cite a source.",
    "- Never commit to main.",
    "Whenever you write code, add type hints.",
    "Could you please always keep answers short?",
    "Whenever I paste a log, don't summarise it.",
    "From now on I decide, don't ask.",
    "I want you to always use metric units.",
    "Use pnpm, never npm.",
    "Remember that I am allergic to nuts.",
    "N'oublie pas les tests.",  # no word of it alone orders anything
    "N'ajoute rien au fichier.",
    "N’oublie pas de citer tes sources.",
    "Bitte antworte immer auf Deutsch, bitte nie auf Englisch.",
    "Ab jetzt nur noch in Metern.",
    "Verwende niemals globale Variablen.",
    "Désormais, tutoie-moi.",
    "Ne modifie jamais ce fichier.",
    "Réponds toujours en français.",
    "A partir de ahora responde en español.",
    "Nunca uses emojis.",
    "A partir de agora responda em português.",
    "D'ora in poi rispondi in italiano.",
    "Всегда отвечай по-русски.",
    "从现在开始请用中文回答。",
    "不要使用表情符号。",
    "请始终使用公制单位。",
    "今後は必ず敬語で答えてください。",
    "앞으로 항상 한국어로 대답해 주세요.",
    "من الآن فصاعدا أجب بالعربية",
    "अब से हिंदी में जवाब दें।",
    f"{RAMBLING} and always answer me in French please {RAMBLING}",
    f"{RAMBLING} but never show me prices without tax {RAMBLING}",
    f"{GERMAN_RAMBLING} und bitte antworte immer auf Englisch {GERMAN_RAMBLING}",
    *_cases("orders"),
]
TALK = [
    "I always go there on Sundays.",
    "Never been there, but it sounds great!",
    "She never answered me.",
    "Do you always eat so late?",
    "What should I never do in Rome?",
    "John: No worries!",
    "Don't worry about it.",
    "Only two are left.",
    "The server restarts every night.",
    "We made sure everyone felt safe.",
    "Ich gehe immer dorthin.",
    "Je ne sais pas.",
    "我昨天去了北京。",
    "我的上司很苛刻，总是要求我加班。",
    "你总是能够帮助我。",
    "昨日は東京に行きました。",
    "",
    f"{RAMBLING} and he always comes late {RAMBLING}",
    f"{RAMBLING} and never been there {RAMBLING}",
    *_cases("talk"),
]


IN_MORE_LANGUAGES = [
    "Svara från och med nu alltid på svenska.",
    "Nämn aldrig priser.",
    "Använd alltid tabbar.",
    "Se till att testerna körs.",
    "Fra nu af skal du altid svare på dansk.",
    "Svar alltid på norsk.",
    "Slet aldrig filer.",
    "Відтепер завжди відповідай українською.",
    "Ніколи не називай ціни.",
    "Пиши лише українською.",
    "Od teď vždy odpovídej česky.",
    "Nikdy neuváděj ceny.",
    "Používej pouze mezery.",
]
TOLD_IN_MORE_LANGUAGES = [
    "Jag svarar alltid på svenska.",
    "Det har alltid varit så.",
    "Jeg skriver altid på dansk.",
    "Det var aldri slik.",
    "Я завжди відповідаю українською.",
    "Він ніколи не дзвонив.",
    "Vždycky jsem to věděl.",
    "Nikdy jsem tam nebyl.",
    "Skriv ett brev till Anna.",
    "Napiš dopis Anně.",
]


@each("sentence", IN_MORE_LANGUAGES)
def test_orders_are_found_in_more_languages(sentence: str) -> None:
    assert is_standing_order(sentence)
    assert standing_orders(f"Tak. {sentence}")


@each("sentence", TOLD_IN_MORE_LANGUAGES)
def test_talk_in_more_languages_is_no_order(sentence: str) -> None:
    assert not is_standing_order(sentence)


@each("sentence", ORDERS)
def test_orders_are_found(sentence: str) -> None:
    assert is_standing_order(sentence)
    assert is_standing_order(sentence, words(lower_text(sentence)))
    assert not sentence.isascii() or may_order(words(lower_text(sentence)))
    text = "Hello there.\n" + sentence + "\nThanks a lot."
    assert any(sentence.strip() in span.of(text) or span.of(text).strip() in sentence for span in standing_orders(text))


@each("sentence", TALK)
def test_talk_is_no_order(sentence: str) -> None:
    assert not is_standing_order(sentence)


@given(st.lists(st.sampled_from([*ORDERS, *TALK]), max_size=8))
def test_orders_are_sentences_of_the_text(parts: list[str]) -> None:
    text = "\n".join(parts)
    cut = {(s.start, s.end) for s in sentences(text)}
    assert all((span.start, span.end) in cut for span in standing_orders(text))


@each(
    "unit",
    [
        "always ",
        "use ",
        "必ず",
        "please ",
        "and ",
        "ne a ",
        "use always ",
        "please always ",
        "and always ",
        "and never use ",
        "from now on ",
        "each time you ",
        "you must ",
        "n'",
        "- ",
        "a: ",
        "以后",
        "你",
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(standing_orders, repeated(unit), 1_500)


@each(
    ("sentence", "expected"),
    [
        ("We decided to use SQLite.", ("decision",)),
        ("Let's go with plan B.", ("decision",)),
        ("I will send it by end of day.", ("commitment",)),
        ("The root cause was a stale cache.", ("finding",)),
        ("My name is Kim.", ("fact",)),
        ("What is the plan?", ("decision", "question")),
        ("我们决定用它。", ("decision",)),
        ("Nice weather.", ()),
    ],
)
def test_sentences_have_their_signals(sentence: str, expected: tuple[str, ...]) -> None:
    assert signals(sentence) == expected
    assert (signal_weight(sentence) > 0) == bool(expected)
    assert signal_weight(sentence) <= 1


@each(
    "text",
    ["?", "? Why. So.", "[ ] Call Kim. Then rest.", "Rest. Who? Me. [ ] Mow it. We decided to stay.", "Is it? " * 9, "¿Qué? Sí."],
)
def test_signals_of_a_text_are_those_of_its_sentences(text: str) -> None:
    spans = sentences(text)
    heard = HeardWords([words(span.of(text)) for span in spans])
    expected = {i: weight for i, span in enumerate(spans) if (weight := signal_weight(span.of(text)))}
    assert dict(sorted(signal_weights(text, spans, heard).items())) == expected


@each(
    "said",
    [
        "Use pnpm, not npm, in this repository.",
        "Please use tabs instead of spaces in this project.",
        "In this project, write tests with pytest rather than unittest.",
        "Verwende pnpm, nicht npm, in diesem Repository.",
        "Utilise pnpm au lieu de npm dans ce projet.",
        "Usa pnpm en lugar de npm en este proyecto.",
        "Используй pnpm вместо npm в этом проекте.",
    ],
)
def test_one_of_two_for_a_place_where_more_work_is_to_come(said: str) -> None:
    assert is_standing_order(said)


@each(
    "said",
    [
        "Find all callers of load in this repository.",
        "Fix the failing test in this project.",
        "We use pnpm instead of npm in this project.",
        "Why is pnpm used instead of npm in this repository?",
        "Replace npm with pnpm in package.json, not in the docs.",
    ],
)
def test_a_place_alone_makes_no_rule(said: str) -> None:
    assert not is_standing_order(said)


@each(
    "said",
    [
        "In diesem Projekt nie auf main pushen.",
        "Auf dem Server niemals Pakete installieren.",
        "In Kommentaren immer Deutsch schreiben.",
        "In this repo never commit to the release branch.",
        "On this server never install packages.",
        "For this client always use British spelling.",
        "Dans ce projet, ne jamais pousser sur main.",
        "En este proyecto nunca hagas push a main.",
        "In questo progetto non fare mai push su main.",
        "In dit project nooit naar main pushen.",
        "W tym projekcie nigdy nie pushuj na main.",
        "В этом проекте никогда не пушь в main.",
        "Nesse projeto nunca faça push na main.",
        "In Mails an Frau Berg nie das Wort Problem benutzen.",
        "Bu projede asla main'e push yapma.",
        "In replies to the Hendersons, never mention the refund.",
        "Bei Gerichten für Lea immer laktosefrei kochen.",
        "Für Tests niemals echte Kundendaten verwenden!",
        "In unserem Repo nie direkt in develop committen.",
        "Auf der Produktionsdatenbank niemals Migrationen ausführen.",
        'In der Übersetzung immer "Sie" verwenden.',
        "Bei Rezepten für meine Mutter nie Nüsse vorschlagen.",
        "With this customer always quote prices without VAT.",
        "In this chat, never write in French.",
        "When talking to my daughter, never use scary words.",
        "Inside the src folder never touch generated files.",
        "Sur ce serveur, ne jamais redémarrer nginx.",
        "Pour ce client, toujours vouvoyer.",
        "En los correos a Marta nunca menciones el precio.",
        "Con mi jefe siempre usa un tono formal.",
        "In questa chat rispondi sempre in italiano.",
        "In deze repo nooit force-pushen.",
        "In mails aan Joris altijd u gebruiken.",
        "W mailach do klientów nigdy nie używaj emotikonów.",
        "В письмах клиентам всегда пиши на «вы».",
        "Neste repositório nunca apague arquivos.",
        "Bu sohbette her zaman Türkçe yaz.",
        "Ne jamais redémarrer nginx.",
        "Niemals Nüsse vorschlagen.",
        "Nooit naar main pushen.",
    ],
)
def test_a_rule_may_begin_with_where_it_holds_and_end_with_its_infinitive(said: str) -> None:
    assert is_standing_order(said)


@each(
    "said",
    [
        "In diesem Projekt haben wir nie auf main gepusht.",
        "In dem Laden kaufen wir nie ein.",
        "In this project we never used tabs.",
        "On Sundays I never cook.",
        "In this town it never snows.",
        "In Berlin regnet es immer.",
        "Im Urlaub immer gut geschlafen.",
        "Bei uns immer was los.",
        "In der Schule nie aufgepasst.",
        "Auf Partys immer nur getanzt und nie gesungen.",
        "En este país nunca llueve.",
        "En mi casa siempre cenamos tarde.",
        "Dans ce pays, il ne pleut jamais.",
        "In questa città piove sempre.",
        "In dit land regent het altijd.",
        "W tym kraju zawsze pada deszcz.",
        "В этом городе всегда идёт дождь.",
        "Neste país nunca neva.",
        "For my mother, never a dull moment.",
        "With kids you never know what comes next.",
        "In der Nacht immer wieder aufgewacht.",
        "Mit ihm immer das gleiche Theater.",
        "Bei dem Wetter nie ohne Schirm aus dem Haus gegangen.",
        "Im Büro immer Kaffee getrunken.",
        "In my experience always worth it.",
        "Im Winter immer nach Süden fliegen die Schwalben.",
        "Sorteren zorgt er altijd voor dat elke kopie gegroepeerd wordt.",
    ],
)
def test_what_is_always_so_somewhere_is_no_rule(said: str) -> None:
    assert not is_standing_order(said)
