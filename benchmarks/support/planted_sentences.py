"""Sentences for made-up conversations: facts with their needles, small talk, answers.

Lives here: two sets of them, of which the second was never looked at while anything was tuned. Does not belong here: conversations.

``<code>``, ``<n>`` and ``<big>`` stand for a code, a small and a large number, drawn anew each time.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sentences:
    """Facts with the part by which each is found again, what users say else, and what an assistant answers."""

    facts: tuple[tuple[str, str], ...]
    talk: tuple[str, ...]
    answers: tuple[str, ...]


TUNED = Sentences(
    facts=(
        ("My name is Priya Raman and I run the night shift.", "Priya Raman"),
        ("My order number is <code>.", "<code>"),
        ("I am allergic to peanuts.", "peanuts"),
        ("Our budget for the whole thing is €<big>.", "€<big>"),
        ("The deadline is 14 March, no exceptions.", "14 March"),
        ("We deploy to the Frankfurt region only.", "Frankfurt"),
        ("i'm vegetarian btw, so no fish sauce", "vegetarian"),
        ("btw our db is postgres <n>, can't upgrade it this year", "postgres <n>"),
        ("The customer's account is <code> in case you need it.", "<code>"),
        ("My daughter Lena has diabetes, so sugar is out.", "diabetes"),
        ("I use a wheelchair, so stairs are a problem.", "wheelchair"),
        ("The report must not be longer than <n> pages.", "<n> pages"),
        ("You can reach me at priya.raman@harbourmail.example.", "priya.raman@"),
        ("The staging server listens on port 8<n>3.", "8<n>3"),
        ("We have <n> engineers on the team, all in Lisbon.", "Lisbon"),
        ("I prefer tabs over spaces, always have.", "tabs"),
        ("Ich bin gegen Penicillin allergisch.", "Penicillin"),
        ("Meine Kundennummer lautet <code>.", "<code>"),
        ("Notre budget est de <big> euros maximum.", "<big>"),
        ("Je travaille dans une clinique à Grenoble.", "Grenoble"),
        ("Mi número de reserva es <code>.", "<code>"),
        ("Vivo en Valparaíso con mis dos hijos.", "Valparaíso"),
        ("Il mio codice cliente è <code>.", "<code>"),
        ("Meu voo sai às <n>h do terminal 2.", "<n>h"),
        ("我对花生过敏。", "花生"),
        ("我的订单号是<code>。", "<code>"),
        ("私は大阪で小さな書店を経営しています。", "大阪"),
        ("У меня аллергия на орехи.", "орехи"),
        ("Срок сдачи проекта 15 мая.", "15 мая"),
        ("Mieszkam w Gdańsku i pracuję zdalnie.", "Gdańsku"),
        ("Remember that the API key rotates every <n> days.", "<n> days"),
        ("Our company is called Brightwater Logistics.", "Brightwater"),
        ("The app has to work offline, that is not negotiable.", "offline"),
        ("I live in Tromsø, so time zones matter.", "Tromsø"),
        ("For the record, the invoice is <code> and it is unpaid.", "<code>"),
        ("My wedding anniversary is on 9 October.", "9 October"),
        ("Flights longer than <n> hours are not an option for us.", "<n> hours"),
        ("We can only use libraries with an MIT licence.", "MIT licence"),
        ("I have two cats, Mochi and Biscuit.", "Mochi"),
        ("Call me Jo, nobody uses Josephine.", "Jo,"),
        ("The house was built in 19<n> and has no insulation.", "19<n>"),
        ("my manager is Okonkwo, she signs off everything over 500", "Okonkwo"),
    ),
    talk=(
        "How was your day so far?", "The weather is lovely today, isn't it?", "I went for a walk this morning.", "Haha, that's funny.",
        "Thanks, that helps a lot!", "I had pasta for lunch and it was fine.", "What do you think about old films?",
        "We talked about this and that over coffee.", "Nothing much is going on here.", "It has been raining since the morning.",
        "I watched a match last night.", "Can you tell me something interesting?", "That sounds nice.", "Ok, let's go on.",
        "I am a bit tired today.", "My neighbour was mowing the lawn again.", "Do you know a good joke?", "I should sleep more.",
        "The train was late again.", "Interesting, I never thought about it that way.", "What else could one do on a Sunday?",
        "I read a few pages of a book.", "Let me think about it for a moment.", "The soup turned out quite well.",
        "It is getting dark early now.", "Was für ein schöner Tag.", "Il fait beau aujourd'hui.", "Hoy hace mucho calor.", "今天天气不错。",
        "Yesterday Tom and I saw Casablanca at the Odeon.", "The bus took <n> minutes today.", "I bought <n> apples at the market.",
        "My cousin Bert told a long story about Paris last night.", "We won 3 to 1 on Saturday.", "Is it true that Mars has two moons?",
        "I was at the dentist at half past <n>.", "Have you ever heard of Loch Ness?",
        "Anyway, where were we?", "I guess that makes sense.", "We spoke about the garden for <n> minutes.",
    ),
    answers=(
        "That sounds like a pleasant way to spend the time.", "Of course, I am happy to help with that whenever you like.",
        "There are several ways to look at it, and each has its charm.", "A short walk can do wonders for the mood, many people find.",
        "Old films have a particular rhythm that many viewers enjoy, especially the ones with long quiet scenes.",
        "Here is one: why did the scarecrow win a prize? Because he was outstanding in his field.",
        "In general it helps to keep a regular schedule and to avoid screens late at night.",
        "You could visit a museum, bake a cake, or simply read on the sofa for a while.",
        "Rain in the morning often clears up by noon, at least in many places.", "I see what you mean.", "Good question!",
        "It depends on what you are looking for, but a simple approach is often the best one.", "Glad to hear it.",
        "Mars has two small moons, Phobos and Deimos, which were found in 1877.", "Loch Ness is about 230 metres deep and holds more water "
        "than all lakes of England and Wales together.", "Casablanca was made in 1942 with Humphrey Bogart and Ingrid Bergman.",
        "You must never wake a sleepwalker, people say, but there is no harm in it.",
        "Soup is a good choice in this season because it is warm and quick to make.", "Noted.", "Let me know how it goes.",
    ),
)

HELD_OUT = Sentences(
    facts=(
        ("Folks at work know me as Tobias Lindqvist.", "Lindqvist"),
        ("Put everything under case <code>, please.", "<code>"),
        ("Shellfish could kill me, literally.", "Shellfish"),
        ("We've got $<big> to spend and not a cent more.", "$<big>"),
        ("Everything has to be handed in by the 3rd of November.", "3rd of November"),
        ("The cluster sits in Singapore and has to stay there for legal reasons.", "Singapore"),
        ("gluten free household here fyi", "gluten free"),
        ("we're stuck on java <n> until the merger closes", "java <n>"),
        ("The patient file is <code>.", "<code>"),
        ("My grandfather turns <n> in June.", "turns <n>"),
        ("I'm colour-blind, red and green look alike to me.", "colour-blind"),
        ("No slide may have more than <n> words on it.", "<n> words"),
        ("Ring me on 0171 555 0<n>, mornings only.", "555 0<n>"),
        ("Production runs behind nginx on 10.4.<n>.8.", "10.4.<n>.8"),
        ("There are <n> of us in the choir, mostly altos.", "altos"),
        ("I can't stand dark mode.", "dark mode"),
        ("Ich sitze im Rollstuhl und brauche einen Aufzug.", "Aufzug"),
        ("Das Aktenzeichen ist <code>.", "<code>"),
        ("On ne peut pas dépasser <n> mètres carrés.", "<n> mètres"),
        ("Ma femme est sourde, donc pas d'appels téléphoniques.", "sourde"),
        ("El paquete lleva el código <code>.", "<code>"),
        ("Mi hermana es celíaca.", "celíaca"),
        ("La scadenza è il 30 aprile.", "30 aprile"),
        ("Tenho medo de avião, prefiro viajar de trem.", "avião"),
        ("我们的预算不能超过<big>元。", "<big>"),
        ("我住在成都，家里有一只狗。", "成都"),
        ("締め切りは12月<n>日です。", "12月<n>日"),
        ("Меня зовут Аркадий, я врач.", "Аркадий"),
        ("Nasza firma używa wyłącznie Debiana.", "Debiana"),
        ("Wij wonen op de derde verdieping zonder lift.", "zonder lift"),
        ("Backups older than <n> weeks get deleted by law.", "<n> weeks"),
        ("The charity goes by Second Harvest Kitchens.", "Second Harvest"),
        ("Whatever we pick must run on a Raspberry Pi.", "Raspberry Pi"),
        ("I'm based in Ulaanbaatar these days.", "Ulaanbaatar"),
        ("Tracking says <code>, if that is of any use.", "<code>"),
        ("Our twins were born on 22 February.", "22 February"),
        ("Nothing with lactose, my stomach can't take it.", "lactose"),
        ("Legal only approves vendors with ISO 27001.", "ISO 27001"),
        ("The dog's called Waffles and comes along everywhere.", "Waffles"),
        ("I'd rather be addressed as Dr. Achterberg.", "Achterberg"),
        ("The flat is <n> square metres and faces north.", "<n> square metres"),
        ("hannah from accounting has the final word on spending", "hannah"),
    ),
    talk=(
        "Did you sleep well, if you sleep at all?", "Gosh, it's freezing outside.", "I burnt my toast again.", "Lol, good one.",
        "Cheers, much appreciated.", "Mondays, right?", "Have you got an opinion on jazz?", "We sat by the lake for ages.",
        "Same old, same old.", "My phone keeps buzzing.", "There was a parade in town.", "Surprise me with a fun fact.", "Fair enough.",
        "Moving on then.", "I could do with a holiday.", "The kids next door are loud.", "What's a good riddle?", "I keep yawning.",
        "Traffic was dreadful.", "Huh, I had no idea.", "Any ideas for a rainy afternoon?", "I tried knitting once.", "Hmm, hold on.",
        "Uncle Ray rang on Tuesday and talked about Vienna for <n> minutes.", "Arsenal drew 2 all.", "Does Neptune have rings?",
        "I paid <n> cents for a banana.", "Last week Carla and I queued for the Louvre.", "Ever been to Timbuktu?",
        "There were <n> pigeons on the roof this morning.", "Dave snored through all of Tosca.",
        "The cake collapsed in the oven.", "Summer went by so quickly.", "Mir ist gerade langweilig.", "Quel temps de chien !",
        "Qué risa me dio eso.", "今天有点累。", "So, as I was saying.", "You're probably right.", "I queued for <n> minutes at the bakery.",
    ),
    answers=(
        "I don't sleep, but thank you for asking.", "A warm drink and a thick jumper usually do the trick on days like that.",
        "Jazz rewards patience: the longer you listen, the more conversations between the instruments you notice.",
        "Octopuses have three hearts, and two of them stop when they swim.", "Toast is less forgiving than it looks.",
        "What gets wetter the more it dries? A towel.", "Holidays are worth planning early, when there is still a choice.",
        "Board games, a long bath, or sorting photographs are all popular on rainy afternoons.", "Understood.", "Happy to hear that.",
        "Cakes often collapse when the oven door is opened too soon, or when there is too much raising agent.", "Take your time.",
        "People disagree about it, and both sides have a point.", "Quite so.",
        "Neptune has five main rings, named after Galle, Le Verrier, Lassell, Arago and Adams.", "The Louvre opened in 1793 and shows "
        "about 35,000 objects.", "Tosca was first played in Rome on 14 January 1900.", "Timbuktu lies 20 km north of the Niger.", "Knitting takes a while to get used to.",
        "Earplugs or a friendly word with the neighbours may help.",
    ),
)
