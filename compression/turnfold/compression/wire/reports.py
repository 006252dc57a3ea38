"""User messages that hold a program's output instead of a person's text.

This module tells the two apart by how the messages of one conversation are framed. What follows is up to ``wire.message``: such a
message is bound to the assistant's message that asked for it, as a tool's result is.

Agents without native tool calls write calls into the assistant's text, and what comes back is the next user message. No single
message shows that: people paste output too. Taken together they do. The assistant's message ends in something to be run (a code
block, an element, JSON, a labelled line); the next message has a frame (a label, an element, a bracketed line, a prompt at its
end), the frame comes again behind the next call, or the instructions name it; and the person's first message has another one. No
word of any language is looked for, but for a few names of elements in which agents hand on what a person says.

In doubt a message is a person's. What is decided looks at the messages so far; where only the second of two frames tells, the
first is told with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.own_words import asks, own_words
from turnfold.compression.text.kinds import parts

_LABEL: Final = lazy.pattern(r"(?:[*_#]{1,4} ?)?[^\W\d_][^\n:：.?!,;<>{}]{0,38}(?:：|:(?=[\s*_]|\Z))")
_LABEL_LINES: Final = lazy.pattern(rf"^{_LABEL.pattern}", re.MULTILINE)
#: A label with calls below it, as JSON or as Python writes them.
_LABELLED_DATA: Final = lazy.pattern(rf"^({_LABEL.pattern})[*_]{{0,4}}\s{{0,8}}(?=[\[{{])", re.MULTILINE)
_ELEMENT: Final = lazy.pattern(r"<([A-Za-z][\w.:-]*)(?:[\s=][^<>\n]*)?>")
_BRACKETED: Final = lazy.pattern(r"\[[^\[\]\n]{1,200}\](?!\()[ \t]*(?:[^\W\d_][\w ]{0,30}:(?=\s|\Z))?")
_CHANGES: Final = lazy.pattern(r"\d+|'[^'\n]*'|\"[^\"\n]*\"|\[[^\[\]\n]*\](?=\W*\w[\w ]*:|:)")
_FENCED: Final = lazy.pattern(r"(?:```|~~~)\s*(?:<[\w/|-]{1,20}>\s*)?\Z")
_CLOSED: Final = lazy.pattern(r"</([A-Za-z][\w.:-]*)>\s*\Z")
_READ: Final = 4000  # characters at the end of an assistant's message
_MOST_PROMPT: Final = 80  # characters of a shell prompt at the end of a result
_LETTERS: Final = lazy.pattern(r"\w{2}")
#: Elements in which agents pass on a person's text, besides the one around the first request.
_PERSONS: Final = lazy.pattern(
    r"^<(?:(?:user|human)[_-][\w-]+|feedback|answer|task|question|request)>\s*$", re.MULTILINE | re.IGNORECASE
)

_ENDS: Final = 2  # lines after pasted text in which somebody may ask
_QUOTES: Final = "\"'“„«*_ "
_BULLETS: Final = "-*+• "
_SEEN: Final = 4  # lines after a label
_PROMPTS: Final = ("$", "#", "%", ">", "]")
#: Kinds of text that nobody types.
_DATA: Final = frozenset(
    {"binary", "commits", "csv", "diff", "json", "jsonl", "listing", "log", "search", "table", "tests", "trace"}
)

_UNFRAMED: Final = "unframed"
_JSON: Final = "{}"
_MOST_NEEDED: Final = 3  # messages with the same frame
_MOST_RUN: Final = 8
_MOST_OPENING: Final = 400  # characters
_MOST_OPENINGS: Final = 64  # more of them are no habit
_LEAST_NAMED: Final = 3  # characters of a frame that instructions name


class Speaker(Protocol):
    """A message, as needed here."""

    @property
    def role(self) -> str: ...
    @property
    def own(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def holds(self) -> bool: ...
    @property
    def written(self) -> dict[Any, Any]: ...


class _Frame(NamedTuple):
    """Text that may enclose program output.

    Attributes:
        mark: the part that all messages with this frame share.
        firm: whether nobody would begin or end a text of their own this way.
        opens: whether it is at the beginning of the text.
    """

    mark: str
    firm: bool
    opens: bool = False


class _Framing(NamedTuple):
    """The beginning and end of a user's message.

    Attributes:
        head: the label, element or brackets at its beginning; "" for none.
        asked: a question in its last lines.
    """

    frames: tuple[_Frame, ...]
    head: str
    asked: frozenset[str]

    def find(self, mark: str) -> _Frame | None:
        """The frame with a given mark."""
        return next((frame for frame in self.frames if frame.mark == mark), None)


class _PossibleReport(NamedTuple):
    at: int
    framing: _Framing


class Reports(NamedTuple):
    """The findings in the first `seen` messages.

    Attributes:
        found: indices of the messages that are reports; of those that were found last, `newest`, while they are looked for.
        marks, calls: the frames of reports, and the endings of the calls that they answer.
        run: the newest consecutive user messages that each follow something to be run.
        doubts: indices of the messages of which a later one may tell that they are reports, or has told it.
        openings: the marks at the beginning of messages that answer no call: what a person writes, as a speaker's name or a date.
        task: the instructions, and the first request.
        head: the label, element or brackets at the beginning of the first request; "" for none, None before it.
    """

    seen: int = 0
    found: frozenset[int] = frozenset()
    newest: tuple[int, ...] = ()
    marks: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    run: tuple[_PossibleReport, ...] = ()
    doubts: frozenset[int] = frozenset()
    openings: frozenset[str] = frozenset()
    task: tuple[str, str] = ("", "")
    head: str | None = None


def find_reports(messages: Sequence[Speaker], known: Reports, end: int | None = None) -> Reports:
    """The findings in messages; `known` covers the first of them. Ends at `end`, if given."""
    now, end = known, len(messages) if end is None else end
    if known.seen == end and not known.newest:
        return known
    for index in range(known.seen, end):
        message = messages[index]
        if message.pinned:
            now = now if now.head is not None else now._replace(task=(f"{now.task[0]}\n{message.own}", ""))
        elif message.role == "user" and message.holds:
            now = _step(message, index, _call_before(messages, index), now)
    return now._replace(seen=end, found=now.found.union(now.newest), newest=())


def _call_before(messages: Sequence[Speaker], index: int) -> str | None:
    """The call at the end of the previous message; "" if there is nothing to run, None if it is not an assistant's."""
    before = next((messages[i] for i in range(index - 1, -1, -1) if not messages[i].pinned), None)
    return _call(before) if before is not None and before.role == "assistant" else None


