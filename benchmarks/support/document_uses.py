"""Ways in which clients ask about what lies in front: documents with marks and keys, edited histories, agents side by side.

They are courses of requests that begin alike and part again, of a client that says what is to be cached, or that rewrites what it
sent. Plain chats are in ``uses``, marks on a chat that only grows in ``marked_uses``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.support.growing_chats import Chat, Item, Sent

_MINUTES: Final[Item] = {"cache_control": {"type": "ephemeral"}}
_HOUR: Final[Item] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_BREAKPOINT: Final[Item] = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def _part(text: str, mark: Item | None = None) -> Item:
    return {"type": "text", "text": text} | (mark or {})


def _messages(messages: list[Item], system: str = "Follow the manual of the harbour desk.", **more: object) -> dict[str, object]:
    return {"max_tokens": 900, "system": [_part(system)], "messages": messages, **more}


# ---------------------------------------------------------------- one document, many questions


def document_marked(seed: str) -> Iterator[Sent]:
    """Forty questions in turn; the document is a block of its own, and marked."""
    chat = Chat(seed)
    document = _part(chat.text(1500), _MINUTES)
    yield from (Sent(_messages([{"role": "user", "content": [document, _part(chat.text(2))]}]), "messages") for _ in range(40))


def document_marked_twice(seed: str) -> Iterator[Sent]:
    """Through a gateway that takes marks on parts: the document is marked, and each question; some ask on."""
    chat = Chat(seed)
    first: list[Item] = [
        {"role": "user", "content": [_part(chat.text(1200), _MINUTES)]},
        {"role": "assistant", "content": "I have read it."},
    ]
    for _ in range(16):
        asked = [*first, {"role": "user", "content": [_part(chat.text(2), _MINUTES)]}]
        yield Sent({"messages": asked})
        if chat.draw.random() < 0.5:
            asked[-1] = {"role": "user", "content": asked[-1]["content"][0]["text"]}
            said = {"role": "assistant", "content": chat.text(8)}
            asked += [said, {"role": "user", "content": [_part(chat.text(2), _MINUTES)]}]
            yield Sent({"messages": asked})


def document_breakpoint(seed: str) -> Iterator[Sent]:
    """The client's own breakpoint behind the document."""
    chat = Chat(seed)
    document = _part(chat.text(1500), _BREAKPOINT)
    yield from (Sent(chat.body([{"role": "user", "content": [document, _part(chat.text(2))]}])) for _ in range(40))


def document_for_an_hour(seed: str) -> Iterator[Sent]:
    """The document is marked for an hour, the end for minutes; ten to forty minutes between the questions."""
    chat = Chat(seed)
    front = [
        {"role": "user", "content": [_part(chat.text(1200), _HOUR)]},
        {"role": "assistant", "content": [_part("I have read it.")]},
    ]
    for _ in range(36):
        asked = [*front, {"role": "user", "content": [_part(chat.text(2), _MINUTES)]}]
        yield Sent(_messages(asked), "messages", pause=chat.draw.choice([600.0, 1200.0, 2400.0]))


def document_marked_by_itself(seed: str) -> Iterator[Sent]:
    """The mark is left to the provider, which sets it at the end; every third question is asked on."""
    chat = Chat(seed)
    for turn in range(30):
        asked = [{"role": "user", "content": f"{_document(seed)}\n\n{chat.text(2)}"}]
        yield Sent(_messages(asked, cache_control={"type": "ephemeral"}), "messages")
        if turn % 3 == 2:
            asked += [{"role": "assistant", "content": chat.text(8)}, {"role": "user", "content": chat.text(2)}]
            yield Sent(_messages(asked, cache_control={"type": "ephemeral"}), "messages")


def _document(seed: str) -> str:
    return Chat(f"{seed}/document").text(1200)


def document_by_user(seed: str) -> Iterator[Sent]:
    """Five users with a `prompt_cache_key` each ask about one document."""
    chat = Chat(seed)
    chat.ask(chat.text(1500))
    chat.answer("I have read it.")
    for turn in range(40):
        other = chat.branch(2)
        other.ask()
        yield Sent(other.body(prompt_cache_key=f"user {turn % 5}"))


