"""Settings of the process that serves.

Where it listens and how it stops, its limits, its logs and traces. Folding and storage are in ``settings``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from turnfold.config.group import SettingsGroup
from turnfold.config.values import host_name, http_url

LogLevel = Literal["debug", "info", "warning", "error", "off"]
LogFormat = Literal["text", "json"]

#: A typing error must not fill the machine with processes.
MOST_WORKERS: Final = 1024


class LimitSettings(SettingsGroup):
    """Limits on what a client may send."""

    max_body_bytes: Annotated[int, Field(gt=0, description="Maximum decompressed size of a body that is folded, in bytes.")] = (
        64 * 2**20
    )
    max_unfinished_bytes: Annotated[
        int,
        Field(
            gt=0,
            description="Maximum total size of request bodies that are still being received, in"
            " bytes. One tenant gets at most half.",
        ),
    ] = 256 * 2**20
    max_text_bytes: Annotated[
        int, Field(gt=0, description="Maximum size of a request body for Turnfold's own API, in bytes.")
    ] = 8 * 2**20
    # An SDK's own headers with a long key need about the minimum; above a megabyte the server closes the connection first.
    max_header_bytes: Annotated[
        int, Field(ge=1000, le=2**20, description="Maximum total size of header names and values, in bytes: 1000 to 1048576.")
    ] = 64 * 2**10
    max_fold_workers: Annotated[
        int,
        Field(
            gt=0,
            le=MOST_WORKERS,
            description="Maximum number of threads that fold at the same time, and of processes that fold large bodies.",
        ),
    ] = 2
    max_memo_bytes: Annotated[
        int,
        Field(
            gt=0,
            description="Maximum memory for caching work on conversations between requests, in bytes. A conversation of"
            " 100,000 tokens takes about 10 MB. Work that is not cached is repeated, with the same result.",
        ),
    ] = 32_000_000
    fold_timeout: Annotated[
        float, Field(gt=0, description="Maximum time for folding a request, in seconds. After that, the original is sent.")
    ] = 10.0


class ServerSettings(SettingsGroup):
    """Where Turnfold listens."""

    host: Annotated[
        str,
        AfterValidator(host_name),
        Field(min_length=1, description="Address to listen on: 0.0.0.0 is every IPv4 address, :: every IPv6 address."),
    ] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port to listen on; 0 picks a free port.")] = 8420
    uds: Annotated[Path | None, Field(description="Unix socket to listen on instead of an address and a port.")] = None
    drain_file: Annotated[
        Path | None,
        Field(
            description="While this file exists, /readyz answers 503 so that load balancers stop sending requests. Requests"
            " are still served."
        ),
    ] = None
    workers: Annotated[int, Field(gt=0, le=MOST_WORKERS, description="Number of server processes.")] = 1
    drain_delay: Annotated[
        float,
        Field(
            ge=0,
            le=600,
            description="Time between SIGTERM, which makes /readyz fail, and the end of listening, in seconds. Gives load"
            " balancers time to notice.",
        ),
    ] = 0.0
    drain_timeout: Annotated[
        int,
        Field(
            gt=0, le=3600, description="Maximum time that requests and streams have to finish when Turnfold stops, in seconds."
        ),
    ] = 25


class OtelSettings(SettingsGroup):
    """Where traces go (needs the extra turnfold[otel]; the SDK's own variables, OTEL_*, also apply)."""

    endpoint: Annotated[
        Annotated[str, AfterValidator(http_url)] | None,
        Field(description="Base URL of an OTLP/HTTP collector, for example http://localhost:4318. If unset, nothing is traced."),
    ] = None
    propagate: Annotated[
        bool, Field(description="If true, upstreams get Turnfold's own traceparent. If false, headers stay unchanged.")
    ] = False


class LogSettings(SettingsGroup):
    """What the server logs, to standard error."""

    level: Annotated[
        LogLevel, Field(description="Lowest level that is logged: debug, info, warning, error, or off (log nothing).")
    ] = "info"
    format: Annotated[LogFormat, Field(description="text: lines for people; json: one JSON object per line.")] = "text"
    requests: Annotated[
        bool, Field(description="If true, one line is logged per request, at level info: ids, sizes, times, never text or keys.")
    ] = True
