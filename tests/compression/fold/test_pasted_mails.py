"""Emails that were pasted one by one are there for a request that names one by its place or its writer, or means all of them.

These tests cover such emails among other talk, through folds. They leave out letters that the conversation made (``test_works``).
"""

from __future__ import annotations

import json
from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions

_MILL: Final = (
    "Here's a mail from Gunnar:\n\nHello, the wheel arrived with two cracked paddles. I want new ones before 21 June.\nGunnar",
    "And this came from Adaeze:\n\nHi, our freight partner says the crate was dropped in Hull. They'd pay 380 pounds.\nAdaeze",
    "One more, from Gunnar again:\n\nNo answer for a week! By Friday I'll hand it to my lawyer, Ms Tindall.\nGunnar",
)
_HEADED: Final = (
    "From: Petra Olm <p@kron.de>\nSubject: Audit\n\nThe audit starts on 3 May. Send the ledgers to audit@kron.de.",
    "From: Samir Bey <s@kron.de>\nSubject: Re: Audit\n\nI'm in Oslo until the 9th. Could we shift it by a week?",
    "From: Petra Olm <p@kron.de>\nSubject: Re: Re: Audit\n\nThe auditors only have the 12th left. Confirm today.",
)


def _forwarded(mails: tuple[str, ...], question: str) -> str:
    """What is sent for a question a long while after the emails, with other talk between them."""
    talk = [(f"{prose(n, 'en', 3)}?", prose(900 + n, "en", 5)) for n in range(70)]
    for n, mail in enumerate(mails):
        talk.insert(9 * n + 8, (mail, "Thanks, I've read it. What shall I do with it?"))
    said = [part for exchange in talk for part in exchange]
    messages: list[Message] = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)]
    body = encode([*messages, {"role": "user", "content": question}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert folded.changes
    return "\n".join(message["content"] for message in json.loads(folded.body)["messages"])


@each(
    ("mails", "question", "meant"),
    [
        (_MILL, "Answer the first mail", (0,)),
        (_MILL, "Reply to the second email", (1,)),
        (_MILL, "Draft a response to Gunnar's last mail", (2,)),
        (_MILL, "Summarise the correspondence", (0, 1, 2)),
        (_MILL, "Answer all three mails", (0, 1, 2)),
        (_HEADED, "Reply to the first one: it will be late", (0,)),
        (_HEADED, "What does Samir's first email say?", (1,)),
        (_HEADED, "Summarise the thread", (0, 1, 2)),
        (_HEADED, "Antworte auf die letzte Nachricht", (2,)),
    ],
)
def test_the_emails_that_are_meant_are_there_whole(mails: tuple[str, ...], question: str, meant: tuple[int, ...]) -> None:
    sent = _forwarded(mails, question)
    assert [n for n in meant if mails[n].partition("\n\n")[2] not in sent] == []


def test_a_place_that_no_email_has_brings_none() -> None:
    sent = _forwarded(_HEADED, "Reply to the fifth email")
    assert [mail for mail in _HEADED if mail not in sent]
