"""``POST /v1/messages/compress`` and ``/v1/messages/uncompress``: shorten messages, and restore them byte for byte.

Lives here: body to request, result to answer. Does not belong here: compression, storage (``roundtrips``).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from turnfold.proxy.api.message_bodies import (
    CompressMessagesAnswer,
    CompressMessagesBody,
    MessageDecision,
    MessageFigures,
    UncompressMessagesAnswer,
    UncompressMessagesBody,
)
from turnfold.proxy.api.roundtrips import Roundtrips, options_of
from turnfold.proxy.routes.operations import Operation, OperationCall, Parameter

_CONVERSATION: Final = Parameter(
    "x-turnfold-conversation", "header", "A label by which what is kept can be found and deleted.", {"type": "string"}
)


def message_operations(roundtrips: Roundtrips) -> list[Operation[Any]]:
    """The operations; they use the caller's own data only."""

    async def compress_messages(call: OperationCall, body: CompressMessagesBody) -> CompressMessagesAnswer:
        options = options_of({name: getattr(body, name) for name in type(body).model_fields if name != "messages"})
        label = call.headers.get("x-turnfold-conversation") or None
        result, stored = await roundtrips.compress(call.tenant, body.messages, options, label)
        # Not validated: these are the client's own values.
        return CompressMessagesAnswer.model_construct(
            messages=result.messages,
            verbatim=dict(result.verbatim),
            compression=MessageFigures(**asdict(result.compression)),
            result_id=result.result_id,
            stored=stored,
            fits=result.fits,
            token_count=result.token_count,
            recency_window=result.recency_window,
            trace=None if result.trace is None else [MessageDecision(**asdict(decision)) for decision in result.trace],
        )

    async def uncompress_messages(call: OperationCall, body: UncompressMessagesBody) -> UncompressMessagesAnswer:
        found = await roundtrips.uncompress(call.tenant, body.messages, body.verbatim, recursive=body.recursive)
        return UncompressMessagesAnswer.model_construct(**found.as_dict())

    return [
        Operation(
            method="POST",
            path="/v1/messages/compress",
            summary="Make old messages shorter, with their originals",
            answer=CompressMessagesAnswer,
            body=CompressMessagesBody,
            work=compress_messages,
            parameters=(_CONVERSATION,),
        ),
        Operation(
            method="POST",
            path="/v1/messages/uncompress",
            summary="Restore messages byte for byte",
            answer=UncompressMessagesAnswer,
            body=UncompressMessagesBody,
            work=uncompress_messages,
            errors=(400,),
        ),
    ]
