"""Ways in which people and programs use conversations, as the requests that a provider would get.

There are pauses, branches, batches, clients that change what they sent before, marks, and agents that share a beginning; all made
from a seed. Conversations that only grow are in ``shapes``.

Each use is a course of requests in the order of their arrival. Half of the questions name something that was said before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from benchmarks.support import document_uses as documents
from benchmarks.support import marked_uses as marked
from benchmarks.support.growing_chats import Chat, Sent
from benchmarks.support.marked_uses import HOUR

_Use = Callable[[str], Iterator[Sent]]


# ---------------------------------------------------------------- pauses


def _lunch(seed: str) -> Iterator[Sent]:
    """Two hours away twice, and minutes now and then."""
    chat = Chat(seed)
    for turn in range(45):
        pause = 2 * HOUR if turn in {15, 30} else 420.0 if turn % 7 == 6 else 30.0
        yield Sent(chat.turn(), pause=pause)


def _next_day(seed: str) -> Iterator[Sent]:
    """Eight turns a day."""
    chat = Chat(seed)
    yield from (Sent(chat.turn(), pause=20 * HOUR if turn and turn % 8 == 0 else 40.0) for turn in range(48))


def _slow(seed: str) -> Iterator[Sent]:
    """A turn every ten minutes, as in a chat beside other work."""
    chat = Chat(seed)
    yield from (Sent(chat.turn(), pause=chat.draw.choice([100.0, 250.0, 600.0, 900.0])) for _ in range(45))


def _agent_next_day(seed: str) -> Iterator[Sent]:
    """An agent's session that is gone on with each morning."""
    chat = Chat(seed, says=(2, 4))
    for turn in range(8):
        chat.ask()
        yield Sent(chat.body(), pause=15 * HOUR if turn % 2 == 0 else 300.0)
        yield from (Sent(chat.step(chat.draw.randint(10, 70)), pause=5.0) for _ in range(6))
        chat.answer()


# ---------------------------------------------------------------- models


def _two_models(seed: str) -> Iterator[Sent]:
    """Turn by turn with one model and its smaller sister."""
    chat = Chat(seed)
    yield from (Sent(chat.turn() | ({"model": "-mini"} if turn % 2 else {})) for turn in range(46))


def _router(seed: str) -> Iterator[Sent]:
    """A router sends one request in three to a smaller model."""
    chat = Chat(seed)
    yield from (Sent(chat.turn() | ({"model": "-mini"} if chat.draw.random() < 1 / 3 else {})) for _ in range(46))


# ---------------------------------------------------------------- branches


def _edits_message_12(seed: str) -> Iterator[Sent]:
    """After forty messages, message 12 is edited, and gone on from."""
    chat = Chat(seed, says=(20, 40))
    yield from (Sent(chat.turn()) for _ in range(20))
    chat = chat.branch(12)
    yield from (Sent(chat.turn()) for _ in range(25))


def _edits_often(seed: str) -> Iterator[Sent]:
    """Every fourth message is edited once, right after its answer."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(34):
        yield Sent(chat.turn())
        if turn % 4 == 3:
            chat = chat.branch(len(chat.messages) - 2)
            yield Sent(chat.turn())


def _two_branches(seed: str) -> Iterator[Sent]:
    chat = Chat(seed, says=(20, 40))
    yield from (Sent(chat.turn()) for _ in range(10))
    other = chat.branch(len(chat.messages))
    for _ in range(16):
        yield Sent(chat.turn())
        yield Sent(other.turn())


def _five_answers(seed: str) -> Iterator[Sent]:
    """Every eighth answer is made five times more."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(32):
        chat.ask()
        yield from (Sent(chat.body()) for _ in range(6 if turn % 8 == 7 else 1))
        chat.answer()


def _end_again(seed: str) -> Iterator[Sent]:
    """A short chat, whose last answer is made six times."""
    chat = Chat(seed, says=(40, 60))
    yield from (Sent(chat.turn()) for _ in range(11))
    chat.ask()
    yield from (Sent(chat.body()) for _ in range(6))


# ---------------------------------------------------------------- batches


def _document_at_once(seed: str) -> Iterator[Sent]:
    """Forty questions about one document, all at once; the document is a message of its own."""
    chat = Chat(seed)
    chat.ask(chat.text(1500))
    chat.answer("I have read it. What would you like to know?")
    bodies = []
    for _ in range(40):
        other = chat.branch(2)
        other.ask()
        bodies.append(other.body())
    yield Sent(bodies[0], beside=tuple(bodies[1:]))


