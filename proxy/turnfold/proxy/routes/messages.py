"""``POST /v1/messages/compress`` and ``/v1/messages/uncompress``: shorten messages, and restore them byte for byte.

A body becomes a request, a result becomes an answer. Compression is up to the engine, storage to ``api.roundtrips``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import Any, Final

from turnfold.compression import Compressed
from turnfold.compression.flows.roundtrip import summarised_steps
from turnfold.compression.roundtrip.values import readable
from turnfold.compression.summary.asking import ProseWish
from turnfold.compression.text.private import is_private
from turnfold.proxy.api.message_bodies import (
    CompressMessagesAnswer,
    CompressMessagesBody,
    MessageDecision,
    MessageFigures,
    SummarizerBody,
    SummarizerPart,
    UncompressMessagesAnswer,
    UncompressMessagesBody,
)
from turnfold.proxy.api.roundtrips import Roundtrips, options_of
from turnfold.proxy.asking.operations import OperationModels
from turnfold.proxy.routes.operations import Operation, OperationCall, Parameter

_CONVERSATION: Final = Parameter(
    "x-turnfold-conversation", "header", "A label to find and delete the stored data by.", {"type": "string"}
)


def _is_private(messages: Sequence[Any]) -> bool:
    return is_private("\n".join(map(readable, messages)))


def _wish(body: SummarizerBody) -> ProseWish:
    terms, before = tuple(body.preserve_terms), body.system_prompt or ""
    return ProseWish(body.max_response_tokens, terms, before, terse=body.mode == "aggressive")


def message_operations(roundtrips: Roundtrips, models: OperationModels) -> list[Operation[Any]]:
    """The operations; they use the caller's own data only."""

    async def uncompress_messages(call: OperationCall, body: UncompressMessagesBody) -> UncompressMessagesAnswer:
        found = await roundtrips.uncompress(call.tenant, body.messages, body.verbatim, recursive=body.recursive)
        return UncompressMessagesAnswer.model_construct(**found.as_dict())

    return [
        Operation(
            method="POST",
            path="/v1/messages/compress",
            summary="Shorten old messages and keep their originals",
            answer=CompressMessagesAnswer,
            body=CompressMessagesBody,
            work=_compressing(roundtrips, models),
            errors=(400, 409),
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


def _compressing(
    roundtrips: Roundtrips, models: OperationModels
) -> Callable[[OperationCall, CompressMessagesBody], Awaitable[CompressMessagesAnswer]]:
    async def compress_messages(call: OperationCall, body: CompressMessagesBody) -> CompressMessagesAnswer:
        fields = [name for name in type(body).model_fields if name not in ("messages", "summarizer")]
        options = options_of({name: getattr(body, name) for name in fields})
        label, part = call.headers.get("x-turnfold-conversation") or None, None
        if body.summarizer is not None:
            models.require("summarizer")
        if body.summarizer is None or await asyncio.to_thread(_is_private, body.messages):  # private text goes to no model
            result, stored = await roundtrips.compress(call.tenant, body.messages, options, label)
        else:
            flow = summarised_steps(body.messages, options, _wish(body.summarizer))
            made, bill = await models.drive(flow, call.tenant, call.headers, "messages")
            part = SummarizerPart(name=models.model, calls=bill.asked, dollars=round(bill.dollars, 9), why=bill.why)
            result, stored = made, await roundtrips.keep(call.tenant, made, label)
        return await asyncio.to_thread(_answer, result, stored, part)

    return compress_messages


def _answer(result: Compressed, stored: bool, part: SummarizerPart | None) -> CompressMessagesAnswer:
    """Not validated: these are the client's own values. A trace has an entry for each of them."""
    return CompressMessagesAnswer.model_construct(
        messages=result.messages,
        verbatim=dict(result.verbatim),
        compression=MessageFigures(**asdict(result.compression)),
        result_id=result.result_id,
        stored=stored,
        fits=result.fits,
        token_count=result.token_count,
        recency_window=result.recency_window,
        model=part,
        trace=None if result.trace is None else [MessageDecision(**asdict(decision)) for decision in result.trace],
    )
