"""Ways in which clients use the wires that know reasoning and cache marks.

The client drops reasoning, moves or leaves its marks, or sets cache keys. Plain chats are in ``uses``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import ascii_letters
from typing import Final

from benchmarks.support.growing_chats import Chat, Item, Sent

HOUR: Final = 3600.0
_MARK: Final[Item] = {"cache_control": {"type": "ephemeral"}}
_HOUR_MARK: Final[Item] = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_BREAKPOINT: Final[Item] = {"prompt_cache_breakpoint": {"mode": "explicit"}}


# ---------------------------------------------------------------- reasoning


def _responses(chat: Chat, items: list[Item]) -> Sent:
    return Sent({"instructions": chat.system, "store": False, "input": list(items)}, "responses")


def _crates(chat: Chat) -> str:
    """A tool's result of forty lines."""
    draw = chat.draw
    return "\n".join(f"{n}: crate {draw.randrange(10**6)} in bay {draw.randrange(900)}" for n in range(40))


def _sealed(chat: Chat, length: int) -> Item:
    """Encrypted reasoning of about so many tokens."""
    content = "".join(chat.draw.choices(ascii_letters, k=length * 16 // 3))
    return {"type": "reasoning", "id": f"rs_{chat.draw.randrange(10**9)}", "summary": [], "encrypted_content": content}


def reasoning_dropped(seed: str) -> Iterator[Sent]:
    """The client sends the reasoning of the newest turn only."""
    chat, items = Chat(seed, says=(3, 6)), list[Item]()
    for _ in range(9):
        items = [one for one in items if one["type"] != "reasoning"]
        items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": chat.text(2)}]})
        yield _responses(chat, items)
        for _ in range(6):
            call = f"call_{len(items)}_{chat.draw.randrange(10**6)}"
            rows = _crates(chat)
            made = {"type": "function_call", "call_id": call, "name": "read", "arguments": '{"path": "a.py"}'}
            items += [_sealed(chat, 250), made]
            items.append({"type": "function_call_output", "call_id": call, "output": rows})
            yield _responses(chat, items)
        items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": chat.text(5)}]})


def reasoning_dropped_in_chat(seed: str) -> Iterator[Sent]:
    """The same in talk: a turn's reasoning is sent with the next question, and not any more after that."""
    chat, items = Chat(seed), list[Item]()
    for _ in range(42):
        newest = next((i for i in range(len(items) - 1, -1, -1) if items[i]["type"] == "reasoning"), -1)
        items = [one for i, one in enumerate(items) if one["type"] != "reasoning" or i == newest]
        items.append({"type": "message", "role": "user", "content": [{"type": "input_text", "text": chat.text(2)}]})
        yield _responses(chat, items)
        said = {"type": "output_text", "text": chat.text(chat.draw.randint(12, 30))}
        items += [_sealed(chat, 300), {"type": "message", "role": "assistant", "content": [said]}]


# ---------------------------------------------------------------- marks


def with_mark_at_end(message: Item) -> Item:
    """A message of parts with a mark on the last one."""
    return message | {"content": [*message["content"][:-1], message["content"][-1] | _MARK]}


def _blocks(content: str, mark: Item | None) -> list[Item]:
    return [{"type": "text", "text": content} | (mark or {})]


def _marks(chat: Chat, marked: Mapping[int, Item], front: Item | None) -> Sent:
    """A request of Messages with marks on these messages, counted from the first."""
    sent = [one | {"content": _blocks(one["content"], marked[i])} if i in marked else one for i, one in enumerate(chat.messages)]
    return Sent({"max_tokens": 900, "system": _blocks(chat.system, front), "messages": sent}, "messages")


_LONG_SYSTEM: Final = "Follow the manual of the harbour desk. " * 250


def one_mark(seed: str) -> Iterator[Sent]:
    """A mark on the newest message."""
    chat = Chat(seed, says=(20, 40))
    for _ in range(44):
        chat.ask()
        yield _marks(chat, {len(chat.messages) - 1: _MARK}, None)
        chat.answer()


def four_marks(seed: str) -> Iterator[Sent]:
    """Marks on the system text and the newest three of the user's messages."""
    chat = Chat(seed, says=(20, 40), system=_LONG_SYSTEM)
    for _ in range(44):
        chat.ask()
        last = len(chat.messages) - 1
        yield _marks(chat, {i: _MARK for i in (last, last - 2, last - 4) if i >= 0}, _MARK)
        chat.answer()


def fixed_mark(seed: str) -> Iterator[Sent]:
    """A document in the first message is marked for an hour, the newest message for minutes; an hour away at times."""
    chat = Chat(seed, says=(20, 40))
    chat.ask(chat.text(400))
    chat.answer()
    for turn in range(42):
        chat.ask()
        sent = _marks(chat, {0: _HOUR_MARK, len(chat.messages) - 1: _MARK}, None)
        yield Sent(sent.body, "messages", pause=1500.0 if turn % 8 == 7 else 30.0)
        chat.answer()


def rare_marks(seed: str) -> Iterator[Sent]:
    """A mark that moves on every ten messages."""
    chat = Chat(seed, says=(20, 40), system=_LONG_SYSTEM)
    for _ in range(44):
        chat.ask()
        place = len(chat.messages) // 10 * 10
        yield _marks(chat, {place: _MARK} if 0 < place < len(chat.messages) else {}, _MARK)
        chat.answer()


def hour_marks(seed: str) -> Iterator[Sent]:
    """Marks for an hour on the system text and the newest two; a quarter of an hour away at times."""
    chat = Chat(seed, says=(20, 40), system=_LONG_SYSTEM)
    for turn in range(44):
        chat.ask()
        last = len(chat.messages) - 1
        sent = _marks(chat, {i: _HOUR_MARK for i in (last, last - 2) if i >= 0}, _HOUR_MARK)
        yield Sent(sent.body, "messages", pause=900.0 if turn % 5 == 4 else 30.0)
        chat.answer()


def no_marks(seed: str) -> Iterator[Sent]:
    """Messages without any mark: nothing is cached."""
    chat = Chat(seed, says=(20, 40))
    for _ in range(40):
        chat.ask()
        yield _marks(chat, {}, None)
        chat.answer()


def thinking_dropped(seed: str) -> Iterator[Sent]:
    """A tool loop with thinking, of which the client drops what belongs to earlier turns; marks on the newest two."""
    chat, sent = Chat(seed, says=(3, 6), system=_LONG_SYSTEM), list[Item]()

    def ask() -> Sent:
        newest = [i for i, one in enumerate(sent) if one["role"] == "user"][-2:]
        marked = [with_mark_at_end(one) if i in newest else one for i, one in enumerate(sent)]
        return Sent({"max_tokens": 900, "system": _blocks(chat.system, _MARK), "messages": marked}, "messages")

    for _ in range(9):
        sent = [one | {"content": [part for part in one["content"] if part["type"] != "thinking"]} for one in sent]
        sent.append({"role": "user", "content": _blocks(chat.text(2), None)})
        yield ask()
        for _ in range(6):
            call = f"toolu_{chat.draw.randrange(10**9)}"
            thought = {"type": "thinking", "thinking": chat.text(10), "signature": "c2lnbmVk" * 20}
            use = {"type": "tool_use", "id": call, "name": "read", "input": {"path": "a.py"}}
            rows = _crates(chat)
            sent.append({"role": "assistant", "content": [thought, use]})
            sent.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": rows}]})
            yield ask()
        sent.append({"role": "assistant", "content": _blocks(chat.text(5), None)})


def keyed(seed: str) -> Iterator[Sent]:
    """Two chats in turn under one `prompt_cache_key`."""
    chats = [Chat(f"{seed}/{n}", says=(20, 40)) for n in range(2)]
    yield from (Sent(chats[turn % 2].turn() | {"prompt_cache_key": "anna"}) for turn in range(80))


def rekeyed(seed: str) -> Iterator[Sent]:
    """A `prompt_cache_key` for each day's session."""
    chat = Chat(seed, says=(20, 40))
    for turn in range(44):
        yield Sent(chat.turn() | {"prompt_cache_key": f"day {turn // 11}"}, pause=30.0 if turn % 11 else 9 * HOUR)


def own_breakpoints(seed: str) -> Iterator[Sent]:
    """The client's own breakpoint on its newest message."""
    chat = Chat(seed, says=(20, 40))
    for _ in range(44):
        chat.ask()
        newest = chat.messages[-1] | {"content": _blocks(chat.messages[-1]["content"], _BREAKPOINT)}
        yield Sent(chat.body([*chat.messages[:-1], newest]))
        chat.answer()
