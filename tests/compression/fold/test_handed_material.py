"""What is handed over once is there for whatever is made from it: the tables of a database, the routes of an API, options.

These tests cover such material behind a long talk, and requests that do not name it. They leave out works that are asked for
themselves (``test_works``), files of an agent (``test_handed_files``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.materials import materials

_TABLES: Final = """Here is what we have:

CREATE TABLE berths (id INT PRIMARY KEY, pier TEXT, depth_cm INT);
CREATE TABLE IF NOT EXISTS "vessels" (
  id INT PRIMARY KEY,
  flag CHAR(2),
  draught_cm INT
);
create table calls (berth_id INT REFERENCES berths(id), vessel_id INT, arrived TIMESTAMP, fee_cents INT);"""
_NEWER: Final = (
    "We changed one:\n\nCREATE TABLE calls (berth_id INT, vessel_id INT, arrived TIMESTAMP, left_at TIMESTAMP, fee_cents BIGINT);"
)
_ROUTES: Final = """Our service:

- `POST /v2/members` {"email", "plan"} -> 201
- `GET /v2/members/{id}` -> 200
- `POST /v2/members/{id}/suspend` {"until"} -> 202

Auth: header X-Key-Id with an HMAC."""
_OPTIONS: Final = {
    "A": "**Option A**: the night train, 410 euros",
    "B": "**Option B**: the ferry, 280 euros",
    "C": "**Option C**: by bicycle",
}


def _sent(handed: tuple[Message, ...], question: str) -> str:
    said: list[Message] = []
    for n in range(60):
        said += [{"role": "user", "content": prose(n, "en", 3)}, {"role": "assistant", "content": prose(500 + n, "en", 6)}]
    for place, message in zip((20, 50), handed, strict=False):
        said[place + (message["role"] == "assistant")] = message
    return forwarded(said, question)


@each(
    "question",
    [
        "Write SQL for turnover by month.",
        "Give me a query that finds our best clients",
        "Write a migration that adds soft deletes",
        "Schreib mir eine Abfrage für die Auslastung",
        "Écris une requête pour le chiffre d'affaires",
        "¿Qué consulta necesito para la media?",
        "平均を求めるクエリを書いて",
    ],
)
def test_a_query_gets_the_tables_in_their_newest_form(question: str) -> None:
    sent = _sent(({"role": "user", "content": _TABLES}, {"role": "user", "content": _NEWER}), question)
    for line in ("pier TEXT, depth_cm INT", "draught_cm INT", "left_at TIMESTAMP, fee_cents BIGINT"):
        assert line in sent
    assert "arrived TIMESTAMP, fee_cents INT" not in sent.partition("<quotes")[2].rpartition("<quotes")[2]


@pytest.mark.parametrize("question", ["Write a Python client for it.", "How do I sign somebody up with curl?"])
def test_a_client_gets_the_routes(question: str) -> None:
    sent = _sent(({"role": "user", "content": _ROUTES},), question)
    for line in ("`POST /v2/members` ", "`GET /v2/members/{id}`", "/suspend` "):
        assert line in sent


@each(("question", "letters"), [("Compare A and C.", "AC"), ("Let's take B then", "B"), ("Is B cheaper than A?", "AB")])
def test_options_are_there_by_their_letter(question: str, letters: str) -> None:
    sent = _sent(({"role": "assistant", "content": "\n".join(["You could go like this:", *_OPTIONS.values()])},), question)
    assert [letter for letter in letters if _OPTIONS[letter] not in sent] == []


def test_who_speaks_is_no_option() -> None:
    talk: list[Message] = [{"role": "user", "content": "A: I like this.\nB: I do not.\nA: Why?\nB: The colour."}]
    sent = _sent(tuple(talk), "Would B be better?")
    assert "B: The colour." not in sent.rpartition("<quotes")[2]


@each("text", ["create table " * 8000, "model x {" * 10_000, "GET /a " * 14_000, "GET /\n" * 16_000])
def test_a_hostile_text_is_read(text: str) -> None:
    assert all(start < end <= len(text) for _, _, (start, end) in materials(text))
