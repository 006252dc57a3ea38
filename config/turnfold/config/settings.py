"""The one settings object.

This module contains all groups, and defines those for folding and storage with defaults, descriptions and validation. The groups
of the process (``serving``) and of sentence vectors (``semantic``) have modules of their own; ``sources`` is the only reader of
the environment. Nothing here is set by a request.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from turnfold.config.group import SettingsGroup
from turnfold.config.semantic import SemanticSettings
from turnfold.config.serving import LimitSettings, LogSettings, OtelSettings, ServerSettings
from turnfold.config.values import (
    LONGEST,
    MOST_TOKENS,
    check_keys,
    http_url,
    key_bytes,
    proxy_choice,
    sent_secret,
    split_commas,
    store_url,
)

Mode = Literal["on", "observe", "off"]
StateMode = Literal["off", "observe", "enforce"]
KeptRole = Literal["user", "assistant", "tool"]
#: A secret that is sent in a header.
SentSecret = Annotated[SecretStr, AfterValidator(sent_secret)]
ModelWire = Literal["chat", "responses", "messages"]
ProseMode = Literal["off", "lite", "full", "ultra"]

_DAY: Final = 86400
_OPENAI_HOST: Final = "api.openai.com"
_ANTHROPIC_URL: Final = "https://api.anthropic.com"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_reachable(server: ServerSettings) -> bool:
    """Whether other machines can reach the server; on a Unix socket they cannot."""
    return server.uds is None and not is_loopback(server.host)


def anthropic_url(settings: Settings) -> str | None:
    """Base URL for requests in Anthropic's format, with ``/v1``, if it differs from the upstream's.

    Anthropic's own address is the default only if the upstream is OpenAI's: an operator who sends OpenAI's requests to a gateway
    or a local server means all requests, and no text may leave for another host.
    """
    own = urlsplit(settings.upstream.url).hostname == _OPENAI_HOST
    url = settings.anthropic.url or (_ANTHROPIC_URL if own else None)
    return url if url is None or url.endswith("/v1") else f"{url}/v1"


class UpstreamSettings(SettingsGroup):
    """Where requests go."""

    url: Annotated[
        str, AfterValidator(http_url), Field(description="Base URL of the provider, in the form of OPENAI_BASE_URL.")
    ] = "https://api.openai.com/v1"
    api_key: Annotated[SentSecret | None, Field(description="API key that Turnfold sends upstream instead of the client's.")] = (
        None
    )
    connect_timeout: Annotated[float, Field(gt=0, description="Maximum time to connect to the upstream, in seconds.")] = 10.0
    read_timeout: Annotated[
        float, Field(gt=0, description="Maximum time between two parts of a response, in seconds. SDKs wait 600.")
    ] = 600.0
    max_connections: Annotated[int, Field(gt=0, description="Maximum number of connections to the upstream.")] = 1000
    proxy: Annotated[
        str,
        AfterValidator(proxy_choice),
        Field(
            repr=False,
            description="Proxy for requests to the upstreams: environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY;"
            " never for"
            " loopback), none, or a URL with http:// or https://.",
        ),
    ] = "environment"
    ca_bundle: Annotated[
        Path | None,
        Field(description="PEM file, or directory of PEM files, with authorities to trust in addition to the system's."),
    ] = None
    client_certificate: Annotated[
        Path | None,
        Field(description="PEM file with the client certificate for upstreams that ask for one (mTLS), and its chain."),
    ] = None
    client_key: Annotated[
        Path | None, Field(description="PEM file with the certificate's key. Default: the certificate's file.")
    ] = None
    client_key_password: Annotated[SecretStr | None, Field(description="Password of that key.")] = None


class AnthropicSettings(SettingsGroup):
    """Where requests in Anthropic's format go."""

    url: Annotated[
        Annotated[str, AfterValidator(http_url)] | None,
        Field(
            description="Base URL for /v1/messages, in the form of ANTHROPIC_BASE_URL. Default: Anthropic's address if the"
            " upstream is OpenAI's address, else the upstream."
        ),
    ] = None
    api_key: Annotated[
        SentSecret | None, Field(description="API key that Turnfold sends to this URL instead of the client's.")
    ] = None


