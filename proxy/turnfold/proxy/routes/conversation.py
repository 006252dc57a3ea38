"""``/v1/conversation``: a stored conversation that stays within its token budget.

Bodies become messages, histories become answers. Concurrency is handled in ``api.conversations``, the operations of a history in
the engine.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, export_history, read_export
from turnfold.compression.errors import InvalidInput
from turnfold.proxy.api.bodies import (
    ConversationAnswer,
    ConversationBody,
    ConversationMessage,
    ConversationSection,
    ConversationStats,
    ConversationView,
    Deleted,
    ImportBody,
    Nothing,
)
from turnfold.proxy.api.conversations import Conversations, StoredConversation
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.http.headers import LONGEST_NAME
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.routes.compress import require_text
from turnfold.proxy.routes.operations import Operation, OperationCall, Parameter

_PATH: Final = "/v1/conversation/{conversation_id}"
_KEY: Final = re.compile("[!-~]{1,200}")
_ID: Final = Parameter(
    "conversation_id", "path", "The conversation.", {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
)
_EXPORT: Final = Parameter("export", "query", "Whether to return all of it.", {"type": "string", "enum": ["true", "false"]})
_TOKEN: Final = Parameter(
    "idempotency-key",
    "header",
    "Key of this add; an add with the same key is applied only once.",
    {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
)


def _stats(state: History) -> ConversationStats:
    return ConversationStats(
        messages=state.messages,
        recent_messages=len(state.recent),
        pinned_messages=len(state.pinned),
        sections=len(state.blocks),
        duplicates=state.duplicates,
        version=state.version,
    )


def _figures(kept: StoredConversation) -> dict[str, Any]:
    return {
        "context": kept.context.text,
        "context_tokens": kept.context.tokens,
        "total_raw_tokens": kept.context.raw_tokens,
        "compression_ratio": kept.context.compression_ratio,
        "stats": _stats(kept.history),
    }


def _view(conversation_id: str, kept: StoredConversation, *, exports: bool) -> ConversationView:
    """Takes as long as the conversation is long."""
    state = kept.history
    return ConversationView(
        conversation_id=conversation_id,
        recent=[ConversationMessage(role=message.role, content=message.content) for message in state.recent],
        sections=[ConversationSection(id=one.id, tokens=one.tokens[0], messages=len(one.messages)) for one in state.blocks],
        export=export_history(state, kept.settings) if exports else None,
        **_figures(kept),
    )


def _token(call: OperationCall, body: ConversationBody) -> str | None:
    token = call.headers.get("idempotency-key")
    if token is not None and not _KEY.fullmatch(token):
        raise InvalidInput("idempotency-key", "must be 1 to 200 visible ASCII characters")
    if token is not None and body.idempotency_key not in (None, token):
        told = "The idempotency_key and the header idempotency-key differ; send one of them."
        raise Refused(409, "idempotency_keys_differ", told, "idempotency_key")
    return token or body.idempotency_key


def _name(call: OperationCall) -> str:
    name = call.path["conversation_id"]
    if not 0 < len(name) <= LONGEST_NAME:
        raise InvalidInput("conversation_id", f"must have 1 to {LONGEST_NAME} characters")
    return name


def _wants_export(call: OperationCall) -> bool:
    wanted = call.query.get("export", "false")
    if wanted not in ("true", "false"):
        raise InvalidInput("export", "must be true or false")
    return wanted == "true"


def conversation_operations(conversations: Conversations, workshop: Workshop) -> list[Operation[Any]]:
    """Add a message; read, import and delete a conversation."""

    async def add(call: OperationCall, body: ConversationBody) -> ConversationAnswer:
        require_text("message.content", body.message.content)
        message = HistoryMessage(body.message.role, body.message.content)
        settings = HistorySettings(body.compress_threshold, body.keep_recent)
        added = await conversations.add(call.tenant, body.conversation_id, message, settings, _token(call, body))
        return ConversationAnswer(action=added.action, **_figures(added.kept))

    async def read(call: OperationCall, _: Nothing) -> ConversationView:
        name, wanted = _name(call), _wants_export(call)
        kept = await conversations.read(call.tenant, name)
        return await asyncio.to_thread(_view, name, kept, exports=wanted)

    async def put(call: OperationCall, body: ImportBody) -> ConversationView:
        name = _name(call)
        try:
            imported = await workshop.run_sized(call.tenant, len(body.export), read_export, body.export)
        except InvalidInput as exc:
            field = exc.field.replace("history", "export", 1)  # as the caller calls it
            raise Refused(422, "invalid_export", f"{field}: {exc.problem}", field) from exc
        kept = await conversations.replace(call.tenant, name, imported.history, imported.settings)
        return await asyncio.to_thread(_view, name, kept, exports=False)

    async def delete(call: OperationCall, _: Nothing) -> Deleted:
        name = _name(call)
        await conversations.forget(call.tenant, name)
        return Deleted(conversation_id=name)

    one = (_ID,)
    post = Operation(
        "POST", "/v1/conversation", "Add a message", ConversationAnswer, ConversationBody, add, (400, 409, 410), (_TOKEN,)
    )
    return [
        post,
        Operation("GET", _PATH, "Read a conversation", ConversationView, Nothing, read, (400, 404, 409, 410), (_ID, _EXPORT)),
        Operation("PUT", _PATH, "Import a conversation", ConversationView, ImportBody, put, (400,), one),
        Operation("DELETE", _PATH, "Delete a conversation", Deleted, Nothing, delete, (400, 404), one),
    ]
