"""``POST /v1/compress``: three layers of a text.

Lives here: body to request, result to answer. Does not belong here: compression, storage.
"""

from __future__ import annotations

from turnfold.compression.errors import InvalidInput
from turnfold.compression.layers import CompressedResult, CompressRequest
from turnfold.proxy.api.bodies import (
    CompressAnswer,
    CompressBody,
    CompressMetadata,
    FoundEntity,
    LayerText,
    SectionSummary,
)
from turnfold.proxy.api.compressions import CompressionOutcome, Compressions
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


def compress_answer(made: CompressionOutcome, layer: int) -> CompressAnswer:
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
        }
    )
    return CompressAnswer(
        layers={"0": raw, "1": facts, "2": summary},
        entities=[FoundEntity(text=e.text, kind=e.kind, count=e.count, preserved=e.preserved) for e in result.entities],
        sections=section_summaries(result),
        metadata=metadata,
    )


def compress_operations(compressions: Compressions) -> list[Operation[CompressBody]]:
    """The operation."""

    async def compress(call: OperationCall, body: CompressBody) -> CompressAnswer:
        require_text("text", body.text)
        request = CompressRequest(**body.model_dump())
        return compress_answer(await compressions.compress(call.tenant, request), body.layer)

    return [Operation("POST", "/v1/compress", "Make layers of a text", CompressAnswer, CompressBody, compress, (400,))]