class FoldingSettings(SettingsGroup):
    """When and how conversations are folded."""

    mode: Annotated[
        Mode, Field(description="on: fold. observe: send the original and record what a fold would save. off: send the original.")
    ] = "on"
    budget: Annotated[
        int | None,
        Field(gt=0, le=MOST_TOKENS, description="Maximum number of tokens of a forwarded request. Default: none."),
    ] = None
    cache_hit_share: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Field(
            description="Share of requests that find the provider's prompt cache warm, from 0 to 1. Default: learned for each"
            " credential, upstream and model."
        ),
    ] = None
    recall: Annotated[
        bool, Field(description="If true, passages of folded turns that are relevant to a message are quoted after it.")
    ] = True
    recall_tool_text: Annotated[bool, Field(description="If true, recall may quote old tool results.")] = True
    shape_results: Annotated[
        bool, Field(description="If true, a new tool result may be sent in a smaller form with the same values and lines.")
    ] = True
    keep_tools: Annotated[
        tuple[str, ...],
        BeforeValidator(split_commas),
        Field(description="Comma-separated names of tools whose results are never shaped or shortened."),
    ] = ()
    keep_roles: Annotated[
        tuple[KeptRole, ...],
        BeforeValidator(split_commas),
        Field(description="Comma-separated roles whose messages are never shaped or shortened: user, assistant, tool."),
    ] = ()
    prose: Annotated[ProseMode, Field(description="Rewrite folded prose in fewer words: off, lite, full or ultra.")] = "off"
    prose_lexicon: Annotated[Path | None, Field(description="TOML file with your own rules for TURNFOLD_PROSE.")] = None
    cache_breakpoints: Annotated[
        Literal["auto", "on", "off"],
        Field(description="Set prompt_cache_breakpoint on user text: on, off, or auto (for models that support it)."),
    ] = "auto"
    drop_thinking: Annotated[
        bool,
        Field(
            description="If true, tool loops of Claude models that bind their thinking to the prompt are folded too: the API is"
            " asked to drop the thinking blocks that this makes invalid."
        ),
    ] = False
    holdout_share: Annotated[
        float,
        Field(
            ge=0, lt=1, description="Share of conversations that are left unfolded so that the report can compare both groups."
        ),
    ] = 0.0
    state: Annotated[
        StateMode,
        Field(
            description="Conversation rules in user messages. enforce: apply them. observe: only report what they would do."
            " off: ignore them."
        ),
    ] = "off"
    state_acknowledge: Annotated[
        Literal["local", "forward"],
        Field(description="Who answers a message that contains only a directive: Turnfold (local) or the upstream (forward)."),
    ] = "local"


class SummarySettings(SettingsGroup):
    """Which model writes summaries, and what it may cost."""

    model: Annotated[
        str | None,
        Field(
            min_length=1,
            description="Name of the model that writes summaries, rates sentences and drafts directives. If unset, no model"
            " is used for these. Its price must be known, or be given in TURNFOLD_MODELS.",
        ),
    ] = None
    url: Annotated[
        Annotated[str, AfterValidator(http_url)] | None,
        Field(description="Base URL of the model's upstream. Default: the upstream for requests in its format."),
    ] = None
    api_key: Annotated[
        SentSecret | None,
        Field(description="Key for TURNFOLD_SUMMARY_URL. Default if that URL is unset: the key of the upstream."),
    ] = None
    wire: Annotated[ModelWire, Field(description="Format of the calls: chat, responses or messages.")] = "chat"
    use_client_key: Annotated[
        bool,
        Field(
            description="If true and you have set no key, a client's own key pays for summaries of its own text: only while its"
            " request is served, only at the host that the key was sent to, and it is never kept."
        ),
    ] = False
    blocks: Annotated[
        Literal["paying", "always", "off"],
        Field(
            description="When to summarize folded blocks. paying: only if a summary is expected to save more than it costs."
            " always: wherever there is room. off: never."
        ),
    ] = "paying"
    max_tokens: Annotated[int, Field(ge=40, le=4000, description="Maximum length of a summary, in tokens.")] = 300
    timeout: Annotated[float, Field(gt=0, le=600, description="Maximum time to wait for the model's answer, in seconds.")] = 20.0
    recovery_timeout: Annotated[
        float,
        Field(
            ge=0,
            le=60,
            description="Maximum time that a request whose context was full waits for a summary, in seconds. 0: do not ask"
            " for one.",
        ),
    ] = 5.0
    dollars_per_day: Annotated[float, Field(ge=0, description="Maximum spent on summary calls per day (UTC), in dollars.")] = 1.0
    dollars_per_conversation: Annotated[
        float, Field(ge=0, description="Maximum spent on one conversation, or on one request to Turnfold's API, in dollars.")
    ] = 0.05


