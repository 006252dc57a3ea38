"""The one settings object.

Lives here: every setting, its default, its description and its validation. Does not belong here: reading any source (``sources``
does, and it is the only reader of the environment), side effects, anything that a request decides.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

Mode = Literal["on", "observe", "off"]
StateMode = Literal["off", "observe", "enforce"]
ProseMode = Literal["off", "lite", "full", "ultra"]

STORE_SCHEMES: Final = ("memory", "sqlite", "redis", "rediss")
_DAY: Final = 86400
# Underscores are none of DNS's, but container networks have them; what looks like numbers must be an address.
_HOST_NAME: Final = re.compile(r"(?!-)[\w-]{1,63}(?:\.[\w-]{1,63})*\.?")
_NUMBERS: Final = re.compile(r"[\d.]+")


def _host(host: str) -> str:
    """An address or a host name; whether anybody has it is found out when it is used."""
    plain = host.removeprefix("[").removesuffix("]")
    try:
        ip_address(plain.partition("%")[0])
    except ValueError:
        if _NUMBERS.fullmatch(plain) or not _HOST_NAME.fullmatch(plain):
            raise ValueError("must be an address or a host name, without a scheme, a port or a path") from None
    return host


def _http_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("must be a URL with http:// or https:// and a host")
    try:
        _host(parts.hostname)
    except ValueError as exc:
        raise ValueError(f"the host {exc}") from None
    if parts.query or parts.fragment:
        raise ValueError("must be a base URL, without a query or a fragment")
    return url.rstrip("/")


def _store_url(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in STORE_SCHEMES:
        raise ValueError("must begin with memory://, sqlite:///, redis:// or rediss://")
    if scheme == "sqlite" and (not rest.startswith("/") or rest == "/"):
        raise ValueError("must name a file, as sqlite:///relative.db or sqlite:////absolute.db")
    return url


def _split_commas(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class UpstreamSettings(_Group):
    """Where requests go."""

    url: Annotated[
        str, AfterValidator(_http_url), Field(description="Base URL of the upstream, as OPENAI_BASE_URL would have it.")
    ] = "https://api.openai.com/v1"
    api_key: Annotated[SecretStr | None, Field(description="Key sent upstream in place of the client's.")] = None
    connect_timeout: Annotated[float, Field(gt=0, description="Seconds to connect.")] = 10.0
    read_timeout: Annotated[float, Field(gt=0, description="Seconds between two reads; SDKs wait 600.")] = 600.0
    max_connections: Annotated[int, Field(gt=0, description="Connections kept to the upstream at most.")] = 1000


class FoldingSettings(_Group):
    """When and how conversations are folded."""

    mode: Annotated[Mode, Field(description="on: fold; observe: send the original, record what a fold would save; off.")] = "on"
    budget: Annotated[int | None, Field(gt=0, description="Tokens that a forwarded request may take.")] = None
    cache_hit_share: Annotated[float, Field(ge=0, le=1, description="Share of requests that find the prompt cache warm.")] = 0.7
    recall: Annotated[bool, Field(description="Whether passages of folded turns are quoted where they bear on a message.")] = True
    recall_tool_text: Annotated[bool, Field(description="Whether old tool results may be quoted.")] = True
    shape_results: Annotated[
        bool, Field(description="Whether a new tool result may take a smaller form with the same values and lines.")
    ] = True
    prose: Annotated[ProseMode, Field(description="How folded prose is worded: as it was said (off), or in fewer words.")] = "off"
    prose_lexicon: Annotated[Path | None, Field(description="TOML file with rules of your own for that.")] = None
    cache_breakpoints: Annotated[Literal["auto", "on", "off"], Field(description="Set prompt_cache_breakpoint on user text.")] = (
        "auto"
    )
    holdout_share: Annotated[
        float, Field(ge=0, lt=1, description="Share of conversations left unfolded, to compare both groups in the report.")
    ] = 0.0
    state: Annotated[
        StateMode, Field(description="Directives of users: enforce; observe: say what would be done, and forward; off.")
    ] = "off"
    state_acknowledge: Annotated[
        Literal["local", "forward"], Field(description="Who answers a message that is a directive and nothing else.")
    ] = "local"


class StoreSettings(_Group):
    """Where conversation state is kept."""

    url: Annotated[
        Annotated[str, AfterValidator(_store_url)] | None,
        Field(
            repr=False,
            description="memory://, sqlite:///path, redis://, rediss://; default: SQLite among the user's data.",
        ),
    ] = None
    ttl: Annotated[int, Field(gt=0, description="Seconds that an original is kept.")] = 30 * _DAY
    receipts_ttl: Annotated[int, Field(gt=0, description="Seconds that single receipts are kept.")] = 30 * _DAY
    report_ttl: Annotated[int, Field(gt=0, description="Seconds that the report's sums are kept.")] = 400 * _DAY
    timeout: Annotated[float, Field(gt=0, le=0.1, description="Seconds that a store operation may take.")] = 0.1
    patience: Annotated[
        float,
        Field(
            gt=0, le=60, description="Seconds that a call may wait for the store if it can't be answered without it (drill-down)."
        ),
    ] = 5.0
    save_originals: Annotated[bool, Field(description="Whether folded text is stored for drill-down.")] = True
    max_bytes: Annotated[int, Field(ge=2**20, description="Largest SQLite file; above it what expires first goes.")] = 4 * 2**30
    memory_bytes: Annotated[int, Field(ge=2**16, description="Largest memory:// store, and largest LRU before the others.")] = (
        32 * 2**20
    )


class CacheSettings(_Group):
    """Which results of /v1/compress are kept."""

    ttl: Annotated[int, Field(ge=0, le=365 * _DAY, description="Seconds that a result is kept; 0: none is.")] = _DAY
    max_entries: Annotated[int, Field(gt=0, le=100_000, description="Results of a tenant's, the least recently used go.")] = 1000
    max_bytes: Annotated[int, Field(ge=2**16, description="Their size, likewise.")] = 64 * 2**20


class LimitSettings(_Group):
    """Bounds on what a client may send."""

    max_body_bytes: Annotated[int, Field(gt=0, description="Largest request body of a chat completion, decompressed.")] = (
        64 * 2**20
    )
    max_text_bytes: Annotated[int, Field(gt=0, description="Largest request body of /v1/compress and its siblings.")] = 8 * 2**20
    max_header_bytes: Annotated[int, Field(gt=0, description="Largest sum of header names and values.")] = 64 * 2**10
    max_fold_workers: Annotated[int, Field(gt=0, description="Threads that fold at the same time.")] = 2
    fold_timeout: Annotated[float, Field(gt=0, description="Seconds after which a request goes out unfolded.")] = 10.0


class AuthSettings(_Group):
    """Who may call."""

    admin_token: Annotated[
        SecretStr | None, Field(min_length=1, description="Token of the admin routes; none: they are closed.")
    ] = None
    client_tokens: Annotated[
        tuple[SecretStr, ...],
        BeforeValidator(_split_commas),
        Field(description="Tokens, comma separated, that clients must bring when upstream.api_key is set."),
    ] = ()
    secret: Annotated[
        SecretStr | None, Field(min_length=1, description="Key of the hash that turns a credential into a tenant.")
    ] = None


class ServerSettings(_Group):
    """Where Turnfold listens."""

    host: Annotated[str, AfterValidator(_host), Field(min_length=1, description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port to listen on; 0: any free one.")] = 8420
    workers: Annotated[int, Field(gt=0, description="Processes.")] = 1


class ModelSettings(_Group):
    """What you know of one model better than the packaged tables do; what is left out is looked up."""

    input: Annotated[float | None, Field(ge=0, description="Dollars for a million input tokens.")] = None
    output: Annotated[float | None, Field(ge=0, description="Dollars for a million output tokens.")] = None
    cache_read: Annotated[float | None, Field(ge=0, description="Price of a cached token, relative to an input token.")] = None
    cache_write: Annotated[float | None, Field(ge=0, description="Price of writing one to the cache, likewise.")] = None
    window: Annotated[int | None, Field(gt=0, description="Input tokens that the model takes.")] = None
    cache_breakpoints: Annotated[bool | None, Field(description="Whether it takes prompt_cache_breakpoint.")] = None


class Settings(BaseSettings):
    """All settings of a process.

    ``Settings(...)`` takes what it is given and reads nothing; ``sources.load`` reads flags, environment and files.
    """

    model_config = SettingsConfigDict(env_prefix="TURNFOLD_", extra="forbid", frozen=True)

    upstream: UpstreamSettings = UpstreamSettings()
    folding: FoldingSettings = FoldingSettings()
    store: StoreSettings = StoreSettings()
    cache: CacheSettings = CacheSettings()
    limits: LimitSettings = LimitSettings()
    auth: AuthSettings = AuthSettings()
    server: ServerSettings = ServerSettings()
    models: Annotated[
        dict[str, ModelSettings], Field(description="Prices and windows by model name, where the packaged tables fall short.")
    ] = Field(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments only: precedence and the origin of each value are kept by ``sources``."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @model_validator(mode="after")
    def _no_open_relay(self) -> Settings:
        if problem := exposure(self):
            raise ValueError(problem)
        return self


def exposure(settings: Settings) -> str | None:
    """What is wrong with settings under which others than this machine could spend the operator's key; None when nothing is."""
    if settings.upstream.api_key is None or settings.auth.client_tokens or is_loopback(settings.server.host):
        return None
    return (
        f"TURNFOLD_UPSTREAM_API_KEY is set and TURNFOLD_HOST is {settings.server.host}, which others can reach: "
        "set TURNFOLD_CLIENT_TOKENS, or anybody could spend your key"
    )
