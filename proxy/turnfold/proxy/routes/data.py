"""Deleting what is kept of a tenant, or of one of its conversations.

This module finds out whose data a request names, and answers. ``deletion.forgetting`` deletes.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnfold.compression.errors import InvalidInput
from turnfold.proxy.api.bodies import DataDeleted, Nothing
from turnfold.proxy.deletion.forgetting import Forgetting
from turnfold.proxy.http.headers import LONGEST_NAME
from turnfold.proxy.routes.answers import Gatekeeper, as_json, only_admins
from turnfold.proxy.routes.anything import ANYTHING
from turnfold.proxy.routes.operations import Operation, OperationCall, Parameter
from turnfold.proxy.routes.parameters import refuse_unknown

_CONVERSATION: Final = Parameter(
    "conversation", "query", "Only this conversation.", {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME}
)


def data_operations(forgetting: Forgetting) -> list[Operation[Nothing]]:
    """``DELETE /v1/data?conversation=``: the caller's own text: originals, conversations, states, results, learned windows.

    Receipts and sums stay: they have no text in them, and they are the operator's books.
    """

    async def delete(call: OperationCall, _: Nothing) -> DataDeleted:
        chosen = call.query.get("conversation")
        if chosen is not None and not 0 < len(chosen) <= LONGEST_NAME:
            raise InvalidInput("conversation", f"must have 1 to {LONGEST_NAME} characters")
        gone = await forgetting.forget(call.tenant, chosen, books=False)
        return DataDeleted(deleted=gone.items)

    return [Operation("DELETE", "/v1/data", "Delete your data", DataDeleted, Nothing, delete, (400,), (_CONVERSATION,))]


def admin_data_routes(forgetting: Forgetting, gate: Gatekeeper) -> list[Route]:
    """The same for an administrator, receipts and sums included.

    - ``DELETE /admin/tenants/{tenant}``: everything of a tenant.
    - ``DELETE /admin/tenants/{tenant}/conversations/{conversation}``: everything that bears a conversation's name.
    """

    async def delete(request: Request) -> Response:
        refuse_unknown(request.query_params)
        gone = await forgetting.forget(request.path_params["tenant"], request.path_params.get("conversation"))
        return as_json({"deleted": gone.items, "receipts": gone.receipts, "sums": gone.sums})

    paths = ("/admin/tenants/{tenant}", f"/admin/tenants/{{tenant}}/conversations/{{conversation:{ANYTHING}}}")
    return [Route(path, only_admins(delete, gate), methods=["DELETE"]) for path in paths]
