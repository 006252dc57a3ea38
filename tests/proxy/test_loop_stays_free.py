"""The work of a large request of Turnfold's own API, or of a large report, is done beside the event loop, which serves others.

Nothing is timed: what grows with a request is counted in calls, and what one call does to megabytes is known by its name.
``python -m benchmarks.holds`` measures for how long the loop is held.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.types import ASGIApp

from tests.proxy.harness import NO_LOGGING, Answer, UpstreamServer, ample, call, running, settings_for, unhurried, until
from tests.proxy.processes import ADMIN
from tests.proxy.receipts import price, receipt
from tests.support.loop_calls import LoopCalls
from tests.support.words import prose
from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add, export_history
from turnfold.config.serving import LimitSettings
from turnfold.config.settings import AuthSettings, Settings, StoreSettings, UpstreamSettings
from turnfold.proxy.app import build, warm
from turnfold.proxy.books.inspection import inspect as inspect_body
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.server import configuration
from turnfold.proxy.store import open_store

pytestmark = pytest.mark.usefixtures("upstream")  # which forgets what it has seen before others look
FEW, MANY = 100, 500
#: What reads or writes a whole text at once, for JSON and for what is packed.
WHOLESALE = {"decompress", "compress", "JSONDecoder.decode", "JSONEncoder.encode", "inflate"}


class Served:
    """A server with an admin token."""

    def __init__(self, origin: str, upstream: str, calls: LoopCalls) -> None:
        self.origin = origin
        self.upstream = upstream
        self.calls = calls

    def ask(self, method: str, path: str, body: Any = None, *headers: tuple[str, str]) -> Answer:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        answer = call(self.origin, method, path, data, [ADMIN, ("content-type", "application/json"), *headers])
        assert answer.status == 200, answer.body[:300]
        return answer


async def _fill(url: str) -> None:
    """As many conversations as a busy day has: few under one tag, many under another."""
    store = open_store(StoreSettings(url=url), Incidents())
    ledger = Ledger(store.background, StoreSettings(url=url), price, [], Incidents())
    await ledger.start()
    for tag, number in (("few", FEW), ("many", MANY)):
        for n in range(number):
            told = {"request_id": f"{tag}{n}", "conversation": f"{tag}{n}", "model": f"{tag}{n}", "tags": (tag,)}
            ledger.record(replace(receipt(**told), at=time.time() - 3 * 86_400, tenant=tag), ())
    assert await ledger.flush()  # however long it takes; an end waits ten seconds
    await ledger.stop()
    await store.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, shared_upstream: tuple[UpstreamServer, Any]) -> Iterator[Served]:
    url = f"sqlite:///{tmp_path_factory.mktemp('loop') / 't.db'}"
    asyncio.run(_fill(url))
    settings = Settings(
        upstream=UpstreamSettings(url=shared_upstream[0].origin + "/v1"),
        store=unhurried(StoreSettings(url=url)),
        auth=AuthSettings(admin_token=SecretStr("adm")),
        limits=ample(LimitSettings()),
    )
    warm(settings)
    loops: list[asyncio.AbstractEventLoop] = []

    def watched(settings: Settings) -> ASGIApp:
        loops.append(asyncio.get_running_loop())
        return build(settings)

    with running(configuration(settings, watched, **NO_LOGGING, workers=1, timeout_graceful_shutdown=5)) as server:
        yield Served(server.origin, shared_upstream[0].origin, LoopCalls(loops[0]))


def chat(number: int) -> list[dict[str, str]]:
    return [{"role": ("user", "assistant")[n % 2], "content": f"Item {n} is {n * 7919 % 1000}."} for n in range(number)]


def compress_messages(served: Served, number: int) -> None:
    served.ask("POST", "/v1/messages/compress", {"messages": chat(number), "trace": True})


def uncompress_messages(served: Served, number: int) -> None:
    served.ask("POST", "/v1/messages/uncompress", {"messages": chat(number), "verbatim": {}})


def exchange(served: Served, number: int) -> None:
    served.ask("POST", "/v1/exchange", {"text": "\n\n".join(f"# Part {n}\n\nPump {n} holds {n} bar." for n in range(number))})


def _export(number: int) -> str:
    state, settings = History(), HistorySettings(1_000_000, 10_000)
    for said in chat(number):
        state, _ = add(state, HistoryMessage(**said), settings, count=len)
    return export_history(replace(state, raw_tokens=number, recent_tokens=(1,) * number), settings)


def import_conversation(served: Served, number: int) -> None:
    served.ask("PUT", f"/v1/conversation/c{number}", {"export": EXPORTS[number]})


def read_conversation(served: Served, number: int) -> None:
    import_conversation(served, number)
    served.ask("GET", f"/v1/conversation/c{number}?export=true")


def inspect(served: Served, number: int) -> None:
    served.ask("POST", "/admin/inspect", {"model": "gpt-4o", "messages": chat(number + 1)})


def preview(served: Served, number: int) -> None:
    served.ask("POST", "/v1/state/preview", {"input": "use python", "messages": chat(number)})


def report_by_conversation(served: Served, number: int) -> None:
    of = "few" if number == FEW else "many"
    found = served.ask("GET", f"/admin/report?from=30d&group_by=conversation&tenant={of}").json()
    assert len(found["groups"]) == number


def report_csv(served: Served, number: int) -> None:
    of = "few" if number == FEW else "many"
    served.ask("GET", f"/admin/report?from=30d&group_by=conversation&tenant={of}&format=csv")


def overview(served: Served, number: int) -> None:
    served.ask("GET", f"/admin/overview?from=30d&tenant={'few' if number == FEW else 'many'}")


def tags(served: Served, number: int) -> None:
    served.ask("GET", f"/admin/overview/tags?from=30d&tenant={'few' if number == FEW else 'many'}")


def export_receipts(served: Served, number: int) -> None:
    of = "few" if number == FEW else "many"
    lines = served.ask("GET", f"/admin/receipts?from=30d&tag={of}").body.splitlines()
    assert len(lines) == number


EXPORTS = {number: _export(number) for number in (FEW, MANY)}
CALLS = {
    "compress messages": compress_messages,
    "uncompress messages": uncompress_messages,
    "exchange": exchange,
    "import a conversation": import_conversation,
    "read a conversation": read_conversation,
    "inspect": inspect,
    "preview of a state": preview,
    "report by conversation": report_by_conversation,
    "report as CSV": report_csv,
    "overview": overview,
    "tags": tags,
    "receipts": export_receipts,
}


_TRIES = 5


def _calls(served: Served, act: Callable[[], None]) -> Counter[str]:
    """What the loop calls while somebody acts."""
    with served.calls.counted() as found:
        act()
    return found


@pytest.mark.parametrize("name", CALLS)
def test_the_loop_does_nothing_for_each_part_of_a_request(served: Served, name: str) -> None:
    ask = CALLS[name]
    ask(served, FEW)  # what is loaded at the first call is no part of it
    few = alone = _calls(served, lambda: ask(served, FEW))
    started = time.monotonic()
    many = _calls(served, lambda: ask(served, MANY))
    lasted = time.monotonic() - started
    for _ in range(_TRIES):
        if _growing(few, many):  # what the server does beside it comes on top, and is seen while nothing is asked
            few = few | (alone + _calls(served, lambda: time.sleep(2 * lasted)))
            many &= _calls(served, lambda: ask(served, MANY))
    assert _growing(few, many) == []


def _growing(few: Counter[str], many: Counter[str]) -> list[str]:
    return [name for name, times in (many - few).items() if times > (MANY - FEW) / 2]


@pytest.fixture(scope="module")
def section(served: Served) -> str:
    """The id of a folded section with a large original, which is the newest request's."""
    made = served.ask("POST", "/v1/chat/completions", {"model": "gpt-4o", "messages": BOOK})
    assert made.header("x-turnfold-status") == "folded"
    until(lambda: _newest(served)["folded_sections"])
    return str(served.ask("GET", f"/admin/requests/{_newest(served)['request_id']}").json()["sections"][0]["id"])