def _document_in_tens(seed: str) -> Iterator[Sent]:
    """Forty questions about one document, ten at a time; each stands behind the document in the one message."""
    chat = Chat(seed)
    text = chat.text(1500)
    for _ in range(4):
        bodies = []
        for _ in range(10):
            other = Chat(f"{seed}/{chat.draw.random()}")
            other.ask(text + "\n\n" + other.text(2))
            bodies.append(other.body())
        yield Sent(bodies[0], beside=tuple(bodies[1:]))


def _document_in_turn(seed: str) -> Iterator[Sent]:
    """Forty questions about one document, one after the other, each in a conversation of its own."""
    chat = Chat(seed)
    chat.ask(chat.text(1500))
    chat.answer("I have read it. What would you like to know?")
    for _ in range(40):
        other = chat.branch(2)
        other.ask()
        yield Sent(other.body())


def _many_samples(seed: str) -> Iterator[Sent]:
    chat = Chat(seed)
    yield from (Sent(chat.turn() | {"n": 5}) for _ in range(42))


def _many_chats(seed: str) -> Iterator[Sent]:
    """Twelve short chats, one after the other, that begin alike."""
    for number in range(12):
        chat = Chat(f"{seed}/{number}", says=(20, 40))
        yield from (Sent(chat.turn()) for _ in range(9))


# ---------------------------------------------------------------- long beginnings


def _imported(seed: str) -> Iterator[Sent]:
    """A conversation of 100,000 tokens comes at once, and is gone on with."""
    chat = Chat(seed, says=(60, 120))
    for _ in range(52):
        chat.ask()
        chat.answer()
    chat.says = (10, 20)
    yield from (Sent(chat.turn()) for _ in range(24))


def _imported_agent(seed: str) -> Iterator[Sent]:
    """An agent's transcript of 60,000 tokens comes at once, and is gone on with."""
    chat = Chat(seed, says=(2, 4))
    for _ in range(6):
        chat.ask()
        for _ in range(8):
            chat.step(60)
        chat.answer()
    for _ in range(3):
        chat.ask()
        yield Sent(chat.body())
        yield from (Sent(chat.step(30), pause=5.0) for _ in range(7))
        chat.answer()


def _imported_and_left(seed: str) -> Iterator[Sent]:
    """The same of 60,000 tokens of talk, with three turns more."""
    chat = Chat(seed, says=(60, 100))
    for _ in range(35):
        chat.ask()
        chat.answer()
    yield from (Sent(chat.turn()) for _ in range(3))


# ---------------------------------------------------------------- clients that change what they sent


def _dated_system(seed: str) -> Iterator[Sent]:
    """The time stands at the end of a long system text."""
    chat = Chat(seed, system="Follow the manual of the harbour desk, which is long. " * 150)
    for turn in range(44):
        chat.ask()
        yield Sent(chat.body(system=f"{chat.system}It is {turn // 60:02}:{turn % 60:02}."))
        chat.answer()


def _dated_first(seed: str) -> Iterator[Sent]:
    """The time stands in front of the first message."""
    chat = Chat(seed)
    for turn in range(44):
        chat.ask()
        first = chat.messages[0] | {"content": f"[now: 2026-11-30T08:{turn:02}] {chat.messages[0]['content']}"}
        yield Sent(chat.body([first, *chat.messages[1:]]))
        chat.answer()


def _context_in_newest(seed: str) -> Iterator[Sent]:
    """What a search found stands in the newest message only."""
    chat = Chat(seed)
    for _ in range(44):
        chat.ask()
        found = "\n\n".join(f"[{n}] {chat.text(14)}" for n in range(5))
        newest = chat.messages[-1] | {"content": f"Context:\n{found}\n\nQuestion: {chat.messages[-1]['content']}"}
        yield Sent(chat.body([*chat.messages[:-1], newest]))
        chat.answer()


def _time_in_newest(seed: str) -> Iterator[Sent]:
    """The time stands in front of the newest message only."""
    chat = Chat(seed)
    for turn in range(46):
        chat.ask()
        newest = chat.messages[-1] | {"content": f"(It is 08:{turn:02}.) {chat.messages[-1]['content']}"}
        yield Sent(chat.body([*chat.messages[:-1], newest]))
        chat.answer()


def _window_of_20(seed: str) -> Iterator[Sent]:
    chat = Chat(seed, says=(25, 50))
    for _ in range(46):
        chat.ask()
        yield Sent(chat.body(chat.messages[-19:]))
        chat.answer()


def _window_of_60(seed: str) -> Iterator[Sent]:
    chat = Chat(seed, says=(15, 30))
    for _ in range(64):
        chat.ask()
        yield Sent(chat.body(chat.messages[-59:]))
        chat.answer()


