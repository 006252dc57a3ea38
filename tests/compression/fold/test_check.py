"""Our own output, checked: a forwarded conversation that breaks a law is refused by its name, a near miss is not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bodies import Message, encode
from tests.support.cases import each
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold.check import check
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES


def read(messages: list[Message]) -> Conversation:
    return CHAT.read(encode(messages), Memo())


def refusal(old: list[Message], new: list[Message], waived: frozenset[str] = frozenset()) -> str:
    """The slug of the law that the second conversation breaks; "" for none."""
    try:
        check(read(old), read(new), waived)
    except FoldRejected as refused:
        return str(refused)
    return ""


def user(text: str, **more: Any) -> Message:
    return {"role": "user", "content": text, **more}


def assistant(text: str | None = "Noted.", **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def calls(*ids: str, arguments: str = '{"bay": 7}') -> Message:
    made = [{"id": i, "type": "function", "function": {"name": "look", "arguments": arguments}} for i in ids]
    return assistant(None, tool_calls=made)


def result(call: str, text: str = "free") -> Message:
    return {"role": "tool", "tool_call_id": call, "content": text}


def parts(*texts: str) -> Message:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def marked(message: Message) -> Message:
    text = {"type": "text", "text": message["content"], "cache_control": {"type": "ephemeral"}}
    return message | {"content": [text]}


ASK = user("Which bay is free?")
TALK = [user("Hello."), assistant("Hello to you.")]
LOOP = [user("Look."), calls("a", "b"), result("a"), result("b"), assistant()]
LIST, SHELL = [
    assistant(None, tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "sh", "input": text}}])
    for text in ("ls -l /", "ls")
]
X, S, T = user("x"), system("s"), system("t")
OLD_CALL = assistant(None, function_call={"name": "look", "arguments": "{}"})
OLD_RESULT: Message = {"role": "function", "name": "look", "content": "free"}
SEALED = assistant("I see.", reasoning_details=[{"type": "reasoning.encrypted", "data": "gAAA"}])
BROKEN = '{"bay": '

# -- each law, by a conversation that breaks it --------------------------------------------------------------------------------

BREAKS: list[tuple[str, list[Message], list[Message]]] = [
    # what the developer said is verbatim
    ("system-changed", [system("Never book bay 7."), *TALK, ASK], [system("Never book bay 8."), *TALK, ASK]),
    ("system-changed", [system("Never book bay 7."), *TALK, ASK], [*TALK, ASK]),
    ("system-changed", [S, ASK, assistant(), T, ASK], [T, ASK, assistant(), S, ASK]),
    ("system-changed", [{"role": "developer", "content": "x"}, ASK], [{"role": "developer", "content": "x "}, ASK]),
    # the last user message keeps its own text, and the request ends as it did
    ("last-user-broken", [*TALK, ASK], [*TALK, user("Which bay?")]),
    ("last-user-broken", [*TALK, ASK], TALK),
    ("last-user-broken", [*TALK, ASK], [TALK[1]]),
    ("last-user-broken", [*TALK, ASK, assistant()], [*TALK, ASK]),
    ("last-user-broken", [*TALK, parts("Which bay", "is free?")], [*TALK, parts("Which bay")]),
    ("last-user-broken", [*TALK, ASK, calls("a"), result("a")], [*TALK, ASK, calls("a")]),
    # roles alternate as they did
    ("roles-broken", [*TALK, *TALK, ASK], [*TALK, TALK[0], ASK]),
    ("roles-broken", [*TALK, TALK[0], assistant("So."), ASK], [*TALK, assistant("So."), ASK]),
    ("roles-broken", [*TALK, ASK], [TALK[1], ASK]),
    # a call and its results go together
    ("calls-broken", [*LOOP, ASK], [LOOP[0], result("a"), result("b"), LOOP[-1], ASK]),
    ("calls-broken", [*LOOP, ASK], [LOOP[0], calls("a", "b"), result("a"), LOOP[-1], ASK]),
    ("calls-broken", [*LOOP, ASK], [LOOP[0], calls("a", "b"), ASK]),
    ("calls-broken", [*LOOP, *LOOP, ASK], [*LOOP, LOOP[0], result("a"), result("b"), LOOP[-1], ASK]),
    # ... with an instruction between them too
    ("calls-broken", [LOOP[0], calls("a"), S, result("a"), assistant(), ASK], [LOOP[0], S, result("a"), assistant(), ASK]),
    ("calls-broken", [LOOP[0], calls("a"), S, T, result("a"), ASK], [LOOP[0], calls("a"), S, T, ASK]),
    # ... where another result of that id was loose already
    ("calls-broken", [X, result("a"), assistant(), *LOOP, ASK], [X, result("a"), assistant(), LOOP[0], *LOOP[2:], ASK]),
    ("calls-broken", [X, calls("a"), assistant(), *LOOP, ASK], [X, calls("a"), assistant(), *LOOP[:2], ASK]),
    # ... and in the old form, which has no ids
    ("calls-broken", [LOOP[0], OLD_CALL, OLD_RESULT, assistant(), ASK], [LOOP[0], OLD_RESULT, assistant(), ASK]),
    ("calls-broken", [LOOP[0], OLD_CALL, OLD_RESULT, assistant(), ASK], [LOOP[0], OLD_CALL, ASK]),
    # arguments stay JSON
    ("arguments-broken", [*LOOP, ASK], [LOOP[0], calls("a", "b", arguments=BROKEN), *LOOP[2:], ASK]),
    # no message gets keys
    ("keys-invented", [*TALK, ASK], [*TALK, user("Which bay is free?", name="x")]),
    ("keys-invented", [*TALK, ASK], [TALK[0], assistant("Hello to you.", refusal=None), ASK]),
    # or loses its content
    ("message-emptied", [*TALK, ASK], [TALK[0], assistant(""), ASK]),
    ("message-emptied", [*LOOP, ASK], [*LOOP[:2], result("a", " \n"), *LOOP[3:], ASK]),
    # what is signed is whole or gone
    ("seal-broken", [X, SEALED, ASK], [X, SEALED | {"content": "I saw."}, ASK]),
    # a cache mark is the client's, or the only one
    ("marks-invented", [*TALK, ASK], [marked(TALK[0]), TALK[1], marked(ASK)]),
    ("marks-invented", [*TALK, *TALK, marked(ASK)], [marked(TALK[0]), TALK[1], marked(TALK[0]), TALK[1], ASK]),
    # nothing comes from nowhere
    ("message-invented", [*LOOP, ASK], [user("Look."), assistant(), user("Go on."), assistant(), user("And?"), assistant(), ASK]),
    ("message-invented", [*LOOP, *TALK, ASK], [*TALK, *LOOP, ASK]),
]  # fmt: skip


@each(("slug", "old", "new"), BREAKS)
def test_what_breaks_a_law_is_refused_by_its_name(slug: str, old: list[Message], new: list[Message]) -> None:
    assert refusal(old, new) == slug
    assert refusal(old, new, frozenset({slug})) != slug


# -- near misses ---------------------------------------------------------------------------------------------------------------

PASSES: list[tuple[list[Message], list[Message]]] = [
    ([], []),
    ([S, *TALK, ASK], [S, *TALK, ASK]),
    # units that go as a whole
    ([*LOOP, ASK], [LOOP[0], LOOP[-1], ASK]),
    ([*LOOP, *LOOP, ASK], [*LOOP, ASK]),
    ([*TALK, *LOOP, ASK], [*TALK, ASK]),
    ([LOOP[0], OLD_CALL, OLD_RESULT, assistant(), ASK], [LOOP[0], assistant(), ASK]),
    ([LOOP[0], calls("a"), S, result("a"), assistant(), ASK], [LOOP[0], S, assistant(), ASK]),
    # texts that get shorter
    ([*LOOP, ASK], [*LOOP[:2], result("a", "f"), *LOOP[3:], ASK]),
    ([*LOOP, ASK], [LOOP[0], calls("a", "b", arguments="{}"), *LOOP[2:], ASK]),
    ([*TALK, ASK], [user("H."), assistant("H."), ASK]),
    # text beside the user's own, in front and behind, as text and as parts
    ([*TALK, ASK], [*TALK, user("a fold\n\nWhich bay is free?\n\n<quotes>")]),
    ([*TALK, ASK], [*TALK, parts("a fold", "Which bay is free?", "<quotes>")]),
    ([*TALK, parts("Which bay", "is free?")], [*TALK, parts("a fold", "Which bay", "is free?")]),
    # what was wrong before may stay, be it loose, blank, unparsable or out of turn
    ([X, result("a"), assistant(), ASK], [X, result("a"), assistant(), ASK]),
    ([X, calls("a"), assistant(), ASK], [X, calls("a"), assistant(), ASK]),
    ([X, result("a"), assistant(), result("a"), ASK], [X, result("a"), assistant(), ASK]),
    ([X, OLD_RESULT, assistant(), ASK], [X, OLD_RESULT, assistant(), ASK]),
    ([X, calls("a", arguments=BROKEN), result("a"), *TALK, ASK], [X, calls("a", arguments=BROKEN), result("a"), ASK]),
    ([X, assistant(""), ASK], [X, assistant(""), ASK]),
    ([X, user("y"), ASK], [user("y"), ASK]),
    ([assistant("Welcome."), *TALK, ASK], [assistant("Welcome."), ASK]),
    ([X, user(""), ASK], [X, ASK]),
    # nobody asks
    ([S, assistant("Welcome.")], [S, assistant("Welcome.")]),
    # what is signed goes, or stays as it is
    ([X, SEALED, ASK], [X, SEALED, ASK]),
    ([X, SEALED, *TALK, ASK], [*TALK, ASK]),
    # free text of a custom tool is no JSON
    (
        [X, LIST, result("a"), ASK],
        [X, SHELL, result("a"), ASK],
    ),
]  # fmt: skip


@each(("old", "new"), PASSES)
def test_a_near_miss_passes(old: list[Message], new: list[Message]) -> None:
    assert refusal(old, new) == ""


def test_a_law_that_is_waived_hides_no_other() -> None:
    old, new = [*LOOP, ASK], [*LOOP[:2], result("a"), LOOP[-1], user("Which?")]
    assert refusal(old, new) == "last-user-broken"
    assert refusal(old, new, frozenset({"last-user-broken"})) == "calls-broken"


def test_untouched_messages_may_be_written_in_any_way() -> None:
    """Bytes count, not values: what is kept is compared as it was received."""
    body = '{"messages": [{"role": "system", "content": "\\u00e9", "x": 1.0}, {"role":"user","content":"hi"}]}'
    old = CHAT.read(body.encode(), Memo())
    check(old, CHAT.read(body.replace(" {", "\n{").encode(), Memo()))
    with pytest.raises(FoldRejected, match="system-changed"):
        check(old, CHAT.read(json.dumps(json.loads(body), separators=(",", ":")).encode(), Memo()))


def test_a_result_that_came_empty_may_get_a_mark() -> None:
    def blocks(*results: Message) -> Conversation:
        uses = [{"type": "tool_use", "id": one["tool_use_id"], "name": "look", "input": {}} for one in results]
        said: list[Message] = [user("Go."), {"role": "assistant", "content": uses}, {"role": "user", "content": list(results)}]
        return MESSAGES.read(encode([*said, assistant("Done."), user("And now?")]), Memo())

    empty = {"type": "tool_result", "tool_use_id": "t"}
    marked_one = {**empty, "cache_control": {"type": "ephemeral"}}
    filled = {**empty, "tool_use_id": "u", "content": "bay 7"}
    check(blocks(empty, filled), blocks(marked_one, filled), frozenset({"marks-invented"}))
    with pytest.raises(FoldRejected, match="message-emptied"):
        check(blocks(empty, filled), blocks(empty, {**empty, "tool_use_id": "u"}), frozenset({"keys-invented"}))


def test_an_instruction_amid_the_messages_may_go_behind_the_next_user() -> None:
    def read(*messages: Message) -> Conversation:
        return MESSAGES.read(encode([*messages]), Memo())

    old = read(X, S, assistant(), user("y"), assistant("So."), ASK)
    assert any(message.placed for message in old.messages)
    check(old, read(user("y"), S, assistant("So."), ASK))
    with pytest.raises(FoldRejected, match="message-invented"):
        check(old, read(X, S, assistant(), user("y"), assistant("So."), user("z"), assistant("Ah."), ASK))
