"""Opening tracing, if it is configured.

This module decides whether to trace, and says so if the extra is missing. ``spans`` is not even imported while tracing is off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnfold.config.serving import OtelSettings
from turnfold.config.sources import SettingsError

if TYPE_CHECKING:
    from turnfold.proxy.otel.spans import Traces


def traces_for(settings: OtelSettings) -> Traces | None:
    """The traces of a process; None if there is no collector.

    Raises:
        SettingsError: OpenTelemetry's SDK is not installed.
    """
    if settings.endpoint is None:
        return None
    try:
        from turnfold.proxy.otel.spans import Traces  # noqa: PLC0415 - loads OpenTelemetry's SDK
    except ImportError as exc:
        raise SettingsError("TURNFOLD_OTEL_ENDPOINT: tracing needs the extra: pip install 'turnfold[otel]'") from exc
    return Traces(settings)
