"""Log formats: text for people, JSON for programs.

The two formats, and the ``logging`` configuration of a serving process. What is logged is up to each module (``request_log`` for
requests).

A record may carry ``fields`` (``extra={"fields": {...}}``): JSON has them beside the message, in text the message says it all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Final

import orjson

from turnfold.config.serving import LogSettings
from turnfold.proxy.console.lines_handler import LinesHandler

_HANDLER: Final = f"{LinesHandler.__module__}.{LinesHandler.__qualname__}"
#: The logger of requests.
REQUESTS: Final = "turnfold.requests"
#: Above every log level.
_OFF: Final = logging.CRITICAL + 10


class TextLines(logging.Formatter):
    """``12:03:41 warning tf-5f2c...: the upstream refused the connection``; the level is named from warning on."""

    def format(self, record: logging.LogRecord) -> str:
        """One record; a traceback follows on lines of its own."""
        level = f"{record.levelname.lower()} " if record.levelno >= logging.WARNING else ""
        line = f"{time.strftime('%H:%M:%S', time.localtime(record.created))} {level}{record.getMessage()}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """One JSON object per record: ``time`` (UTC), ``level``, ``logger``, ``message``, and the record's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03}Z"
        line = {"time": stamp, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        fields: dict[str, Any] = getattr(record, "fields", {})
        trace = {"exception": self.formatException(record.exc_info)} if record.exc_info else {}
        return orjson.dumps({**line, **fields, **trace}, default=str).decode()


class WithoutEchoes(logging.Filter):
    """Drops uvicorn's lines about deliberate actions that have their own line here, and rewords one of its lines.

    An answer that is left unfinished cuts the client off as the upstream did with us; whoever did that has logged why. Requests
    that are cancelled when the time for stopping is over are counted in one line; the traceback of each says nothing.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record."""
        if record.msg == "ASGI callable returned without completing response.":
            return False
        if str(record.msg).startswith("Cancel %s running task"):
            record.msg = "requests cut off at shutdown: %s did not finish within TURNFOLD_DRAIN_TIMEOUT"
        return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def log_configuration(settings: LogSettings) -> dict[str, Any]:
    """The configuration for ``logging.config.dictConfig``; every process of a server applies it."""
    level = _OFF if settings.level == "off" else settings.level.upper()
    form = JsonLines if settings.format == "json" else TextLines
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": f"{form.__module__}.{form.__qualname__}"}},
        "filters": {"echoes": {"()": f"{WithoutEchoes.__module__}.{WithoutEchoes.__qualname__}"}},
        "handlers": {"stderr": {"class": _HANDLER, "formatter": "lines", "filters": ["echoes"]}},
        "root": {"level": _OFF if settings.level == "off" else "WARNING", "handlers": ["stderr"]},
        "loggers": {"turnfold": {"level": level}, REQUESTS: {} if settings.requests else {"level": _OFF}},
    }
