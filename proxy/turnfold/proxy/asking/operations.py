"""A model's part in Turnfold's own API.

This module drives a generator for one API call within that call's own limits, and writes its receipt. Request bodies and prompts
are defined elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from typing import Final, TypeVar

from yarl import URL

from turnfold.compression.errors import InvalidInput
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.config.settings import Settings
from turnfold.proxy.asking.asker import Bill, ModelAsker
from turnfold.proxy.asking.own_upstream import Caller, host_of
from turnfold.proxy.asking.receipt import record_own_calls
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.chat.receipts import Recorder

T = TypeVar("T")

_CALLS: Final = 3  # times the time-out of one call that an operation may take with all of its calls


class ModelMissing(InvalidInput):
    """A field asks for a model, and none is set."""


class OperationModels:
    """Asks a model for the operations of the API."""

    def __init__(self, asker: ModelAsker, recorder: Recorder, settings: Settings) -> None:
        self._asker = asker
        self._recorder = recorder
        self._summary = settings.summary
        self._host = host_of(URL(settings.upstream.url, encoded=True))

    @property
    def tokens(self) -> int:
        """Maximum length of a summary."""
        return self._summary.max_tokens

    @property
    def model(self) -> str:
        """Name of the model; "" for none."""
        return self._asker.model

    def require(self, field: str) -> None:
        """Check that there is a model.

        Raises:
            ModelMissing: there is none; names the field that asks for one.
        """
        if not self._asker.is_on:
            raise ModelMissing(field, "needs a model, and none is set here; the operator sets TURNFOLD_SUMMARY_MODEL")

    async def drive(
        self, flow: Generator[ModelCall, ModelReply | None, T], tenant: str, headers: Mapping[str, str], kind: str
    ) -> tuple[T, Bill]:
        """A generator's result, and what it cost; the calls are written down whatever becomes of it."""
        bill, payer, started = Bill(), Payer(tenant), time.monotonic()
        raw = [(name.encode("latin-1", "replace"), value.encode("latin-1", "replace")) for name, value in headers.items()]
        try:
            made = await self._asker.drive(flow, payer, Caller(self._host, raw), bill, _CALLS * self._summary.timeout)
        finally:
            record_own_calls(self._recorder, payer, self._asker.model, f"api-{kind}", bill, time.monotonic() - started)
        return made, bill
