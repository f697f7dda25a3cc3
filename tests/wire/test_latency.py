"""Latencies by method: worked buckets, quantiles, and what is noted of a request however it is answered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from mnemond.clock import monotonic_s
from mnemond.errors import INVALID_REQUEST, MnemonError
from mnemond.model.outcomes import Result
from mnemond.wire.deferred import Deferred, in_task
from mnemond.wire.dispatch import BUCKETS, UNKNOWN, Call, Dispatcher, Handler, Latencies, bucket_of, quantile_ms
from mnemond.wire.hooks import Hooks
from mnemond.wire.jsonrpc import Foreign, Request
from mnemond.wire.params import Access, Method, Params
from tests.tables import each_row

CALL = Call(connection=1, peer_pid=2, peer_uid=3)


NAMES = ("now", "later", "slow", "broken")


class Nothing(Params, frozen=True, kw_only=True):
    """No parameters."""


class Said(Result, frozen=True, kw_only=True):
    """Whatever."""

    ok: bool = True


@each_row(
    ("seconds", "bucket"),
    [(0.0, 0), (0.9e-6, 0), (1.1e-6, 1), (2.1e-6, 3), (1.0001e-3, 20), (1.0, 40), (1e9, BUCKETS - 1)],
)
def test_worked_buckets(seconds: float, bucket: int) -> None:
    assert bucket_of(seconds) == bucket


@given(st.lists(st.floats(2e-6, 3600.0), min_size=1, max_size=50), st.sampled_from([0.05, 0.5, 0.95, 1.0]))
def test_a_quantile_is_off_by_a_fifth_at_most(seconds: list[float], share: float) -> None:
    counts = [0] * BUCKETS
    for each in seconds:
        counts[bucket_of(each)] += 1
    wanted = sorted(seconds)[max(0, -int(-share * len(seconds) // 1) - 1)] * 1e3
    found = quantile_ms(counts, share)
    assert found is not None
    assert found == pytest.approx(wanted, rel=0.2, abs=0.0006)


def test_nothing_has_no_quantile() -> None:
    assert quantile_ms([0] * BUCKETS, 0.5) is None


def dispatcher(handlers: Mapping[str, Handler], latencies: Latencies) -> Dispatcher:
    methods = {name: Method(name, Nothing, Said, Access.READ, "…") for name in handlers}
    return Dispatcher(methods, on_defect=lambda where, error: None, latencies=latencies).serve(handlers)


def request(method: str) -> Request:
    return Request(jsonrpc="2.0", method=method, id=msgspec.Raw(b"1"))


def totals(latencies: Latencies) -> dict[str, int]:
    return {method: sum(counts) for method, counts in latencies.counts().items()}


async def test_every_way_of_answering_is_noted_when_the_reply_is_there() -> None:
    later: Deferred[object] = Deferred()
    gate = trio.Event()

    async def now(call: Call, params: Nothing) -> Said:
        return Said()

    async def waiting(call: Call, params: Nothing) -> object:
        return await later

    async def slow(call: Call, params: Nothing) -> Said:
        await in_task(gate.wait)
        return Said()

    async def broken(call: Call, params: Nothing) -> Said:
        raise ZeroDivisionError

    latencies = Latencies(NAMES)
    tried = dispatcher({"now": now, "later": waiting, "slow": slow, "broken": broken}, latencies)
    async with trio.open_nursery() as nursery:

        def spawn(run: Callable[[], Coroutine[Any, Any, None]]) -> None:
            nursery.start_soon(run)

        for name in ("now", "now", "later", "slow", "broken", "nothing of ours", "nothing else"):
            tried.answer(request(name), CALL, spawn)
        assert totals(latencies) == {"now": 2, "broken": 1, UNKNOWN: 2}
        later.resolve(Said())
        gate.set()
    assert totals(latencies) == {"now": 2, "broken": 1, UNKNOWN: 2, "later": 1, "slow": 1}


def test_what_took_longer_than_any_bucket_is_in_the_last() -> None:
    latencies = Latencies(NAMES)
    latencies.note("slow", monotonic_s() - 1e9)
    assert latencies.counts() == {"slow": [0] * (BUCKETS - 1) + [1]}


def test_methods_of_other_protocols_count_by_their_own_names() -> None:
    async def tools(call: Call, request: Request) -> object:
        return {"tools": []}

    latencies = Latencies(())
    dispatcher = Dispatcher({}, on_defect=lambda *_: None, latencies=latencies)
    dispatcher.serve({}, foreigners={"tools/list": tools})
    request = Request("2.0", "tools/list", msgspec.Raw(b"1"))
    assert dispatcher.answer(request, CALL, lambda _: None) == b'{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'
    assert set(latencies.counts()) == {"tools/list"}


def test_so_do_hooks() -> None:
    latencies = Latencies(())
    hooks = Hooks(None, Dispatcher({}, on_defect=lambda *_: None, latencies=latencies))
    payload = Foreign(MnemonError(INVALID_REQUEST, "…"), message=b'{"hook_event_name":"Stop"}', whole=True)
    for _ in range(3):
        assert hooks.answer(payload, CALL, lambda _: None, 1.0) == b"{}"
    assert totals(latencies) == {"(hook)": 3}