def _halved(seed: str) -> Iterator[Sent]:
    """The client drops its older half whenever there are sixty messages."""
    chat = Chat(seed, says=(15, 40))
    for _ in range(70):
        chat.ask()
        if len(chat.messages) > 60:
            chat.messages = chat.messages[30:]
        yield Sent(chat.body())
        chat.answer()


def _summarised(seed: str) -> Iterator[Sent]:
    """The client writes a summary into the system text every fifteen turns, and drops what it stands for."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(60):
        if turn and turn % 15 == 0:
            chat.system = f"You are the clerk of a harbour. What was said so far: {chat.text(25)}"
            chat.messages = chat.messages[-8:]
        yield Sent(chat.turn())


def _memories(seed: str) -> Iterator[Sent]:
    """What is remembered of the user stands behind the system text, and changes every fifth turn."""
    chat = Chat(seed)
    known = chat.text(10)
    for turn in range(46):
        if turn % 5 == 4:
            known = f"{known} {chat.text(1)}"
        chat.ask()
        yield Sent(chat.body([{"role": "system", "content": f"Memories: {known}"}, *chat.messages]))
        chat.answer()


def _reminded(seed: str) -> Iterator[Sent]:
    """A reminder always stands in front of the newest message."""
    chat = Chat(seed)
    for _ in range(46):
        chat.ask()
        reminder = {"role": "system", "content": "Keep to the manual. Answer in one paragraph. Never promise a berth."}
        yield Sent(chat.body([*chat.messages[:-1], reminder, chat.messages[-1]]))
        chat.answer()


def _inserted(seed: str) -> Iterator[Sent]:
    """Notes of somebody else come in between, where their time is: some messages back."""
    chat = Chat(seed)
    for turn in range(44):
        if turn % 6 == 5:
            place = len(chat.messages) - 4
            note = {"role": "user", "content": f"(note) {chat.text(3)}"}
            chat.messages[place:place] = [note, {"role": "assistant", "content": "Noted."}]
        yield Sent(chat.turn())


# ---------------------------------------------------------------- agents that share a beginning


_MANUAL: Final = "Read before you write. Keep to the style of the file. " * 350


def _sub_agents(seed: str) -> Iterator[Sent]:
    """Five agents with one system text, step by step in turn."""
    chats = [Chat(f"{seed}/{n}", says=(2, 4), system=_MANUAL) for n in range(5)]
    for chat in chats:
        chat.ask(chat.text(6))
    for _ in range(14):
        for chat in chats:
            yield Sent(chat.step(chat.draw.randint(10, 50)), pause=4.0)


def _forks(seed: str) -> Iterator[Sent]:
    """A conversation hands itself to five agents, each with a task of its own."""
    chat = Chat(seed, says=(20, 40))
    yield from (Sent(chat.turn()) for _ in range(24))
    agents = [chat.branch(len(chat.messages)) for _ in range(5)]
    for agent in agents:
        agent.ask(agent.text(3))
        yield Sent(agent.body(), pause=3.0)
    for _ in range(6):
        for agent in agents:
            yield Sent(agent.step(25), pause=3.0)
    yield from (Sent(chat.turn()) for _ in range(6))


# ---------------------------------------------------------------- lengths, and what is asked


def _long_answers(seed: str) -> Iterator[Sent]:
    chat = Chat(seed, says=(90, 160))
    yield from (Sent(chat.turn()) for _ in range(26))


def _long_questions(seed: str) -> Iterator[Sent]:
    chat = Chat(seed, says=(1, 3), asks=(60, 120))
    yield from (Sent(chat.turn()) for _ in range(26))


def _all_entries(seed: str) -> Iterator[Sent]:
    """Expenses, and after each of them the question for the total."""
    chat, goods = Chat(seed), ("coffee", "bread", "train", "lunch", "books", "paint", "stamps", "cinema")
    for turn in range(170):
        amount = f"{chat.draw.randint(2, 90)}.{chat.draw.randint(10, 99)}"
        chat.ask(f"{chat.draw.choice(goods).capitalize()} {amount}. What is my total so far?")
        yield Sent(chat.body())
        chat.answer(f"Logged entry {turn + 1}. Your total so far is {chat.draw.randint(100, 9999)}.{chat.draw.randint(10, 99)}.")


def _list_at_times(seed: str) -> Iterator[Sent]:
    """Things for a list, which every third message wants to see."""
    chat, goods = Chat(seed), ("rope", "lamps", "salt", "nets", "tar", "nails", "sailcloth", "buckets")
    for turn in range(210):
        thing = f"{chat.draw.randint(2, 90)} {chat.draw.choice(goods)}"
        chat.ask("Show me everything on my list." if turn % 3 == 2 else f"Add {thing} no. {turn}.")
        yield Sent(chat.body())
        chat.answer(chat.text(6) if turn % 3 == 2 else "Added.")


def _faulty(seed: str) -> Iterator[Sent]:
    """Errors that are tried again, streams that are left, and long pauses."""
    chat = Chat(seed)
    for turn in range(48):
        body = chat.turn()
        if turn % 5 == 2:
            yield Sent(body, does="fails", pause=2.0)
        yield Sent(body, does="left" if turn % 4 == 3 else "", pause=700.0 if turn % 9 == 8 else 15.0)


#: Uses by name, in two halves: the second one was not looked at while the first was worked on.
WORKED_ON: Final[Mapping[str, _Use]] = {
    "lunch": _lunch,
    "a turn every ten minutes": _slow,
    "two models in turn": _two_models,
    "message 12 edited": _edits_message_12,
    "five answers more": _five_answers,
    "two branches in turn": _two_branches,
    "document, all at once": _document_at_once,
    "document, in turn": _document_in_turn,
    "five samples": _many_samples,
    "agent's transcript imported": _imported_agent,
    "context in the newest message": _context_in_newest,
    "time in front of the first message": _dated_first,
    "window of 20 messages": _window_of_20,
    "halved by the client": _halved,
    "memories that change": _memories,
    "reasoning dropped by the client": marked.reasoning_dropped,
    "five agents": _sub_agents,
    "one mark": marked.one_mark,
    "a fixed mark": marked.fixed_mark,
    "marks for an hour": marked.hour_marks,
    "two chats under a key": marked.keyed,
    "own breakpoints": marked.own_breakpoints,
    "long answers": _long_answers,
    "total after each entry": _all_entries,
    "document, marked": documents.document_marked,
    "document, gateway's marks": documents.document_marked_twice,
    "document, a key for each user": documents.document_by_user,
    "answers made again, marked": documents.regenerated_marked,
    "three branches, marked": documents.branches_marked,
    "four agents at once, marked": documents.agents_beside,
    "exchanges dropped in the middle": documents.dropped_in_the_middle,
}
HELD_OUT: Final[Mapping[str, _Use]] = {
    "next day": _next_day,
    "agent, next day": _agent_next_day,
    "router": _router,
    "edits often": _edits_often,
    "the end made again": _end_again,
    "document, in tens": _document_in_tens,
    "many short chats": _many_chats,
    "conversation imported": _imported,
    "imported and left": _imported_and_left,
    "time in the system text": _dated_system,
    "time in the newest message": _time_in_newest,
    "window of 60 messages": _window_of_60,
    "summarised by the client": _summarised,
    "reminder that moves": _reminded,
    "notes inserted": _inserted,
    "reasoning dropped, talk": marked.reasoning_dropped_in_chat,
    "thinking dropped": marked.thinking_dropped,
    "forks": _forks,
    "four marks": marked.four_marks,
    "a mark that seldom moves": marked.rare_marks,
    "no marks": marked.no_marks,
    "a key for each day": marked.rekeyed,
    "long questions": _long_questions,
    "list at times": _list_at_times,
    "faults": _faulty,
    "document, own breakpoint": documents.document_breakpoint,
    "document, marked for an hour": documents.document_for_an_hour,
    "document, marked by the provider": documents.document_marked_by_itself,
    "two documents, marked": documents.two_documents,
    "edits, marked": documents.edited_marked,
    "time in the system text, marked": documents.clock_marked,
    "tools that change": documents.tools_change,
    "forks at once, marked": documents.forks_beside,
    "over the price step": documents.over_the_step,
}
USES: Final[Mapping[str, _Use]] = {**WORKED_ON, **HELD_OUT}

_ON_CHAT: Final = (
    "none",
    "gpt-4o",
    "gpt-4.1",
    "gpt-5",
    "gpt-5.6",
    "claude",
    "claude, 1 h",
    "haiku",
    "gemini",
    "deepseek",
    "unlisted",
)


def columns_of(name: str) -> tuple[str, ...]:
    """The price columns whose clients use conversations so."""
    if "own breakpoint" in name:
        return ("gpt-5.6",)
    if "gateway" in name:
        return ("claude", "claude, 1 h", "haiku")
    if "key" in name:
        return ("gpt-4o", "gpt-4.1", "gpt-5", "gpt-5.6")
    wire = next(USES[name]("")).wire
    return {"chat": _ON_CHAT, "messages": ("claude", "claude, 1 h", "haiku"), "responses": ("gpt-4o", "gpt-5", "gpt-5.6")}[wire]