def two_documents(seed: str) -> Iterator[Sent]:
    """Two documents behind one manual; the manual and each document are marked."""
    chat = Chat(seed)
    manual = chat.text(500)
    documents = [chat.text(900) for _ in range(2)]
    for turn in range(40):
        parts = [_part(manual, _MINUTES), _part(documents[turn // 4 % 2], _MINUTES), _part(chat.text(2))]
        yield Sent(_messages([{"role": "user", "content": parts}]), "messages")


# ---------------------------------------------------------------- marked histories that part


def _marked_chat(chat: Chat, count: int = 2) -> dict[str, object]:
    """With marks on the newest messages of the user."""
    users = [i for i, one in enumerate(chat.messages) if one["role"] == "user"][-count:]
    sent = [one | {"content": [_part(one["content"], _MINUTES)]} if i in users else one for i, one in enumerate(chat.messages)]
    return _messages(sent)


def regenerated_marked(seed: str) -> Iterator[Sent]:
    """Every fourth answer is made three times more."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(34):
        chat.ask()
        yield from (Sent(_marked_chat(chat), "messages") for _ in range(4 if turn % 4 == 3 else 1))
        chat.answer()


def edited_marked(seed: str) -> Iterator[Sent]:
    """Every fifth turn an older message is edited, and gone on from there."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(46):
        chat.ask()
        yield Sent(_marked_chat(chat), "messages")
        chat.answer()
        if turn % 5 == 4:
            chat = chat.branch(max(2, len(chat.messages) - 6))


def dropped_in_the_middle(seed: str) -> Iterator[Sent]:
    """The client takes an exchange out of the middle every sixth turn."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(44):
        if turn % 6 == 5:
            place = len(chat.messages) // 4 * 2
            del chat.messages[place : place + 2]
        yield Sent(chat.turn())


def branches_marked(seed: str) -> Iterator[Sent]:
    """Three branches from one beginning, in turn, each with marks on its newest two questions."""
    chat = Chat(seed, says=(20, 40))
    for _ in range(12):
        chat.ask()
        yield Sent(_marked_chat(chat), "messages")
        chat.answer()
    branches = [chat.branch(len(chat.messages)) for _ in range(3)]
    for _ in range(11):
        for branch in branches:
            branch.ask()
            yield Sent(_marked_chat(branch), "messages", pause=8.0)
            branch.answer()


def clock_marked(seed: str) -> Iterator[Sent]:
    """The time stands in the system text, and the newest two questions are marked: nothing is ever found."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(40):
        chat.ask()
        yield Sent(_marked_chat(chat) | {"system": [_part(f"It is {turn:02}:00 at the harbour desk.")]}, "messages")
        chat.answer()


def tools_change(seed: str) -> Iterator[Sent]:
    """A long list of tools changes every eighth turn."""
    chat = Chat(seed, says=(20, 40))
    about = [chat.text(8) for _ in range(20)]
    for turn in range(44):
        parameters = {"type": "object", "properties": {"what": {"type": "string"}}}
        names = range(12 + turn // 8 % 3)
        tools = [
            {"type": "function", "function": {"name": f"look_{n}", "description": about[n], "parameters": parameters}}
            for n in names
        ]
        yield Sent(chat.turn() | {"tools": tools})


def agents_beside(seed: str) -> Iterator[Sent]:
    """Four agents with one long task text, all at once, step by step; a mark at each end."""
    chats = [Chat(f"{seed}/{n}", says=(2, 4)) for n in range(4)]
    task = Chat(seed).text(250)
    for chat in chats:
        chat.ask(f"{task}\n\n{chat.text(3)}")
    for _ in range(22):
        bodies = []
        for chat in chats:
            bodies.append(_marked_chat(chat, 1))
            chat.answer()
            chat.ask(chat.text(chat.draw.randint(8, 30)))
        yield Sent(bodies[0], "messages", pause=9.0, beside=tuple(bodies[1:]))


def forks_beside(seed: str) -> Iterator[Sent]:
    """A marked chat hands itself to four agents at once, each with a task of its own, twice."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(36):
        chat.ask()
        yield Sent(_marked_chat(chat), "messages")
        chat.answer()
        if turn in {14, 28}:
            agents = [chat.branch(len(chat.messages)) for _ in range(4)]
            for _ in range(3):
                bodies = []
                for agent in agents:
                    agent.ask()
                    bodies.append(_marked_chat(agent))
                    agent.answer()
                yield Sent(bodies[0], "messages", pause=6.0, beside=tuple(bodies[1:]))


# ---------------------------------------------------------------- prices that step


def over_the_step(seed: str) -> Iterator[Sent]:
    """A conversation grows from 170,000 tokens over the size from which tokens are dearer."""
    chat = Chat(seed, says=(60, 120))
    for _ in range(88):
        chat.ask()
        chat.answer()
    yield from (Sent(chat.turn()) for _ in range(20))
