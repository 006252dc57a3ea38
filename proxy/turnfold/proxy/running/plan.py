"""Where the requests of a command go: through a proxy of its own, or through one that runs.

Only the choice is made here; nothing is started.

Turnfold's own settings say first what the upstreams are. If they do not, base URLs that the environment names for clients become
the upstreams, each for its format; if neither is set, nothing is redirected. In particular, Anthropic's requests go where they
would have gone without us, not to whatever ``OPENAI_BASE_URL`` names.

A base URL that already is a Turnfold is used as it is, since folding twice gains nothing. One at the address where Turnfold would
listen, but does not, is what ``--print-env`` once exported: it is no upstream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from turnfold.config.settings import Settings, anthropic_url, is_loopback
from turnfold.config.sources import SettingPath, load
from turnfold.proxy.running.environment import ANTHROPIC, OPENAI, BaseUrl, base_url
from turnfold.proxy.running.sharing import default_url, is_listening, is_same_turnfold, is_turnfold

_UPSTREAM: Final = ("upstream", "url")
_ANTHROPIC: Final = ("anthropic", "url")
OWN_HOST: Final = "127.0.0.1"
_ANTHROPIC_URL: Final = "https://api.anthropic.com"

Flags = Mapping[str, tuple[SettingPath, Any]]


class PlanRefused(Exception):
    """What the environment names cannot be reconciled; the message is one line."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Where requests go.

    Attributes:
        running: origin of a Turnfold that runs and is used; "": one is started, with `settings`.
    """

    settings: Settings
    running: str = ""


def make_plan(flags: Flags, environment: Mapping[str, str]) -> RunPlan:
    """The plan for an environment.

    Args:
        flags: as for ``sources.load``.

    Raises:
        SettingsError: the settings are invalid.
        PlanRefused: the environment names a Turnfold, and something that contradicts it.
    """
    loaded = load(flags)
    named = {path: url for path, url in _named(environment).items() if path not in loaded.origins}
    through = {path: url for path, url in named.items() if is_turnfold(url.origin)}
    if through:
        return RunPlan(loaded.settings, _shared(through, named, flags))
    upstreams = {path: url for path, url in named.items() if not _is_own(url, loaded.settings)}
    settings = load({**flags, **_as_flags(upstreams)}).settings
    if _UPSTREAM in upstreams and anthropic_url(settings) is None:
        upstreams[_ANTHROPIC] = BaseUrl(ANTHROPIC[0], _ANTHROPIC_URL)
        settings = load({**flags, **_as_flags(upstreams)}).settings
    return RunPlan(settings, next(_same(settings, environment), ""))


def at_address(settings: Settings, host: str, port: int) -> Settings:
    """The same settings for one process at an address."""
    place = {"host": host, "port": port, "uds": None, "workers": 1}
    return settings.model_copy(update={"server": settings.server.model_copy(update=place)})


def _named(environment: Mapping[str, str]) -> dict[SettingPath, BaseUrl]:
    found = {_UPSTREAM: base_url(environment, OPENAI), _ANTHROPIC: base_url(environment, ANTHROPIC)}
    return {path: url for path, url in found.items() if url is not None}


def _as_flags(upstreams: Mapping[SettingPath, BaseUrl]) -> dict[str, tuple[SettingPath, Any]]:
    return {url.variable: (path, url.url) for path, url in upstreams.items()}


def _shared(through: Mapping[SettingPath, BaseUrl], named: Mapping[SettingPath, BaseUrl], flags: Flags) -> str:
    """The Turnfold that the environment names."""
    first = next(iter(through.values()))
    for url in named.values():
        if url.origin != first.origin:
            raise PlanRefused(
                f"{first.variable} names a Turnfold and {url.variable} something else: unset one, or set TURNFOLD_UPSTREAM_URL"
            )
    if given := [flag for flag, (_, value) in flags.items() if value is not None]:
        raise PlanRefused(f"{given[0]} has no effect: {first.variable} names a Turnfold that runs already; unset it")
    return first.origin


def _is_own(url: BaseUrl, settings: Settings) -> bool:
    """Whether a base URL is the address where Turnfold would listen, and nobody does."""
    port = urlsplit(url.url).port
    return is_loopback(urlsplit(url.url).hostname or "") and port == settings.server.port and not is_listening(port)


def _same(settings: Settings, environment: Mapping[str, str]) -> Iterator[str]:
    """Origins of a Turnfold with the same settings: the configured address, and the environment's (a nested run)."""
    if settings.server.port and not settings.server.uds and is_same_turnfold(default_url(settings.server), settings):
        yield default_url(settings.server)
    for url in _named(environment).values():
        parts = urlsplit(url.url)
        if parts.hostname == OWN_HOST and parts.port and is_same_turnfold(url.origin, at_address(settings, OWN_HOST, parts.port)):
            yield url.origin
