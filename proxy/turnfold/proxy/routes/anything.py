"""A path parameter that matches any text.

Starlette's own ``path`` stops at a line break, so a path with ``%0A`` would miss Turnfold's own routes and go upstream.
"""

from __future__ import annotations

from typing import Final

from starlette.convertors import PathConvertor, register_url_convertor


class _Anything(PathConvertor):
    regex = r"[\s\S]*"


#: For a route's path: ``{rest:anything}``.
ANYTHING: Final = "anything"

register_url_convertor(ANYTHING, _Anything())
