"""What one tenant sees is as if the others did not exist, whatever they call; it only has to stay within its share of the room.

These tests cover arbitrary calls of two tenants to one Turnfold, and the calls of one of them to another where nobody else is.
They leave out what any call answers.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.proxy.harness import api_server

#: The room for two; half of it is more than all that Bert writes in one run.
_ROOM: Final = 2**19
_LARGE: Final = 60_000  # characters that nothing compresses; nine of these fill the room
_STEPS: Final = 20
_WORDS: Final = ("valve", "pump", "hall", "leak", "pressure", "inspection", "contract", "invoice", "reactor")
_numbers = itertools.count()

CONVERSATIONS = st.sampled_from(["c1", "c2", "a/b", "*"])
SEEDS = st.integers(0, 5)


def text(whose: str, seed: int, sentences: int) -> str:
    """Text that names its owner in every sentence."""
    chosen = (_WORDS[(seed * 7 + number * 5) % len(_WORDS)] for number in range(sentences))
    return " ".join(f"{whose} has report {seed}-{number} on the {word}." for number, word in enumerate(chosen))


def seen(answer: httpx.Response) -> tuple[int, Any]:
    """What a client can rely on: everything but durations."""
    return answer.status_code, _timeless(answer.json())


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if not key.endswith("_ms")}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


class TwoTenants(RuleBasedStateMachine):
    """Anna writes as much as she likes; Bert's answers are compared."""

    shared: httpx.Client
    alone: httpx.Client

    @initialize()
    def arrive(self) -> None:
        number = next(_numbers)
        self.anna, self.bert = f"anna-{number}", f"bert-{number}"
        self.sections = ["s"]

    def message(self, whose: str, name: str, seed: int) -> dict[str, Any]:
        message = {"role": "user", "content": text(whose, seed, 12)}
        return {"conversation_id": name, "message": message, "compress_threshold": 200, "keep_recent": 1}

    def ask_as_anna(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        answer = self.shared.request(method, path, headers={"authorization": f"Bearer {self.anna}"}, **arguments)
        assert answer.status_code < 500, answer.text
        assert self.bert not in answer.text
        return answer

    def ask_as_bert(self, method: str, path: str, **arguments: Any) -> Any:
        headers = {"authorization": f"Bearer {self.bert}"}
        here, there = (http.request(method, path, headers=headers, **arguments) for http in (self.shared, self.alone))
        assert seen(here) == seen(there)
        return here.json()

    @rule(names=st.lists(st.integers(0, 99), min_size=1, max_size=4))
    def anna_floods(self, names: list[int]) -> None:
        for name in names:
            message = {"role": "user", "content": random.Random(name).randbytes(_LARGE // 2).hex()}
            body = {"conversation_id": str(name), "message": message, "compress_threshold": 10**6, "keep_recent": 50}
            self.ask_as_anna("POST", "/v1/conversation", json=body)

    @rule(name=CONVERSATIONS, seed=SEEDS)
    def anna_talks(self, name: str, seed: int) -> None:
        self.ask_as_anna("POST", "/v1/conversation", json=self.message(self.anna, name, seed))

    @rule(seed=SEEDS, times=st.integers(1, 3))
    def anna_compresses(self, seed: int, times: int) -> None:
        for number in range(times):
            self.ask_as_anna("POST", "/v1/compress", json={"text": text(f"{self.anna} {number}", seed, 20)})

    @rule(name=CONVERSATIONS, method=st.sampled_from(["GET", "DELETE"]), kind=st.sampled_from(["conversation", "state"]))
    def anna_asks_for_a_name(self, name: str, method: str, kind: str) -> None:
        self.ask_as_anna(method, f"/v1/{kind}/{name}")

    @rule(number=st.integers(0, 50))
    def anna_asks_for_berts_sections(self, number: int) -> None:
        answer = self.ask_as_anna("POST", "/v1/drill-down", json={"section_id": self.sections[number % len(self.sections)]})
        assert answer.status_code == 404

    @rule(call=st.sampled_from([("DELETE", "/v1/data"), ("DELETE", "/v1/windows"), ("POST", "/v1/cache/clear")]))
    def anna_deletes(self, call: tuple[str, str]) -> None:
        self.shared.request(*call, headers={"authorization": f"Bearer {self.anna}"})

    @rule(name=CONVERSATIONS)
    def anna_deletes_a_conversation(self, name: str) -> None:
        self.ask_as_anna("DELETE", "/v1/data", params={"conversation": name})

    @rule(name=CONVERSATIONS, seed=SEEDS)
    def bert_talks(self, name: str, seed: int) -> None:
        self.ask_as_bert("POST", "/v1/conversation", json=self.message(self.bert, name, seed))

    @rule(name=CONVERSATIONS)
    def bert_reads(self, name: str) -> None:
        read = self.ask_as_bert("GET", f"/v1/conversation/{name}")
        self.sections += [section["id"] for section in read.get("sections", ())]

    @rule(seed=SEEDS)
    def bert_compresses(self, seed: int) -> None:
        made = self.ask_as_bert("POST", "/v1/compress", json={"text": text(self.bert, seed, 20)})
        self.sections += [section["id"] for section in made["sections"]]

    @precondition(lambda self: len(self.sections) > 1)
    @rule(number=st.integers(0, 50))
    def bert_drills_down(self, number: int) -> None:
        self.ask_as_bert("POST", "/v1/drill-down", json={"section_id": self.sections[number % len(self.sections)]})

    @rule(name=CONVERSATIONS, place=st.sampled_from(["/v1/state/{}", "/v1/data?conversation={}", "/v1/conversation/{}"]))
    def bert_deletes(self, name: str, place: str) -> None:
        self.ask_as_bert("DELETE", place.format(name))

    @rule(place=st.sampled_from(["/v1/windows", "/v1/cache/stats"]))
    def bert_counts(self, place: str) -> None:
        self.ask_as_bert("GET", place)

    def teardown(self) -> None:
        for name in ("c1", "c2"):
            self.ask_as_bert("GET", f"/v1/conversation/{name}")
        for tenant in (self.anna, self.bert):
            for http in (self.shared, self.alone):
                assert http.delete("/v1/data", headers={"authorization": f"Bearer {tenant}"}).status_code == 200


@contextmanager
def clients(url: str) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    room = {"memory_bytes": _ROOM}
    with (
        api_server(url, store_settings=room) as one,
        api_server("memory://", store_settings=room) as other,
        httpx.Client(base_url=one, timeout=60) as shared,
        httpx.Client(base_url=other, timeout=60) as alone,
    ):
        yield shared, alone


def test_a_tenant_is_alone() -> None:
    with clients("memory://") as (shared, alone):
        machine = type("Machine", (TwoTenants,), {"shared": shared, "alone": alone})
        run_state_machine_as_test(
            machine,
            settings=settings(max_examples=5, stateful_step_count=_STEPS, deadline=None, suppress_health_check=list(HealthCheck)),
        )


def test_a_flood_evicts_only_the_flooder() -> None:
    """The same, with the flood written out."""
    with clients("memory://") as (shared, alone):
        machine = type("Machine", (TwoTenants,), {"shared": shared, "alone": alone})()
        machine.arrive()
        for seed in range(3):
            machine.bert_talks("c1", seed)
            machine.bert_compresses(seed)
        machine.anna_floods(list(range(12)))
        machine.bert_reads("c1")
        for number in range(len(machine.sections)):
            machine.bert_drills_down(number)
        machine.bert_compresses(0)
        kept = [machine.ask_as_anna("GET", f"/v1/conversation/{name}").status_code == 200 for name in range(12)]
        assert (any(kept), all(kept), kept[-1]) == (True, False, True)  # hers are evicted, the oldest first
        machine.teardown()
