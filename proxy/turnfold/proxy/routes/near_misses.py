"""Paths that are almost Turnfold's own.

This module tells such a path from one that is meant for the upstream, and answers it. Other methods of Turnfold's own paths are
answered in ``ops``.

Every path that Turnfold does not know goes upstream. So would a call of Turnfold's own with a misspelt path, together with its
text, which is meant to stay on this machine. The provider has no such route, so nothing is lost by naming the right one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.proxy.http.refusals import Refused

_WORD: Final = re.compile(r"[\w-]*")
#: What stands before the name of a route, or is written there by mistake: a client's base URL ends with ``/v1``, or does not.
_BEFORE: Final = re.compile(r"v\d\w*|api|openai|anthropic|")
#: Collections of the providers in which Turnfold has routes of its own.
_SHARED: Final = frozenset({"messages"})
#: A provider's name that is close to one of Turnfold's.
_THEIRS: Final = frozenset({"conversations"})
_LONG: Final = 7  # letters from which a name is no other word with one letter changed ("state", "stats")
_ALIKE: Final = 0.8
_PARAMETER_KIND: Final = re.compile(r":\w+(?=})")


class NearMisses:
    """Answers 404 on a path that is almost Turnfold's own, and passes on everything else.

    Args:
        own: the routes. Of those under ``/v1`` and ``/admin``, names that are alike are theirs too, and what is below them.
    """

    def __init__(self, own: Iterable[Route], app: ASGIApp) -> None:
        self._paths = list(dict.fromkeys(_PARAMETER_KIND.sub("", route.path) for route in own))
        self._by_name: dict[str, list[str]] = {}
        for path in self._paths:
            if path.startswith(("/v1/", "/admin")):
                self._by_name.setdefault(_name(path), []).append(path)
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        path = scope["path"]
        if path.endswith("/") and (meant := path.rstrip("/")) in self._paths:
            raise Refused(404, "not_found", f"Turnfold has no route {path}; {meant} has no slash at its end.")
        if meant := self._similar_routes(_name(path)):
            raise Refused(404, "not_found", f"Turnfold has no route {path[:200]!r}; it has {meant}.")
        await self._app(scope, receive, send)

    def _similar_routes(self, name: str) -> str:
        """The routes with this name or nearly this name; empty if it resembles none of ours."""
        if not name or name in _THEIRS:
            return ""
        singular = name.rstrip("s")
        same = [own for own in self._by_name if own.rstrip("s") == singular]
        near = same or get_close_matches(name, [own for own in self._by_name if len(own) >= _LONG], 1, _ALIKE)
        return " and ".join(path for own in near for path in self._by_name[own])


def _name(path: str) -> str:
    """What a path is about: its first part behind ``/v1``, in a collection of the providers with the one below; no matter in what
    spelling."""
    words = [_WORD.findall(part.strip())[0] for part in path.lower().split("/")]
    names = [word.replace("-", "").replace("_", "") for word in words if not _BEFORE.fullmatch(word)]
    most = 2 if names[:1] and names[0] in _SHARED else 1
    return "/".join(names[:most])
