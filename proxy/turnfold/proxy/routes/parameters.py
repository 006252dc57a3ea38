"""Parameters of a request, as all of Turnfold's own routes take them.

This module refuses unknown URL parameters and reads time ranges and the administrators' header. What a route asks for is up to
the route; its description is in ``described``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.datastructures import QueryParams

from turnfold.compression.errors import InvalidInput
from turnfold.proxy.books.report import moment

#: The header in which an administrator names the tenant that a call is about.
TENANT: Final = "x-turnfold-tenant"
#: How a parameter without a name is called ("?=1"): an error names what it is about.
_NAMELESS: Final = '""'


def refuse_unknown(given: QueryParams, *known: str) -> None:
    """Refuse parameters that a route does not have, and repeated ones, of which only the last would count.

    Raises:
        InvalidInput: names the first of them, and those that there are.
    """
    names = [name for name, _ in given.multi_items()]
    if repeated := next((name for name in names if name in known and names.count(name) > 1), None):
        raise InvalidInput(repeated, "is given more than once")
    if unknown := sorted(set(given) - set(known)):
        raise InvalidInput(
            unknown[0] or _NAMELESS, f"is not a parameter of this route; it takes {', '.join(sorted(known)) or 'no parameters'}"
        )


def time_range(given: Mapping[str, str], since: str, now: float, end: float) -> tuple[float, float]:
    """Beginning and end, as Unix times, of what ``from`` and ``to`` ask for.

    Args:
        since: the default beginning, as people write it.
        end: the default end.

    Raises:
        InvalidInput: one of the two is no time.
    """
    start = moment(given.get("from", since), "from", now)
    return start, moment(given["to"], "to", now) if "to" in given else end