def _newest(served: Served) -> Any:
    (newest,) = served.ask("GET", "/admin/requests?limit=1").json()["requests"]
    return newest


BOOK = [{"role": ("user", "assistant")[n % 2], "content": f"{prose(n, 'en', 20)} {n}"} for n in range(121)]


@pytest.mark.parametrize("layer", [0, 1])
def test_an_original_is_read_beside_the_loop(served: Served, section: str, layer: int) -> None:
    with served.calls.counted() as found:
        served.ask("POST", "/v1/drill-down", {"section_id": section, "target_layer": layer})
    assert found.keys() & WHOLESALE == set()


def test_a_request_is_told_of_beside_the_loop(served: Served, section: str) -> None:
    assert section
    name = _newest(served)["request_id"]
    with served.calls.counted() as found:
        served.ask("GET", f"/admin/requests/{name}")
    assert found.keys() & WHOLESALE <= {"JSONDecoder.decode"}  # of one receipt


@pytest.mark.parametrize(
    ("path", "body", "headers"),
    [
        ("/v1/compress", {"text": prose(1, "en", 40)}, [("content-encoding", "gzip")]),
        ("/admin/inspect", {"model": "gpt-4o", "messages": BOOK}, []),
        ("/v1/state/preview", {"input": "use python", "messages": BOOK}, []),
    ],
)
def test_a_body_is_read_beside_the_loop(served: Served, path: str, body: Any, headers: list[tuple[str, str]]) -> None:
    data = json.dumps(body).encode()
    with served.calls.counted() as found:
        served.ask("POST", path, gzip.compress(data) if headers else data, *headers)
    assert found.keys() & WHOLESALE == set()


def test_what_is_wrong_with_a_large_input_is_told_from_the_process_that_reads_it(served: Served) -> None:
    given = json.loads(EXPORTS[FEW]) | {"messages": 7}
    given["recent"][0]["content"] = "word " * 50_000
    export = json.dumps(given)
    answer = call(served.origin, "PUT", "/v1/conversation/wrong", json.dumps({"export": export}).encode(), [ADMIN])
    assert (answer.status, answer.json()["error"]["param"]) == (422, "export.messages")


def test_a_large_request_is_inspected_in_a_process_with_the_settings_of_the_server(served: Served) -> None:
    body = json.dumps({"model": "gpt-4o", "messages": [*BOOK, *BOOK, *BOOK[:1]]}).encode()
    assert len(body) > 200_000
    shown = served.ask("POST", "/admin/inspect?budget=5000", body).json()
    told = inspect_body(body, settings_for(served.upstream + "/v1"), 5_000)
    assert shown["tokens"] == told["tokens"]
    assert [row["after"] for row in shown["messages"]] == [row.after for row in told["messages"]]
