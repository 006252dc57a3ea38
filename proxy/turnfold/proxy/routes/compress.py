"""``POST /v1/compress``: three layers of a text.

A body becomes a request, a result becomes an answer. Compression and storage are in ``api.compressions``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator

from turnfold.compression.errors import InvalidInput
from turnfold.compression.flows.layers import ModelLayers, ModelWish
from turnfold.compression.layers import CompressedResult, CompressRequest
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.proxy.api.bodies import (
    LLM,
    CompressAnswer,
    CompressBody,
    CompressMetadata,
    FoundEntity,
    LayerText,
    ModelPart,
    SectionSummary,
)
from turnfold.proxy.api.compressions import CompressionOutcome, Compressions
from turnfold.proxy.asking.asker import Bill
from turnfold.proxy.asking.operations import OperationModels
from turnfold.proxy.routes.operations import Operation, OperationCall


def require_text(field: str, text: str) -> None:
    """Reject a blank text.

    Raises:
        InvalidInput: it is blank; names the field.
    """
    if not text.strip():
        raise InvalidInput(field, "must not be blank")


def section_summaries(result: CompressedResult) -> list[SectionSummary]:
    """The sections of a result, without their texts."""
    return [
        SectionSummary(id=section.id, summary=section.summary, tokens=section.tokens, importance=section.importance)
        for section in result.sections
    ]


def model_part(layers: ModelLayers | None, model: str, bill: Bill) -> ModelPart | None:
    """What a model did; None if none was asked for."""
    if layers is None:
        return None
    part = ModelPart(name=model, wrote_summary=layers.written, fault=layers.fault, rated=layers.rated)
    fault = bill.why if layers.fault == "no-reply" and bill.why else layers.fault
    return part.model_copy(update={"fault": fault, "calls": bill.asked, "dollars": round(bill.dollars, 9)})


def compress_answer(made: CompressionOutcome, layer: int, model: ModelPart | None = None) -> CompressAnswer:
    """The answer's body."""
    result = made.result
    figures = result.metadata
    raw, facts, summary = (LayerText(text=one.text, tokens=one.tokens) for one in result.layers)
    metadata = CompressMetadata.model_validate(
        {
            "compression_ms": made.ms,
            "scorer": figures.scorer,
            "result_id": result.result_id,
            "layer": layer,
            "sentences": figures.sentences,
            "sections": figures.sections,
            "ratio": figures.ratio,
            "preservation": figures.preservation,
            "important": figures.important,
            "cached": made.cached,
            "sections_stored": made.stored,
            "model": model,
        }
    )
    return CompressAnswer(
        layers={"0": raw, "1": facts, "2": summary},
        entities=[FoundEntity(text=e.text, kind=e.kind, count=e.count, preserved=e.preserved) for e in result.entities],
        sections=section_summaries(result),
        metadata=metadata,
    )


def compress_operations(compressions: Compressions, models: OperationModels) -> list[Operation[CompressBody]]:
    """The operation."""

    async def compress(call: OperationCall, body: CompressBody) -> CompressAnswer:
        writes, rates = body.writer == "model", body.scorer == LLM
        request = CompressRequest(**body.model_dump(exclude={"writer", "scorer"}), scorer=None if rates else body.scorer)
        if not (writes or rates):
            made = await compressions.compress(call.tenant, request)
            return await asyncio.to_thread(compress_answer, made, body.layer)
        models.require("writer" if writes else "scorer")
        bills: list[Bill] = []

        async def drive(flow: Generator[ModelCall, ModelReply | None, ModelLayers]) -> ModelLayers:
            made, bill = await models.drive(flow, call.tenant, call.headers, "compress")
            bills.append(bill)
            return made

        wish = ModelWish(writes, rates, models.tokens)
        made = await compressions.compress(call.tenant, request, wish, drive, models.model)
        return await asyncio.to_thread(
            compress_answer, made, body.layer, model_part(made.layers, models.model, bills[0] if bills else Bill())
        )

    return [Operation("POST", "/v1/compress", "Compress a text into layers", CompressAnswer, CompressBody, compress, (400, 409))]
