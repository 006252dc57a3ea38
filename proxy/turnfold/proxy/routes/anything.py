"""A path parameter that really takes anything.

Lives here: the convertor. Does not belong here: routes.

Starlette's own ``path`` stops at a line break, so a path with ``%0A`` in it would pass by a route of ours and go upstream.
"""

from __future__ import annotations

from typing import Final

from starlette.convertors import PathConvertor, register_url_convertor


class _Anything(PathConvertor):
    regex = r"[\s\S]*"


#: For a route's path: ``{rest:anything}``.
ANYTHING: Final = "anything"

register_url_convertor(ANYTHING, _Anything())
