"""The one settings object.

Lives here: every setting, its default, its description and its validation; the only reader of the environment, of ``.env``
and of ``turnfold.toml``. Must not: side effects, anything that a request decides.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

Mode = Literal["on", "observe", "off"]


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class UpstreamSettings(_Group):
    """Where requests go."""

    url: Annotated[str, Field(description="Base URL of the upstream, as OPENAI_BASE_URL would have it.")] = (
        "https://api.openai.com/v1"
    )
    api_key: Annotated[SecretStr | None, Field(description="Key sent upstream in place of the client's.")] = None
    connect_timeout: Annotated[float, Field(gt=0, description="Seconds to connect.")] = 10.0
    read_timeout: Annotated[float, Field(gt=0, description="Seconds between two reads; SDKs wait 600.")] = 600.0
    max_connections: Annotated[int, Field(gt=0, description="Connections kept to the upstream at most.")] = 1000


class FoldingSettings(_Group):
    """When and how conversations are folded."""

    mode: Annotated[Mode, Field(description="on: fold; observe: send the original, record what a fold would save; off.")] = "on"
    budget: Annotated[int | None, Field(gt=0, description="Tokens that a forwarded request may take.")] = None
    cache_hit_share: Annotated[float, Field(ge=0, le=1, description="Share of requests that find the prompt cache warm.")] = 0.7
    recall_tool_text: Annotated[bool, Field(description="Whether old tool results may be quoted.")] = True
    cache_breakpoints: Annotated[Literal["auto", "on", "off"], Field(description="Set prompt_cache_breakpoint on user text.")] = (
        "auto"
    )


class StoreSettings(_Group):
    """Where conversation state is kept."""

    url: Annotated[
        str | None,
        Field(description="memory://, sqlite:///path, redis://, rediss://; default: SQLite in the user's data directory."),
    ] = None
    ttl: Annotated[int, Field(gt=0, description="Seconds that an original is kept.")] = 30 * 86400
    timeout: Annotated[float, Field(gt=0, le=0.1, description="Seconds that a store operation may take.")] = 0.1
    save_originals: Annotated[bool, Field(description="Whether folded text is stored for drill-down.")] = True


class LimitSettings(_Group):
    """Bounds on what a client may send."""

    max_body_bytes: Annotated[int, Field(gt=0, description="Largest request body of a chat completion, decompressed.")] = (
        64 * 2**20
    )
    max_header_bytes: Annotated[int, Field(gt=0, description="Largest sum of header names and values.")] = 64 * 2**10
    max_fold_workers: Annotated[int, Field(gt=0, description="Threads that fold at the same time.")] = 2
    fold_timeout: Annotated[float, Field(gt=0, description="Seconds after which a request goes out unfolded.")] = 10.0


class AuthSettings(_Group):
    """Who may call."""

    admin_token: Annotated[SecretStr | None, Field(description="Token of the admin routes; none: they are closed.")] = None
    client_tokens: Annotated[
        tuple[SecretStr, ...], Field(description="Tokens that clients must bring when upstream.api_key is set.")
    ] = ()
    secret: Annotated[SecretStr | None, Field(description="Key of the hash that turns a credential into a tenant.")] = None


class ServerSettings(_Group):
    """Where Turnfold listens."""

    host: Annotated[str, Field(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port to listen on; 0: any free one.")] = 8420
    workers: Annotated[int, Field(gt=0, description="Processes.")] = 1


class Settings(BaseSettings):
    """All settings of a process."""

    model_config = SettingsConfigDict(env_prefix="TURNFOLD_", extra="ignore", frozen=True)

    upstream: UpstreamSettings = UpstreamSettings()
    folding: FoldingSettings = FoldingSettings()
    store: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    auth: AuthSettings = AuthSettings()
    server: ServerSettings = ServerSettings()
