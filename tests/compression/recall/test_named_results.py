"""Results that name what a question does: what they tell of it, and whose it is, under tight budgets."""

from __future__ import annotations

import json
from typing import Any

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import tokens
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Source
from turnfold.compression.wire.formats.chat import CHAT

_SENDERS = ("Clara Weiss", "Dan Okoro", "Felix Baum", "Hana Sato", "Ivo Marek", "Julia Stern", "Karim Aziz", "Lotte Vries")
_SUBJECTS = ("Venue contract", "Roof invoice", "Visa papers", "Server quote", "Bike lease", "Menu", "Burst pipe", "Flight")


def _mail(number: int) -> str:
    told = prose(number, "en", 20)
    amount = f"The amount comes to EUR {2000 + 371 * number} and our voucher is REF-{8000 + 77 * number}."
    body = f"Hi,\n\n{told}\n\n{amount} {prose(number + 50, 'en', 15)}\n\nBest,\n{_SENDERS[number]}"
    return json.dumps({"id": f"m{number}", "from": _SENDERS[number], "subject": _SUBJECTS[number], "body": body})


def _page(number: int) -> str:
    links = "\n".join(f'- link "{word}" [ref=e{n}]' for n, word in enumerate(prose(number, "en", 6).split()))
    told = f"- text: Dedicated desk {2000 + 371 * number} EUR per month\n- text: Voucher REF-{8000 + 77 * number}"
    return f"- Page Title: {_SUBJECTS[number]} by {_SENDERS[number]}\n{links}\n- paragraph: {prose(number + 9, 'en', 30)}\n{told}"


def _session(results: list[str], question: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You read."}, {"role": "user", "content": "Read all of it."}]
    for n, result in enumerate(results):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "read", "arguments": json.dumps({"id": f"m{n}"})}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": result})
    return [*messages, {"role": "assistant", "content": "I have read it."}, {"role": "user", "content": question}]


@each(
    ("number", "share", "make", "question"),
    every(
        3,
        crosswise(
            [
                (number, share, *row)
                for number in [1, 4, 6]
                for share in [0.14, 0.3]
                for row in [(_mail, "Which voucher is in {}'s mail?"), (_page, "Which voucher has {}?")]
            ],
            2,
        ),
        2,
    ),
)
def test_what_a_result_tells_below_its_head_is_quoted_with_the_head(make: Any, question: str, share: float, number: int) -> None:
    messages = _session([make(n) for n in range(len(_SENDERS))], question.format(_SENDERS[number]))
    conversation = CHAT.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), WARM)
    size = fold(conversation, FoldOptions(model="gpt-4o"), WARM).tokens_before
    folded = fold(conversation, FoldOptions(model="gpt-4o", budget=int(share * size)), WARM)
    assert folded.tokens_after <= share * size
    quoted = json.loads(folded.body)["messages"][-1]["content"].partition("<quotes")[2]
    result = next(line for line in quoted.split("\ntool ") if line.startswith(f"(read m{number})"))
    assert _SENDERS[number] in result
    assert f"REF-{8000 + 77 * number}" in result


def test_a_figure_between_the_rows_is_of_no_row() -> None:
    rows = [
        f"Nov 30 09:{n:02}:11 web-7 sshd[{400 + n}]: Accepted ada from 10.0.{n if n != 33 else 160}.57 port {45000 + n}"
        for n in range(60)
    ]
    for n in range(10, 60, 10):
        rows[n] = f"Nov 30 09:{n:02}:11 web-7 systemd[1]: Started session {n} of user ada."
    rows[41:44] = [rows[40], "Nov 30 09:41:09 web-7 sshd[977]: Accepted ada from 10.0.119.160 port 36643", rows[50]]
    log = "\n".join(rows)
    sources = [Source("user", "Look at the log.", b"user"), Source("tool", log, digest(log))]
    question = Question("10.0.119.160?", (), whole_room=2_000)
    assert "10.0.119.160 port 36643" in recall(sources, question, 300, [], tokens.count, Memo()).text