class StoreSettings(SettingsGroup):
    """Where conversation state is kept."""

    url: Annotated[
        Annotated[str, AfterValidator(store_url)] | None,
        Field(
            repr=False,
            description="sqlite:///path, redis://HOST:PORT/DB (rediss:// with TLS), redis+cluster://HOST:PORT,HOST2:PORT,"
            " redis+sentinel://HOST:PORT,HOST2:PORT/PRIMARY, memory:// (until a restart) or none:// (keep nothing). Default: a"
            " SQLite file in the user's data directory.",
        ),
    ] = None
    ttl: Annotated[int, Field(gt=0, le=LONGEST, description="Time to keep the originals of folded text, in seconds.")] = 30 * _DAY
    receipts_ttl: Annotated[int, Field(gt=0, le=LONGEST, description="Time to keep the receipt of each request, in seconds.")] = (
        30 * _DAY
    )
    report_ttl: Annotated[int, Field(gt=0, le=LONGEST, description="Time to keep the totals of the report, in seconds.")] = (
        400 * _DAY
    )
    timeout: Annotated[
        float,
        Field(gt=0, le=0.1, description="Maximum duration of a store operation on the request path, in seconds; at most 0.1."),
    ] = 0.1
    patience: Annotated[
        float,
        Field(
            gt=0,
            le=60,
            description="Maximum duration of a store operation for calls that need the store, such as drill-down, in seconds.",
        ),
    ] = 5.0
    save_originals: Annotated[
        bool,
        Field(
            description="If true, folded text is stored for drill-down. If false, the store still holds receipts (ids, sizes,"
            " times, names of models and conversations, hashes and checksums of texts), directives of conversation states, and"
            " what is added to /v1/conversation."
        ),
    ] = True
    save_receipts: Annotated[
        bool, Field(description="If true, receipts and the totals of the report are stored (with none://, in memory).")
    ] = True
    max_tags: Annotated[
        int,
        Field(
            ge=0,
            le=10_000,
            description="Maximum number of tags per tenant with their own totals. Requests with further tags count as (other).",
        ),
    ] = 100
    max_models: Annotated[
        int,
        Field(
            ge=1,
            le=10_000,
            description="Maximum number of model names per tenant with their own totals. Requests with further names count as"
            " (other). Names that no upstream has served get at most half.",
        ),
    ] = 200
    max_bytes: Annotated[
        int,
        Field(
            ge=2**20,
            description="Maximum size of the SQLite file, in bytes. When it is full, the largest tenants lose the data that"
            " expires first; then the oldest receipts are deleted, and the oldest totals by conversation count as (other).",
        ),
    ] = 4 * 2**30
    tenant_share: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="Maximum share of TURNFOLD_STORE_MAX_BYTES and TURNFOLD_STORE_MEMORY_BYTES that one tenant may take.",
        ),
    ] = 1.0
    memory_bytes: Annotated[
        int,
        Field(
            ge=2**16,
            description="Maximum size, in bytes, of a memory:// store (receipts and totals may take half as much again); half of"
            " it caches values of the other stores.",
        ),
    ] = 32 * 2**20

    encryption_keys: Annotated[
        tuple[SecretStr, ...],
        BeforeValidator(split_commas),
        AfterValidator(check_keys),
        Field(
            description="Comma-separated keys (openssl rand -base64 32) that encrypt stored values in SQLite and Redis. The first"
            " one encrypts, all decrypt."
        ),
    ] = ()

    @property
    def key_bytes(self) -> tuple[bytes, ...]:
        """The keys of encryption."""
        return tuple(key_bytes(key) for key in self.encryption_keys)

    @property
    def is_off(self) -> bool:
        """Whether nothing is kept beyond a request."""
        return (self.url or "").startswith("none://")

    @property
    def keeps_originals(self) -> bool:
        """Whether the original of a folded text can be restored from the store."""
        return self.save_originals and not self.is_off


class CacheSettings(SettingsGroup):
    """How long results of /v1/compress are cached."""

    ttl: Annotated[int, Field(ge=0, le=365 * _DAY, description="Time to keep a result, in seconds; 0 disables the cache.")] = _DAY
    max_entries: Annotated[
        int,
        Field(
            gt=0,
            le=100_000,
            description="Maximum number of cached results per tenant. The least recently used are evicted first.",
        ),
    ] = 1000
    max_bytes: Annotated[int, Field(ge=2**16, description="Maximum total size of a tenant's cached results, in bytes.")] = (
        64 * 2**20
    )


