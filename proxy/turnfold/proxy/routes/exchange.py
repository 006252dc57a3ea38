"""``POST /v1/exchange``: a text for another agent, in the form that it asks for (row C13).

Headers become a demand, the result becomes an answer. ``turnfold.compression.negotiate`` makes the choice.
"""

from __future__ import annotations

import asyncio
import re
from typing import Final

from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.compression.layers import CompressedResult, CompressRequest, SectionLayer
from turnfold.compression.negotiate import Demand, ExchangeResult, encodings, negotiate, to_a2a_part, to_mcp_resource
from turnfold.proxy.api.bodies import DrillDownAnswer, ExchangeAnswer, ExchangeBody, SectionSummary
from turnfold.proxy.api.compressions import Compressions
from turnfold.proxy.api.section_layers import section_layer
from turnfold.proxy.books.section_records import find_section
from turnfold.proxy.routes.compress import require_text, section_summaries
from turnfold.proxy.routes.operations import Operation, OperationCall, OperationReply, Parameter
from turnfold.proxy.store import Store

ACCEPT: Final = "x-turnfold-accept"
BUDGET: Final = "x-turnfold-budget"
DRILL_DOWN: Final = "x-turnfold-drill-down"
_MOST_SECTIONS: Final = 100
_WHOLE: Final = re.compile(r"[1-9][0-9]{0,11}")
_NAMES: Final = "(raw|facts|summary)"

_PARAMETERS: Final = (
    Parameter(
        ACCEPT,
        "header",
        "Encodings that the receiver accepts, in order of preference; default: raw, facts, summary.",
        {"type": "string", "pattern": f"^({_NAMES}(, ?{_NAMES})*)?$"},
    ),
    Parameter(
        BUDGET,
        "header",
        "Maximum number of tokens: the first accepted encoding that fits is returned, else the summary.",
        {"type": "integer", "minimum": 1, "maximum": 999_999_999_999},
    ),
    Parameter(
        DRILL_DOWN,
        "header",
        "Ids of sections whose originals are added, as far as the budget allows.",
        {"type": "string", "pattern": "^([!-+.-~]+(, ?[!-+.-~]+)*)?$", "maxLength": 4000},
    ),
)
_REPLY: Final = {
    "x-turnfold-encoding": "The encoding that was chosen.",
    "x-turnfold-tokens": "Tokens of the text.",
    "x-turnfold-fits": "Whether the text fits the budget.",
    "x-turnfold-drill-down": "Ids of sections for drill-down, at most the first hundred.",
}


def _names_in(call: OperationCall, header: str) -> list[str]:
    return [name.strip() for name in call.headers.get(header, "").split(",") if name.strip()]


def _demand(call: OperationCall) -> Demand:
    """The demand in the headers.

    Raises:
        InvalidInput: names the header.
    """
    budget = call.headers.get(BUDGET)
    if budget is not None and not _WHOLE.fullmatch(budget.strip()):
        raise InvalidInput(BUDGET, "must be a positive whole number of tokens")
    try:
        accepted = encodings([name.lower() for name in _names_in(call, ACCEPT)])
    except InvalidInput as exc:
        raise InvalidInput(ACCEPT, exc.problem) from exc
    limit = None if budget is None else int(budget)
    return Demand(accepted, limit) if accepted else Demand(budget=limit)


def _section_ids(call: OperationCall) -> list[str]:
    names = list(dict.fromkeys(_names_in(call, DRILL_DOWN)))
    if len(names) > _MOST_SECTIONS:
        raise InvalidInput(DRILL_DOWN, f"may name at most {_MOST_SECTIONS} sections")
    return names


async def _originals(store: Store, tenant: str, names: list[str]) -> list[SectionLayer]:
    """The originals of sections.

    Raises:
        SectionUnknown: names the header.
        StoreError: the store cannot say.
    """
    try:
        return [section_layer(await find_section(store, tenant, name), 0) for name in names]  # layer 0 takes no computation
    except SectionUnknown as exc:
        exc.field = DRILL_DOWN
        raise


def _answer(exchanged: ExchangeResult, sections: list[SectionSummary], form: str) -> ExchangeAnswer:
    return ExchangeAnswer(
        encoding=exchanged.encoding,
        text=exchanged.text,
        tokens=exchanged.tokens,
        raw_tokens=exchanged.raw_tokens,
        fits=exchanged.fits,
        result_id=exchanged.result_id,
        sections=sections,
        drilled=[
            DrillDownAnswer.model_construct(section_id=one.section_id, layer=0, text=one.text, tokens=one.tokens)
            for one in exchanged.drilled
        ],
        left_out=list(exchanged.left_out),
        part=to_a2a_part(exchanged) if form == "a2a" else None,
        resource=to_mcp_resource(exchanged) if form == "mcp" else None,
    )


def _headers(exchanged: ExchangeResult) -> dict[str, str]:
    values = (
        exchanged.encoding,
        str(exchanged.tokens),
        "true" if exchanged.fits else "false",
        ", ".join(exchanged.sections[:_MOST_SECTIONS]),
    )
    return dict(zip(_REPLY, values, strict=True))


def _reply(result: CompressedResult, demand: Demand, drilled: list[SectionLayer], form: str) -> OperationReply:
    """Takes as long as the text is long: it may have thousands of sections."""
    exchanged = negotiate(result, demand, drilled)
    return OperationReply(_answer(exchanged, section_summaries(result), form), _headers(exchanged))


def exchange_operations(compressions: Compressions, store: Store) -> list[Operation[ExchangeBody]]:
    """The operation."""

    async def exchange(call: OperationCall, body: ExchangeBody) -> OperationReply:
        require_text("text", body.text)
        demand, names = _demand(call), _section_ids(call)
        options = body.model_dump(exclude={"format"})
        result = (await compressions.compress(call.tenant, CompressRequest(**options))).result
        drilled = await _originals(store, call.tenant, names)
        return await asyncio.to_thread(_reply, result, demand, drilled, body.format)

    return [
        Operation(
            method="POST",
            path="/v1/exchange",
            summary="Return a text in an encoding that the receiver accepts",
            answer=ExchangeAnswer,
            body=ExchangeBody,
            work=exchange,
            errors=(400, 404, 410),
            parameters=_PARAMETERS,
            reply_headers=_REPLY,
        )
    ]
