"""``POST /v1/drill-down``: a layer of a section, folded by the proxy or cut by the API.

An id goes in, text comes out. How originals are kept is in ``section_records``, how layers are made in ``section_layers``.
"""

from __future__ import annotations

from turnfold.proxy.api.bodies import DrillDownAnswer, DrillDownBody
from turnfold.proxy.api.section_layers import section_layer, section_size
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.section_records import find_section
from turnfold.proxy.routes.operations import Operation, OperationCall
from turnfold.proxy.store import Store


def drilldown_operations(store: Store, workshop: Workshop) -> list[Operation[DrillDownBody]]:
    """The operation; it reads the caller's own sections only.

    An unknown id, or another tenant's, gives 404; an id whose original is no longer stored gives 410.
    """

    async def drill_down(call: OperationCall, body: DrillDownBody) -> DrillDownAnswer:
        section = await find_section(store, call.tenant, body.section_id)
        size = section_size(section, body.target_layer)
        found = await workshop.run_sized(call.tenant, size, section_layer, section, body.target_layer)
        # Not validated: a folded section may hold lone surrogates, which a client's JSON brought.
        return DrillDownAnswer.model_construct(
            section_id=found.section_id, layer=body.target_layer, text=found.text, tokens=found.tokens
        )

    return [
        Operation(
            method="POST",
            path="/v1/drill-down",
            summary="Read a layer of a section",
            answer=DrillDownAnswer,
            body=DrillDownBody,
            work=drill_down,
            errors=(404, 410),
            most_bytes=10_000,
        )
    ]
