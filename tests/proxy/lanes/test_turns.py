"""Turns between tenants: whatever one sends, another waits for one piece of its work at most."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.lanes.fair import Places, tenant_places
from turnfold.proxy.lanes.threads import ThreadLane


@given(st.integers(1, 4), st.lists(st.sampled_from("abc"), max_size=30), st.data())
def test_places_are_given_in_turn(number: int, arrivals: list[str], data: st.DataObject) -> None:
    each = max(1, number - 1)

    async def run() -> None:
        places, running, begun = Places(number, each), [], []

        async def one(tenant: str) -> None:
            await places.take(tenant)
            running.append(tenant)
            begun.append(tenant)

        tasks = [asyncio.create_task(one(tenant)) for tenant in arrivals]
        while len(begun) < len(arrivals):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert len(running) <= number
            assert all(running.count(tenant) <= each for tenant in "abc")
            waiting = [tenant for tenant in arrivals if arrivals.count(tenant) > begun.count(tenant)]
            assert len(running) == number or all(running.count(tenant) == each for tenant in waiting), "no place stays empty"
            if running:
                tenant = running.pop(data.draw(st.integers(0, len(running) - 1)))
                places.leave(tenant)
        await asyncio.gather(*tasks)

    asyncio.run(run())


async def test_a_patient_tenant_waits_for_one_piece_of_work() -> None:
    lane, order, gate = ThreadLane("test", 1), [], threading.Event()

    def work(tenant: str) -> None:
        gate.wait()
        order.append(tenant)

    greedy = [asyncio.create_task(lane.run("greedy", lambda: work("greedy"))) for _ in range(50)]
    await asyncio.sleep(0)
    patient = [asyncio.create_task(lane.run("patient", lambda: work("patient"))) for _ in range(3)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*greedy, *patient)
    assert order[:6] == ["greedy", "patient"] * 3
    lane.close()


async def test_work_that_nobody_waits_for_is_not_begun() -> None:
    lane, gate, begun = ThreadLane("test", 1), threading.Event(), []
    first = asyncio.create_task(lane.run("a", gate.wait))
    await asyncio.sleep(0)
    second = asyncio.create_task(lane.run("a", lambda: begun.append("second")))
    third = asyncio.create_task(lane.run("a", lambda: begun.append("third")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, third)
    assert begun == ["third"]
    assert second.cancelled()
    lane.close()


async def test_who_is_cancelled_with_a_place_at_hand_gives_it_back() -> None:
    places = Places(1, 1)
    await places.take("a")
    second = asyncio.create_task(places.take("b"))
    await asyncio.sleep(0)
    places.leave("a")  # the place is b's
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    async with asyncio.timeout(60):
        await places.take("c")


async def test_who_is_cancelled_while_waiting_had_no_place_to_give_back() -> None:
    places = Places(1, 1)
    await places.take("a")
    second = asyncio.create_task(places.take("b"))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    third = asyncio.create_task(places.take("c"))
    await asyncio.sleep(0.001)
    assert not third.done(), "the only place is a's"
    places.leave("a")
    async with asyncio.timeout(60):
        await third


async def test_who_gives_one_of_several_places_back_still_holds_the_others() -> None:
    places = Places(4, 2)
    await places.take("a")
    await places.take("a")
    more = [asyncio.create_task(places.take("a")) for _ in range(2)]
    await asyncio.sleep(0)
    places.leave("a")
    await more[0]
    await places.take("b")
    await asyncio.sleep(0.001)
    assert not more[1].done(), "two are held"
    places.leave("a")
    await more[1]


async def test_a_tenant_gets_all_places_but_one() -> None:
    assert [tenant_places(number) for number in (1, 2, 3, 8)] == [1, 1, 2, 7]
    lane, gate, begun = ThreadLane("test", 4), threading.Event(), list[str]()

    def work(tenant: str) -> None:
        begun.append(tenant)
        gate.wait(60)

    tasks = [asyncio.ensure_future(lane.run(tenant, partial(work, tenant))) for tenant in "aaaaabb"]
    async with asyncio.timeout(60):
        while len(begun) < 4:  # noqa: ASYNC110 - threads give no sign
            await asyncio.sleep(0.001)
    assert sorted(begun) == ["a", "a", "a", "b"]
    gate.set()
    await asyncio.gather(*tasks)
    assert sorted(begun) == list("aaaaabb")
    lane.close()


async def test_a_place_is_held_until_its_work_has_ended() -> None:
    lane, gate, begun, working = ThreadLane("test", 1), threading.Event(), [], threading.Event()

    def work() -> None:
        working.set()
        gate.wait(60)

    first = asyncio.create_task(lane.run("a", work))
    await asyncio.to_thread(working.wait, 60)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    other = asyncio.create_task(lane.run("b", lambda: begun.append("b")))
    await asyncio.sleep(0.02)
    assert not begun, "the thread works on"
    gate.set()
    await other
    with pytest.raises(ZeroDivisionError):
        await lane.run("b", lambda: 1 // 0)
    await lane.run("b", lambda: begun.append("b"))
    assert begun == ["b", "b"]
    lane.close()


async def test_a_tenant_that_fills_the_api_delays_another_by_one_job_at_most() -> None:
    workshop, gate = Workshop(2), threading.Event()
    done: list[int] = []

    def slow() -> None:
        gate.wait(60)

    greedy = [asyncio.ensure_future(workshop.run("greedy", slow)) for _ in range(20)]
    await asyncio.sleep(0)
    await workshop.run("patient", done.append, 1)  # comes last, and waits for none of them
    assert done == [1]
    gate.set()
    await asyncio.gather(*greedy)
    workshop.close()