class AuthSettings(SettingsGroup):
    """Who may call."""

    admin_token: Annotated[
        SentSecret | None,
        Field(description="Token for the report, metrics and other admin routes. Without one they are closed."),
    ] = None
    client_tokens: Annotated[
        tuple[SentSecret, ...],
        BeforeValidator(split_commas),
        Field(
            description="Comma-separated tokens. If Turnfold sends its own API key upstream,"
            " clients must send one of these instead."
        ),
    ] = ()
    secret: Annotated[
        SecretStr | None,
        Field(min_length=1, description="Secret key of the hash that turns a client's API key into its tenant id."),
    ] = None


class ModelSettings(SettingsGroup):
    """Your own figures for one model. Anything that you leave out is looked up in the packaged tables."""

    model_config = ConfigDict(allow_inf_nan=False)

    input: Annotated[float | None, Field(ge=0, description="Dollars per million input tokens.")] = None
    output: Annotated[float | None, Field(ge=0, description="Dollars per million output tokens.")] = None
    cache_read: Annotated[
        float | None, Field(ge=0, le=1, description="Price of a cached token, relative to an input token, from 0 to 1.")
    ] = None
    cache_write: Annotated[
        float | None, Field(ge=0, description="Price of writing a token to the cache, relative to an input token.")
    ] = None
    window: Annotated[int | None, Field(gt=0, le=MOST_TOKENS, description="Maximum number of input tokens of the model.")] = None
    cache_breakpoints: Annotated[bool | None, Field(description="If true, the model supports prompt_cache_breakpoint.")] = None


class Settings(SettingsGroup):
    """All settings of a process.

    ``Settings(...)`` uses its arguments and reads nothing; ``sources.load`` reads flags, environment and files.
    """

    upstream: UpstreamSettings = UpstreamSettings()
    anthropic: AnthropicSettings = AnthropicSettings()
    folding: FoldingSettings = FoldingSettings()
    summary: SummarySettings = SummarySettings()
    semantic: SemanticSettings = SemanticSettings()
    store: StoreSettings = StoreSettings()
    cache: CacheSettings = CacheSettings()
    limits: LimitSettings = LimitSettings()
    auth: AuthSettings = AuthSettings()
    server: ServerSettings = ServerSettings()
    otel: OtelSettings = OtelSettings()
    log: LogSettings = LogSettings()
    models: Annotated[
        dict[str, ModelSettings],
        Field(description="Prices and context windows by model name, as JSON. They override the packaged tables."),
    ] = Field(default_factory=dict)

    tenants: Annotated[
        dict[str, str], Field(description="Names to show in reports instead of tenant ids, as JSON: tenant id to name.")
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _no_open_relay(self) -> Settings:
        if problem := exposure(self):
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _no_clients_as_administrators(self) -> Settings:
        if self.auth.admin_token is not None and self.auth.admin_token in self.auth.client_tokens:
            raise ValueError(
                "TURNFOLD_CLIENT_TOKENS contains the value of TURNFOLD_ADMIN_TOKEN: clients with it could read and delete all"
                " tenants' data; use different tokens"
            )
        return self


def exposure(settings: Settings) -> str | None:
    """The error message for settings that would let other machines spend the operator's key; None if they do not."""
    if not is_reachable(settings.server):
        return None
    keys = {"TURNFOLD_UPSTREAM_API_KEY": settings.upstream.api_key, "TURNFOLD_ANTHROPIC_API_KEY": settings.anthropic.api_key}
    own_keys = {"TURNFOLD_SUMMARY_API_KEY": settings.summary.api_key, "TURNFOLD_SEMANTIC_API_KEY": settings.semantic.api_key}
    own = next((name for name, key in own_keys.items() if key is not None), None)
    if own is not None and not any(keys.values()):
        return (
            f"{own} is set and TURNFOLD_HOST is {settings.server.host}, which others can reach: set"
            " TURNFOLD_UPSTREAM_API_KEY and TURNFOLD_CLIENT_TOKENS too, or anyone could spend your key"
        )
    name = next((name for name, key in keys.items() if key is not None), None)
    if name is None or settings.auth.client_tokens:
        return None
    return (
        f"{name} is set and TURNFOLD_HOST is {settings.server.host}, which others can reach: "
        "set TURNFOLD_CLIENT_TOKENS, or anyone could spend your key"
    )