def _step(message: Speaker, index: int, call: str | None, now: Reports) -> Reports:
    """Process one more user message after an assistant's that ends in `call`."""
    if now.head is None:
        opened = _opening(message.own.strip())
        return now._replace(head=opened.group().strip() if opened else "", task=(now.task[0], message.own))
    if call is None or not (call or now.marks) or _is_a_persons(message.own, _framing(message), now):
        return _with_a_persons(message, now)
    return _judge(_PossibleReport(index, _framing(message)), call, now)


def _with_a_persons(message: Speaker, now: Reports) -> Reports:
    opened = _opening(message.own[:_MOST_OPENING].lstrip())
    if opened and len(now.openings) < _MOST_OPENINGS and (mark := _mark(opened)) not in now.openings:
        return now._replace(run=(), openings=now.openings | {mark})
    return now._replace(run=()) if now.run else now


def _judge(new: _PossibleReport, call: str, now: Reports) -> Reports:
    """Judge a message that may not be written by a person, after an assistant's that ends in `call`."""
    frames = new.framing.frames
    if any(frame.mark in now.marks and (call or frame.firm) for frame in frames):
        return _with(now, (new,), [frame.mark for frame in frames if frame.mark in now.marks], call)
    if not call:
        return now._replace(run=()) if now.run else now
    if call in now.calls and any(frame.firm or frame.mark == _UNFRAMED for frame in frames):
        return now._replace(newest=(*now.newest, new.at))
    run = (*now.run, new)[-_MOST_RUN:]
    for frame in frames:
        alike = _framed_alike(run, frame.mark)
        if _tells(frame, alike, call, now):
            return _with(now, alike, (frame.mark,), call)
    new_marks = (frame.mark for frame in frames if frame.mark not in now.openings)
    is_in_doubt = any(len(_framed_alike(run, mark)) < _MOST_NEEDED for mark in new_marks)
    return now._replace(run=run, doubts=now.doubts | {new.at} if is_in_doubt else now.doubts)


def _framed_alike(run: Sequence[_PossibleReport], mark: str) -> Sequence[_PossibleReport]:
    """The newest messages of a run that have a frame; none from before a person asked something after it."""
    asked = run[-1].framing.asked
    unlike = (i for i in reversed(range(len(run))) if run[i].framing.find(mark) is None or run[i].framing.asked != asked)
    return run[next(unlike, -1) + 1 :]


def _with(now: Reports, new: Sequence[_PossibleReport], marks: Iterable[str], call: str) -> Reports:
    calls = now.calls | {call} if call else now.calls
    return now._replace(newest=(*now.newest, *[one.at for one in new]), marks=now.marks.union(marks), calls=calls)


