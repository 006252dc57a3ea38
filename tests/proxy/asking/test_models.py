"""Who is asked for a station, and who pays: a request's tenant and conversation."""

from __future__ import annotations

import time
from typing import Any

import pytest
from yarl import URL

from tests.proxy.harness import Receipts
from turnfold.compression.fold import conversation_name
from turnfold.compression.memo import Memo
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.settings import SummarySettings, UpstreamSettings
from turnfold.proxy.asking.asker import Bill
from turnfold.proxy.asking.models import StationModels
from turnfold.proxy.asking.own_upstream import Caller
from turnfold.proxy.asking.receipt import record_own_calls
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.receipts import OwnCall, Receipt, Usage
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.upstream import Upstream

READ = CHAT.read(b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}', Memo())
HEADERS = ((b"authorization", b"Bearer sk"),)


class Asker:
    """Takes note of what it is asked, and makes two calls of it."""

    is_on = True

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def ask(self, call: Any, payer: Payer, caller: Caller, bill: Bill, patience: float) -> str:
        self.asked.append((call, payer, caller, patience))
        bill.calls += [OwnCall("a", "m", Usage()), OwnCall("b", "m", Usage())]
        return "said"


def exchange(label: str | None, *, read: bool) -> Exchange:
    to = Destination(Upstream(UpstreamSettings()), URL("http://up.example:81/v1"), "openai")
    request = ChatRequest("tf-1", 0.0, 0.0, 0.0, CHAT, to, HEADERS, "", b"{}", "on", None, label, tenant="anna")
    return Exchange(request).but(conversation=READ if read else None)


@pytest.mark.parametrize(
    ("label", "read", "name"), [("c", True, "c"), ("c", False, "c"), (None, True, conversation_name(READ)), (None, False, "tf-1")]
)
async def test_the_conversation_pays_under_its_name(label: str | None, read: bool, name: str) -> None:
    asker: Any = Asker()
    models = StationModels(asker, None, SummarySettings(recovery_timeout=7.0))  # type: ignore[arg-type]
    reply, calls = await models.ask("call", exchange(label, read=read))  # type: ignore[arg-type]
    assert (str(reply), [one.kind for one in calls]) == ("said", ["a", "b"])
    assert asker.asked == [("call", Payer("anna", name), Caller("up.example:81", HEADERS), 7.0)]


def test_a_recovery_has_a_summary_where_a_model_and_a_time_are_set() -> None:
    asker: Any = Asker()
    for seconds, tokens in ((7.0, 300), (0.0, 0)):
        models = StationModels(asker, None, SummarySettings(recovery_timeout=seconds, max_tokens=300))  # type: ignore[arg-type]
        assert models.recovery_tokens == tokens
    asker.is_on = False
    assert StationModels(asker, None, SummarySettings(recovery_timeout=7.0)).recovery_tokens == 0  # type: ignore[arg-type]


def test_what_was_asked_beside_a_request_has_a_receipt_of_its_own() -> None:
    recorder = Receipts()
    record_own_calls(recorder, Payer("anna", "c"), "m", "why", Bill(), 1.5)
    assert recorder.so_far == []
    calls = [OwnCall("a", "m", Usage(9)), OwnCall("b", "m", Usage())]
    record_own_calls(recorder, Payer("anna", "c"), "m", "why", Bill(calls), 1.5)
    found = recorder.one()
    assert found.request_id.startswith("tf-own-")
    assert len(found.request_id) == 27
    assert abs(time.time() - found.at) < 60
    assert found == Receipt(
        request_id=found.request_id,
        at=found.at,
        tenant="anna",
        model="m",
        conversation="c",
        status="own",
        reason="why",
        tokens_before=0,
        tokens_after=0,
        usage=Usage(),
        upstream_status=None,
        overhead_ms=0.0,
        first_byte_ms=None,
        total_ms=1500.0,
        streamed=False,
        complete=True,
        calls=tuple(calls),
    )
