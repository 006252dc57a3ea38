"""A test that closes the log handlers of the process fails itself, whichever test comes first and whatever handlers there are."""

from __future__ import annotations

import logging
import weakref

import pytest
import uvicorn

from tests.proxy.harness import NO_LOGGING


def test_a_server_with_its_own_logging_is_refused(log_guard: logging.Handler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "_handlers", weakref.WeakValueDictionary())
    monkeypatch.setattr(logging, "_handlerList", [weakref.ref(log_guard)])
    with pytest.raises(AssertionError, match="log_config=None"):
        uvicorn.Config("app", log_level="critical")
    uvicorn.Config("app", **NO_LOGGING)
