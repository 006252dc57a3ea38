"""What limits an agent's work stands as an order, whatever form it has."""

from __future__ import annotations

import json
from typing import Any

from tests.support.cases import each
from tests.support.effort import every
from tests.support.words import prose
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.wire.formats.chat import CHAT

# Every second one was held out while the forms were made.
_LIMITS = [
    "Nothing may be destroyed.",
    "Nothing is sent before I have seen it, and no mail leaves without my approval.",
    "Customer names must not appear in your report.",
    "No file outside src/ may be changed.",
    "I sign as 'Dr. A. Novak', and nothing is sent before I have seen it.",
    "Es geht nichts raus, nichts wird gebucht, bevor ich zugestimmt habe.",
    "Leave package-lock.json alone, CI regenerates it.",
    "Hands off the migrations folder, please, that's Oksana's.",
    "Keep the public API unchanged.",
    "The lock file stays as it is.",
    "No network access; the proxy is down.",
    "And please keep the public signature of place_order as it is.",
    "The tests in tests/golden are not to be edited.",
    "Nobody outside the team may see these numbers.",
    "Ask me before you delete anything.",
    "Issues labelled legal-hold must stay as they are.",
    "Nothing gets deployed on a Friday.",
    "Tell me before you delete anything in kube-system.",
    "All amounts must be in euros.",
    "Everything you write must be in British English.",
    "No emails to customers without my approval.",
    "No new dependencies.",
    "The production database is off limits.",
    "Stay out of the vendor directory.",
    "Secrets must not end up in the logs.",
    "There must be no downtime.",
    "Only read from the replica.",
    "Anything above 500 euros needs my approval first.",
    "Nichts darf gelöscht werden.",
    "Die Migrationen bleiben, wie sie sind.",
    "Fass die Migrationen nicht an.",
    "Finger weg von der Konfiguration in prod.",
    "Kundennamen dürfen nicht im Bericht stehen.",
    "Keine neuen Abhängigkeiten.",
    "Lass die Lock-Datei in Ruhe.",
    "Aucun mail ne part sans mon accord.",
    "Rien ne doit être supprimé.",
    "Les noms des clients ne doivent pas apparaître.",
    "Laisse le fichier de verrouillage tel quel.",
    "No se puede borrar nada sin mi aprobación.",
    "Nada se envía sin mi aprobación.",
    "Deja el archivo de bloqueo como está.",
    "Los nombres de clientes no deben aparecer.",
]

_TOLD = [
    "Nothing was destroyed.",
    "The build may fail because of the cache.",
    "No files were changed.",
    "It must be the cache.",
    "The file is not to be found.",
    "There must be a bug in the parser.",
    "Nothing is sent when the queue is empty.",
    "I leave tomorrow.",
    "No new messages.",
    "Only three of them were read.",
    "Everything is fine.",
    "All tests must have passed, I guess.",
    "You may be right about that.",
    "The customer may not have received it yet.",
    "Nobody answered yet.",
    "It stays warm until Friday.",
    "He asked me before he left.",
    "Nothing may come of it.",
    "No problem.",
    "Nichts wurde gelöscht.",
    "Es darf nicht wahr sein.",
    "Rien n'a changé.",
    "Aucun fichier trouvé.",
    "Nada funciona.",
    "No se puede abrir el archivo.",
    "What may be deleted?",
    "Which files must not be changed?",
    "Leave a comment on the issue.",
    "Ask Petra about the invoice.",
    "Keep the change.",
    "The amount must be paid by Friday.",
]


@each("said", _LIMITS)
def test_a_limit_stands(said: str) -> None:
    assert standing_orders(said)


@each("said", _TOLD)
def test_what_happened_or_is_asked_is_no_limit(said: str) -> None:
    assert not standing_orders(said)


@each("limit", every(2, ["Nothing may be destroyed.", "No file outside src/ may be changed.", "Hands off the queue."]))
def test_a_limit_told_with_the_task_is_in_a_tenth_of_the_request(limit: str) -> None:
    """Many turns of tool calls later, under a budget that has no room for all that the user said."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You manage servers."}]
    for turn in range(60):
        later = f"Apply module {turn}, the one for {prose(turn, 'en', 30)}"
        function = {"name": "bash", "arguments": json.dumps({"command": f"apply {turn}"})}
        log = [f"module.{turn}.item_{n}: created after {7 * n % 43} s [id={turn * n * 7919:x}]" for n in range(20)]
        messages += [
            {"role": "user", "content": later if turn else f"Apply the network module in the workspace prod. {limit}"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{turn}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": "\n".join(log)},
            {"role": "assistant", "content": f"Module {turn} is applied."},
        ]
    messages.append({"role": "user", "content": "What is the id of item_7 of module 3, and why did it take so long?"})
    conversation = CHAT.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), Memo())
    folded = fold(conversation, FoldOptions(model="gpt-4o", budget=3000), Memo())
    assert folded.body != conversation.body
    assert limit.encode() in folded.body


_WITH_APOSTROPHES = [
    "The snapshots aren't to be regenerated.",
    "The old receipt isn't to be touched.",
    "Laisse le schéma en l'état.",
    "Lascia la tabella com'è.",
]


@each("said", _WITH_APOSTROPHES)
def test_a_form_whose_longest_word_has_an_apostrophe_limits(said: str) -> None:
    assert standing_orders(said)
