"""The variables by which clients find their API.

This module reads base URLs from an environment, and writes the proxy's into one. It never reads the process's own environment;
options of particular tools are in ``tools``.

Nothing is taken from a variable of Turnfold's own here: ``config.sources`` reads those.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from turnfold.config.settings import Settings, anthropic_url

#: Where clients look for OpenAI's API, the most usual first. Official SDKs read the first; aider, LiteLLM, LlamaIndex and older
#: LangChain the second.
OPENAI: Final = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
#: Where they look for Anthropic's, without ``/v1``.
ANTHROPIC: Final = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
#: Variables of one tool that win over those above; they are changed where they are set, and never added.
_OVERRIDES: Final = {"AIDER_OPENAI_API_BASE": "openai"}
_PROXIES: Final = re.compile(r"(?:https?|all)_proxy", re.IGNORECASE)
_LOOPBACK: Final = "127.0.0.1,localhost"
#: A key for SDKs that refuse to start without one, where Turnfold has the operator's.
_PLACEHOLDER: Final = "turnfold"


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """A base URL that the environment names.

    Attributes:
        variable: the variable that names it.
    """

    variable: str
    url: str

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


def base_url(environment: Mapping[str, str], names: tuple[str, ...]) -> BaseUrl | None:
    """The base URL that clients would call; a variable that is empty counts as not set."""
    return next((BaseUrl(name, environment[name]) for name in names if environment.get(name)), None)


def client_variables(origin: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What an environment needs so that clients call the Turnfold at `origin`."""
    found = dict.fromkeys(OPENAI, f"{origin}/v1") | dict.fromkeys(ANTHROPIC, origin)
    found |= {name: f"{origin}/v1" for name in _OVERRIDES if environment.get(name)}
    if any(_PROXIES.fullmatch(name) and value for name, value in environment.items()):
        for name in ("NO_PROXY", "no_proxy"):  # else clients would ask the network's proxy for our address
            found[name] = ",".join(filter(None, (environment.get(name), _LOOPBACK)))
    return found


def key_variables(settings: Settings, environment: Mapping[str, str]) -> dict[str, str]:
    """What clients send as a key where the operator's own goes upstream; keys that are set stay."""
    token = settings.auth.client_tokens[0].get_secret_value() if settings.auth.client_tokens else _PLACEHOLDER
    keys = {"OPENAI_API_KEY": settings.upstream.api_key, "ANTHROPIC_API_KEY": settings.anthropic.api_key}
    return {name: token for name, key in keys.items() if key is not None and not environment.get(name)}


def upstream_variables(settings: Settings) -> dict[str, str]:
    """The upstreams as settings, so that a Turnfold in the command finds them and not us."""
    found = {"TURNFOLD_UPSTREAM_URL": settings.upstream.url}
    url = anthropic_url(settings)
    return found if url is None else {**found, "TURNFOLD_ANTHROPIC_URL": settings.anthropic.url or url}


def export_lines(variables: Mapping[str, str]) -> str:
    """The same for a shell to evaluate."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