def _tells(frame: _Frame, alike: Sequence[_PossibleReport], call: str, now: Reports) -> bool:
    """Whether messages with the same frame show that no person writes that way.

    One is enough if instructions name the frame, two if nobody would begin or end that way, else three. JSON after JSON shows
    nothing: people and models talk that way in programs with forms.
    """
    if frame.mark == _UNFRAMED:
        return call != _JSON and len(alike) >= _MOST_NEEDED
    named = [frame.opens and _names(text, frame.mark) for text in now.task]
    if any(by_name and _names(text, call) for by_name, text in zip(named, now.task, strict=True)):
        return True
    if named[0] and (frame.firm or len(alike) > 1):
        return True
    if sum(found.firm for one in alike if (found := one.framing.find(frame.mark))) > 1:
        return True
    return len(alike) >= _MOST_NEEDED and (call.endswith((":", "：", ">")) or bool(alike[-1].framing.asked))


def _names(text: str, mark: str) -> bool:
    """Whether instructions show a frame, or a way to write a call: at the start of a line or in quotation marks. They may show
    the label of a call without the data below it."""
    shown = mark.split("[]", maxsplit=1)[0].removesuffix(_JSON).strip()
    return (
        len(shown) >= _LEAST_NAMED
        and shown in text
        and re.search(rf"(?:^|[>*'\"`“‘«])\s*{re.escape(shown)}", text, re.MULTILINE) is not None
    )


def _is_a_persons(text: str, framing: _Framing, now: Reports) -> bool:
    """Whether a message begins as the first request did, or contains such a beginning, or an element for a person's text."""
    if now.head and (framing.head == now.head or f"\n{now.head}" in text):
        return True
    return _first_line(text) == _first_line(now.task[1]) or _PERSONS.search(text) is not None


def _first_line(text: str) -> str:
    return text.lstrip().split("\n", 1)[0].rstrip()


def _call(message: Speaker) -> str:
    found: str | None = message.written.get("call")
    if found is None:
        found = message.written["call"] = _ending_call(message.own[-_READ:].rstrip(), message.own[:1])
    return found


def _ending_call(text: str, first: str) -> str:
    """The call at the end of a text; "" if it does not end in something to be run."""
    if _FENCED.search(text):
        return "```"
    if closed := _CLOSED.search(text):
        return closed.group()
    if text.endswith(("}", "]")) and first in ("{", "["):
        return _JSON
    if text.endswith(("}", "]")) and (above := _LABELLED_DATA.findall(text)):
        return f"{above[-1]}{_JSON}"
    labels = _LABEL_LINES.findall(text)
    return labels[-1] if len(labels) > 1 else ""


def _framing(message: Speaker) -> _Framing:
    found: _Framing | None = message.written.get("framing")
    if found is None:
        found = message.written["framing"] = _read_framing(message.own.strip())
    return found


def _opening(text: str) -> re.Match[str] | None:
    """The label, element or brackets at the beginning of a text."""
    return _ELEMENT.match(text) or _BRACKETED.match(text) or _LABEL.match(text)


def _mark(opened: re.Match[str]) -> str:
    """What messages that open alike share."""
    head = opened.group().strip()
    return f"<{opened[1]}>" if head[0] == "<" else _CHANGES.sub("[]", head)


def _read_framing(text: str) -> _Framing:
    frames, head = list[_Frame](), ""
    opened = _opening(text)
    if opened:
        head = opened.group().strip()
        frames.append(_Frame(_mark(opened), _is_firm(text[0], text[opened.end() :]), opens=True))
    lines = [line for line in text[-_READ:].split("\n") if line.strip()]
    ends = lines[-_ENDS:]
    last = lines[-1].strip() if len(lines) > 1 else ""
    if last.endswith(_PROMPTS) and _LETTERS.search(last) and len(last) <= _MOST_PROMPT and not own_words([last]):
        frames.append(_Frame("…" + _CHANGES.sub("[]", last), firm=True))
    if not frames and _is_data(text):
        frames.append(_Frame(_UNFRAMED, firm=False))
    return _Framing(tuple(frames), head, frozenset(ends[i].strip() for i in own_words(ends) if asks(ends[i])))


def _is_firm(sign: str, rest: str) -> bool:
    """Whether nobody begins their own text this way: with an element, or with brackets or a label before something other than a
    sentence.
    """
    same_line, _, below = rest.partition("\n")
    if sign == "<" or same_line.strip():
        return sign == "<" or not same_line.strip().lstrip(_QUOTES)[:1].isalpha()
    return sign == "[" or not own_words([line.lstrip(_BULLETS) for line in below.split("\n", _SEEN)[:_SEEN]])


def _is_data(text: str) -> bool:
    """Whether a text is data rather than somebody's writing."""
    return not own_words(text.split("\n")) and _DATA.issuperset(span.kind for span in parts(text))
